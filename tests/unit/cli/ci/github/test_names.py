"""``megtrim ci github names``: outputs of a step, from the path of a configuration alone."""

from __future__ import annotations

import pytest

from unit.cli.ci.github.job import Job


@pytest.mark.parametrize(
    ("config", "outputs", "said"),
    [
        ("megtrim.yaml", {"suffix": "", "infix": "-"}, "megtrim.yaml: the default one"),
        (
            "android/megtrim.yaml",
            {"suffix": ".android", "infix": ".android."},
            "android/megtrim.yaml: android",
        ),
        (
            "megtrim.yaml#arm64",
            {"suffix": "._arm64", "infix": "._arm64."},
            "megtrim.yaml#arm64: _arm64",
        ),
    ],
)
def test_names_follow_the_path(job: Job, config: str, outputs: dict[str, str], said: str) -> None:
    """The file need not be there: other jobs than the build check out nothing of the project."""
    answer = job("names", "--config", config)

    assert (answer.status, answer.out) == (0, f"configuration {said}\n")
    assert job.outputs() == outputs


@pytest.mark.parametrize("config", ["/srv/megtrim.yaml", "../megtrim.yaml"])
def test_a_path_outside_is_refused(job: Job, config: str) -> None:
    """It would have the names of the default one."""
    answer = job("names", "--config", config)

    assert answer.status == 2
    assert f"--config: found {config}, expected a path from the top" in answer.err
