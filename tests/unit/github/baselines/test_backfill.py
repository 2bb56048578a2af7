"""What former runs stored joins the history, once; what cannot is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from megtrim.build_spec import Origin
from megtrim.errors import InfrastructureFailure, InputError
from megtrim.github.baselines.backfill import Backfill, BackfillTally, expect_sizes_of
from megtrim.github.baselines.stored import StoredBaselines, fetch_home
from megtrim.size.baseline import dump_sizes
from support.github_double import GithubDouble
from support.github_state import Repository
from support.size_history import make_sizes
from unit.github.support import Asking, asking


@dataclass(slots=True)
class Team:
    """A repository with some commits on main, the oldest first."""

    github: GithubDouble
    repository: Repository
    asking: Asking
    commits: list[str]
    known: set[str] = field(default_factory=set)

    def store(self, index: int, *, days_ago: float = 0, **claims: Any) -> int:
        """Let a run of a commit store its sizes."""
        run = self.repository.run(self.commits[index])
        text = pack(self.commits[index], 100 + index)
        return self.repository.artifact(run, {"sizes.json": text}, days_ago=days_ago, **claims)

    def search(self, *, config: str = "megtrim.yaml", most: int = 100) -> Backfill:
        api = self.asking.api
        return Backfill(
            StoredBaselines(api, fetch_home(api, "acme/phone")),
            artifact="megtrim-baseline",
            branch="main",
            config=config,
            known=self.known,
            most=most,
        )

    def find(self, **options: Any) -> tuple[list[int], BackfillTally]:
        """Return the sizes that are missing, which are then known, and what became of all."""
        search = self.search(**options)
        found = list(search.find())
        self.known |= {each.commit for each in found}
        sizes = [each.artifacts["app"]["reduced"].size_bytes for each in found]
        return sizes, search.tally


def pack(commit: str, size_bytes: int) -> str:
    """Return the sizes of a commit as a run stores them."""
    origin = Origin(config="megtrim.yaml", commit=commit, committed_at="2026-11-03T02:00:00Z")
    return dump_sizes({("app", "reduced"): size_bytes}, origin=origin)


@pytest.fixture
def team(github: GithubDouble) -> Team:
    repository = github.repository("acme/phone")
    commits = [repository.commit({"a": str(each)}, branch="main") for each in range(4)]
    return Team(github, repository, asking(github.url), commits)


def test_what_is_missing_is_found_once(team: Team) -> None:
    """Oldest first, as that expires first; a second search asks for the list alone."""
    team.store(1, days_ago=1)
    team.store(0, days_ago=2)
    team.store(2)

    assert team.find() == ([100, 101, 102], BackfillTally(listed=3, added=3))
    before = len(team.github.journal)
    assert team.find() == ([], BackfillTally(listed=3, known=3))
    assert [str(call) for call in team.github.journal[before:]] == [
        "GET /repos/acme/phone",
        "GET /repos/acme/phone/actions/artifacts",
    ]


def test_an_entry_is_of_its_run(team: Team) -> None:
    """The same that the run itself appended."""
    run = team.repository.run(team.commits[0])
    team.repository.artifact(run, {"sizes.json": pack(team.commits[0], 7)})

    (entry,) = team.search().find()

    assert (entry.run, entry.commit, entry.config) == (run, team.commits[0], "megtrim.yaml")


def test_what_expired_is_counted(team: Team) -> None:
    """Whether the list says so, or the download does."""
    team.store(0, days_ago=95)
    team.repository.artifacts[max(team.repository.artifacts)]["expired"] = True
    gone = team.store(1, days_ago=90)
    team.github.fail("GET", f"/{gone}/zip", status=410, message="Artifact has expired")
    team.store(2)

    assert team.find() == ([102], BackfillTally(listed=3, expired=2, added=1))


def test_what_others_stored_is_not_opened(team: Team) -> None:
    """A fork is not even listed; a pull request's run and another branch are counted."""
    repository = team.repository
    pull = repository.run(team.commits[0], event="pull_request")
    other = repository.run(team.commits[1], branch="feature")
    fork = repository.run(team.commits[2], fork=True)
    for run in (pull, other, fork):
        repository.artifact(run, {"sizes.json": pack(team.commits[0], 1)})

    sizes, tally = team.find()

    assert sizes == []
    assert tally == BackfillTally(listed=2, elsewhere=1, untrusted=[team.commits[0]])
    assert team.github.calls("GET", "/zip") == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"PK\x03\x04 no zip", "not a whole zip"),
        ({"../sizes.json": "{}"}, "leads out of the folder"),
        ({"sizes.json": '{\n "version": 1,,\n}'}, "sizes.json:2:"),
        ({"sizes.json": dump_sizes({("app", "reduced"): 1})}, "sizes of no commit"),
        ({"sizes.json": pack("f" * 40, 1)}, "commit: found 'ffffffff"),
        ({"notes.txt": "hello"}, "sizes.json"),
    ],
)
def test_what_is_hostile_is_refused_and_the_rest_is_read(
    team: Team, content: bytes | dict[str, str], expected: str
) -> None:
    """One line says which and why."""
    team.repository.artifact(team.repository.run(team.commits[0]), content, days_ago=1)
    team.store(1)

    sizes, tally = team.find()

    assert sizes == [101]
    (line,) = tally.refused
    assert line.startswith(f"the baseline of {team.commits[0][:12]}: ")
    assert expected in line


def test_an_archive_of_another_digest_is_refused(team: Team) -> None:
    """It is not what was stored."""
    artifact = team.store(0)
    team.repository.artifacts[artifact]["digest"] = "sha256:" + "0" * 64

    sizes, tally = team.find()

    assert sizes == []
    assert "its digest differs" in tally.refused[0]


def test_sizes_of_another_configuration_are_refused(team: Team) -> None:
    """If two share one artifact's name."""
    team.store(0)

    sizes, tally = team.find(config="android/megtrim.yaml")

    assert sizes == []
    assert "config: found 'megtrim.yaml', expected 'android/megtrim.yaml'" in tally.refused[0]


def test_of_two_runs_of_a_commit_the_newer_counts(team: Team) -> None:
    """As in a trend."""
    commit = team.commits[0]
    for days_ago, size_bytes in ((2, 7), (1, 8)):
        run = team.repository.run(commit)
        text = pack(commit, size_bytes)
        team.repository.artifact(run, {"sizes.json": text}, days_ago=days_ago)

    assert team.find()[0] == [8]


def test_no_more_are_opened_than_asked_for(team: Team) -> None:
    """The rest is left for the next call."""
    for index in range(3):
        team.store(index, days_ago=3 - index)

    assert team.find(most=2) == ([100, 101], BackfillTally(listed=3, added=2, left=1))
    assert team.find(most=2) == ([102], BackfillTally(listed=3, known=2, added=1))


def test_a_limit_of_the_api_ends_the_search(team: Team) -> None:
    """What was found before is good; a pause of an hour is not waited for."""
    team.store(0, days_ago=1)
    last = team.store(1)
    team.github.fail(
        "GET", f"/{last}/zip", status=403, message="API rate limit exceeded",
        headers={"Retry-After": "3600"},
    )  # fmt: skip
    search = team.search()
    found = []

    with pytest.raises(InfrastructureFailure, match="rate limit"):
        for each in search.find():
            found.append(each)  # noqa: PERF402 (what was found before it ends counts)
    assert [each.commit for each in found] == team.commits[:1]
    assert search.tally.added == 1


def test_sizes_are_of_what_they_say() -> None:
    """Of the commit of the run, and of its configuration."""
    sizes = make_sizes(3, 100)

    assert expect_sizes_of(sizes, commit=sizes.commit, config="megtrim.yaml") == sizes
    with pytest.raises(InputError, match="commit: found"):
        expect_sizes_of(sizes, commit="a" * 40, config="megtrim.yaml")
