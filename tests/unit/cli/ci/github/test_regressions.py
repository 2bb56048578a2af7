from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.history.folder import append_to_folder
from megtrim.verdict.join import join
from megtrim.verdict.model import to_json
from support.github_double import GithubDouble
from support.github_state import Repository
from support.history_entries import make_run
from unit.cli.ci.github.job import open_night
from unit.cli.support import Answer, Shell
from unit.verdict.examples import facts
from unit.verdict.performance_examples import NO_CHANGE, ROWS, performance, row, since, skipped

SLOW = row(status=PerformanceStatus.REGRESSED, ratios=(since(1.3),))
OTHER = replace(SLOW, scenario="other/default@any")
FAST = row(ratios=(NO_CHANGE,))
LOST = skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "pixel-6 went offline")
GOOD = f"{0:040x}"


@dataclass(slots=True)
class Team:
    shell: Shell
    github: GithubDouble
    repository: Repository
    env: pytest.MonkeyPatch

    def __call__(self, *rows: object, run: int = 77, options: tuple[str, ...] = ()) -> Answer:
        self.write(*rows, run=run)
        return self.publish(*options)

    def write(self, *rows: object, run: int) -> None:
        self.env.setenv("GITHUB_RUN_ID", str(run))
        found = performance(rows=rows, trimming=(), history=())
        report = self.shell.folder / "report"
        report.mkdir(exist_ok=True)
        text = to_json(join(facts(performance=found)))
        (report / "verdict.json").write_text(text, encoding="utf-8")

    def publish(self, *options: str) -> Answer:
        return self.shell(
            *("ci", "github", "regression-issues", "report", "--base", GOOD), *options
        )

    def states(self) -> list[str]:
        return [each["state"] for each in self.repository.issues.values()]

    def base(self) -> str:
        output = self.shell.folder / "outputs"
        output.unlink(missing_ok=True)
        self.shell("ci", "github", "base", "--history", "history").expect(0)
        return output.read_text(encoding="utf-8").splitlines()[1]


@contextmanager
def open_team(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    with open_night(shell.folder, monkeypatch) as (github, repository):
        yield Team(shell, github, repository, monkeypatch)


@pytest.fixture
def team(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    with open_team(shell, monkeypatch) as made:
        yield made


def test_a_regression_lives_until_it_is_repaired(team: Team) -> None:
    assert team(SLOW).out == f"issue 1: opened for {SLOW.scenario}\n"
    assert team(LOST, run=78).out == "no issue to open, update or close\n"
    assert team.states() == ["open"]
    assert team(FAST, run=79).out == "issue 1: closed: repaired\n"
    assert team.states() == ["closed"]


def test_a_job_that_is_repeated_changes_nothing(team: Team) -> None:
    for rows in ((SLOW, OTHER), (SLOW, replace(FAST, scenario=OTHER.scenario))):
        team(*rows)
        writes = len([call for call in team.github.journal if call.method != "GET"])
        team(*rows)
        assert len([c for c in team.github.journal if c.method != "GET"]) == writes


def test_one_failure_of_the_server_costs_one_issue(team: Team) -> None:
    team.github.fail("POST", r"/issues$", status=500)

    team(SLOW, OTHER).expect(3, "an issue for other/default@any")
    assert len(team.repository.issues) == 1
    assert team(SLOW, OTHER).status == 0
    assert len(team.repository.issues) == 2


def test_a_dry_run_writes_nothing(team: Team) -> None:
    answer = team(SLOW, options=("--dry-run",))

    assert f"an issue for {SLOW.scenario}\n" in answer.out
    assert "### To see it again" in answer.out
    assert team.repository.issues == {}


def test_rows_of_every_status_open_one_issue(team: Team) -> None:
    assert team(*ROWS).out == f"issue 1: opened for {SLOW.scenario}\n"


def test_a_night_without_times_says_so(team: Team) -> None:
    report = team.shell.folder / "report"
    report.mkdir()
    (report / "verdict.json").write_text(to_json(join(facts())), encoding="utf-8")

    answer = team.shell("ci", "github", "regression-issues", "report")
    assert (answer.status, answer.out) == (
        0,
        "no times were measured: all issues stay as they are\n",
    )


def test_the_base_is_the_last_commit_of_the_history(team: Team) -> None:
    assert team.base() == ""
    history = team.shell.folder / "history"
    append_to_folder(history, [make_run(0), make_run(1)])
    assert team.base() == f"{1:040x}"
    team(SLOW)
    assert team.base() == GOOD
    team(FAST, run=78)
    assert team.base() == f"{1:040x}"
