import os
from pathlib import Path

import pytest

from megtrim.chain.store import code_digest
from megtrim.cli.ci.github.artifacts import LARGEST_BYTES, MOST_LOGS
from unit.cli.ci.github.job import Job
from unit.cli.support import Shell


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
    monkeypatch.setenv("GITHUB_REF", f"refs/tags/{tag}")
    job("names", "--config", config)

    assert job.outputs()["release"] == name


@pytest.mark.parametrize("config", ["/srv/megtrim.yaml", "../megtrim.yaml"])
def test_a_path_outside_is_refused(job: Job, config: str) -> None:
    job("names", "--config", config).expect(
        2, f"--config: found {config}, expected a path from the top"
    )


def log(shell: Shell, folder: str, text: str) -> Path:
    path = shell.folder / "out" / folder / "build.log"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def kept(shell: Shell) -> dict[str, str]:
    answer = shell("ci", "github", "logs", "--out", "out", "--to", "logs")
    assert (answer.status, answer.err) == (0, "")
    return {path.name: path.read_text("utf-8") for path in sorted(Path("logs").glob("*"))}


def test_what_failed_is_kept(shell: Shell) -> None:
    log(shell, "build/abc", "error: here\n")
    done = log(shell, "reduce/def", "fine\n")
    (done.parent / "manifest.json").write_text("{}", encoding="utf-8")
    log(shell, "final", "not a build\n")

    assert kept(shell) == {"build-abc.log": "error: here\n"}


def test_nothing_failed(shell: Shell) -> None:
    assert kept(shell) == {}


def test_the_end_of_a_long_log_is_kept(shell: Shell) -> None:
    log(shell, "build/abc", "x" * LARGEST_BYTES + "the failure")

    text = kept(shell)["build-abc.log"]

    assert text.startswith("... the beginning was left out: 11 bytes\nxxx")
    assert text.endswith("xxxthe failure")
    assert len(text) == LARGEST_BYTES + len("... the beginning was left out: 11 bytes\n")


def test_the_newest_are_kept(shell: Shell) -> None:
    for number in range(MOST_LOGS + 2):
        path = log(shell, f"build/{number:02}", "x")
        os.utime(path, (1000 - number, 1000 - number))

    assert list(kept(shell)) == [f"build-{number:02}.log" for number in range(MOST_LOGS)]


def test_a_password_is_not_in_them(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "http://cache.lan|bearer-token=geheim"
    monkeypatch.setenv("MEGTRIM_CACHE_REMOTE_SECRET", secret)
    log(shell, "build/abc", f"a {secret} b redis://ci:geheim@cache.lan:1 http://x/y@z\n")

    assert kept(shell) == {"build-abc.log": "a *** b redis://***@cache.lan:1 http://x/y@z\n"}


@pytest.mark.parametrize(
    ("found", "left"),
    [
        ("http://cache.lan|bearer-token=geheim|read-only=true", "|bearer-token=***|read-only=true"),
        ("http://cache.lan|header=X-Key=geheim end", "http://cache.lan|header=*** end"),
        ("redis://ci:ge@heim@cache.lan", "redis://***@cache.lan"),
        (f"redis://ci:{'geheim' * 300}@cache.lan", "redis://***@cache.lan"),
    ],
)
def test_a_password_that_no_one_shown(shell: Shell, found: str, left: str) -> None:
    """A job's step that copies logs has no password to look for."""
    log(shell, "build/abc", f"a {found}\n")

    text = kept(shell)["build-abc.log"]

    assert text.endswith(f"{left}\n")
    assert "heim" not in text


def test_a_password_is_not_cut_in_two(shell: Shell) -> None:
    """Its end, without its beginning, could not be distinguished from anything else."""
    secret = "redis://ci:geheim@cache.lan "
    log(shell, "build/abc", "x" * 100 + secret + "y" * (LARGEST_BYTES - len("heim@cache.lan ")))

    text = kept(shell)["build-abc.log"]

    assert "heim" not in text
    assert text.endswith("@cache.lan " + "y" * (LARGEST_BYTES - len("heim@cache.lan ")))


def test_a_link_is_not_followed(shell: Shell) -> None:
    other = shell.folder / "other"
    other.write_text("geheim", encoding="utf-8")
    path = shell.folder / "out" / "build" / "abc" / "build.log"
    path.parent.mkdir(parents=True)
    path.symlink_to(other)

    assert kept(shell) == {}
