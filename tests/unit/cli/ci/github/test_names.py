"""``megtrim ci github names``: outputs of a step, from the path of a configuration alone."""

from __future__ import annotations

import pytest

from megtrim.chain.store import code_digest
from unit.cli.ci.github.job import Job


@pytest.mark.parametrize(
    ("config", "outputs", "said"),
    [
        (
            "megtrim.yaml",
            {"file": "megtrim.yaml", "suffix": "", "infix": "-", "release": ""},
            "megtrim.yaml: the default one",
        ),
        (
            "android/megtrim.yaml",
            {
                "file": "android/megtrim.yaml",
                "suffix": ".android",
                "infix": ".android.",
                "release": "",
            },
            "android/megtrim.yaml: android",
        ),
        (
            "megtrim.yaml#arm64",
            {"file": "megtrim.yaml", "suffix": "._arm64", "infix": "._arm64.", "release": ""},
            "megtrim.yaml#arm64: _arm64",
        ),
    ],
)
def test_names_follow_the_path(job: Job, config: str, outputs: dict[str, str], said: str) -> None:
    """The file need not be there: other jobs than the build check out nothing of the project."""
    answer = job("names", "--config", config)

    assert (answer.status, answer.out) == (0, f"configuration {said}\n")
    assert job.outputs() == {**outputs, "megtrim": code_digest()}


@pytest.mark.parametrize(
    ("config", "tag", "name"),
    [
        ("megtrim.yaml", "v1.2.3", "phone-v1.2.3.tar.gz"),
        ("android/megtrim.yaml", "android/v1 β", "phone.android-android-v1-.tar.gz"),
    ],
)
def test_a_release_is_named_after_its_tag(
    job: Job, monkeypatch: pytest.MonkeyPatch, config: str, tag: str, name: str
) -> None:
    """By characters that are safe in a path."""
    monkeypatch.setenv("GITHUB_REF", f"refs/tags/{tag}")
    job("names", "--config", config)

    assert job.outputs()["release"] == name


@pytest.mark.parametrize("config", ["/srv/megtrim.yaml", "../megtrim.yaml"])
def test_a_path_outside_is_refused(job: Job, config: str) -> None:
    """It would have the names of the default one."""
    answer = job("names", "--config", config)

    assert answer.status == 2
    assert f"--config: found {config}, expected a path from the top" in answer.err
