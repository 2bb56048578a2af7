"""``megtrim size backfill``: what former runs stored, in a folder of the history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from megtrim.build_spec import Origin
from megtrim.history.folder import read_folder
from megtrim.size.baseline import dump_sizes
from megtrim.size.commit_sizes import SIZE_FILES
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.cli.support import Answer, Shell


@dataclass(slots=True)
class Team:
    """A repository whose runs stored sizes, and a person's shell."""

    shell: Shell
    github: GithubDouble
    repository: Repository

    def store(self, content: str, size_bytes: int, *, name: str = "megtrim-baseline") -> int:
        """Let the run of a new commit store its sizes."""
        commit = self.repository.commit({"a": content}, branch="main")
        origin = Origin(config="megtrim.yaml", commit=commit, committed_at="2026-11-03T02:00:00Z")
        text = dump_sizes({("app", "reduced"): size_bytes}, origin=origin)
        return self.repository.artifact(
            self.repository.run(commit), {"sizes.json": text}, name=name
        )

    def call(self, *arguments: str) -> Answer:
        return self.shell("size", "backfill", "acme/phone", *arguments)

    def sizes(self) -> list[int]:
        """Return what the history has."""
        entries = read_folder(self.shell.folder / "perf-history", SIZE_FILES).entries
        return sorted(each.artifacts["app"]["reduced"].size_bytes for each in entries)


@pytest.fixture
def team(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    with GithubDouble() as github:
        monkeypatch.setenv("GITHUB_API_URL", github.url)
        monkeypatch.setenv("GITHUB_TOKEN", github.token)
        yield Team(shell, github, github.repository("acme/phone"))
        github.check()


def test_a_second_call_adds_nothing(team: Team) -> None:
    """It says what became of each artifact."""
    team.store("1", 100)
    team.store("2", 101)
    expired = team.store("3", 102)
    team.repository.artifacts[expired]["expired"] = True

    first, second = team.call(), team.call()

    assert (first.status, second.status) == (0, 0)
    assert first.out.splitlines() == [
        "3 artifacts, 2 commits added",
        "  1 have expired: their sizes are gone",
    ]
    assert second.out.splitlines() == [
        "3 artifacts, 0 commits added",
        "  2 are in the history already",
        "  1 have expired: their sizes are gone",
    ]
    assert team.sizes() == [100, 101]


def test_what_was_read_stays_if_github_stops_answering(team: Team) -> None:
    """The exit status is that of the machine, and the next call goes on."""
    team.store("1", 100)
    last = team.store("2", 101)
    team.github.fail(
        "GET", f"/{last}/zip", status=403, message="API rate limit exceeded",
        headers={"Retry-After": "3600"},
    )  # fmt: skip

    answer = team.call()

    assert answer.status == 3
    assert "rate limit" in answer.err
    assert team.sizes() == [100]
    assert team.call().status == 0
    assert team.sizes() == [100, 101]


def test_a_configuration_has_artifacts_of_its_own(team: Team) -> None:
    """Its sizes say so, too: what is stored under another's name is refused."""
    team.store("1", 100, name="megtrim-baseline.android")

    answer = team.call("--config", "android/megtrim.yaml")

    assert answer.status == 0
    assert "left out: the baseline of" in answer.err
    assert "1 were refused" in answer.out


@pytest.mark.parametrize("name", ["phone", "acme/", "acme/../phone", "https://github.com/a/b"])
def test_a_repository_is_a_name(shell: Shell, name: str) -> None:
    """It becomes part of an address."""
    answer = shell("size", "backfill", name)

    assert answer.status == 2
    assert "expected OWNER/NAME" in answer.err
