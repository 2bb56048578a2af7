from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.build_spec import Origin
from megtrim.history.branch import DataBranch
from megtrim.history.folder import append_to_folder
from megtrim.perf.nights.history import RUN_FILES
from megtrim.perf.rows import HistorySeries
from megtrim.size.baseline import dump_sizes
from megtrim.size.budgets import Baseline
from megtrim.size.history import SIZE_FILES
from megtrim.util.process import ProcessRunner
from megtrim.verdict.join import join
from megtrim.verdict.model import parse_verdict, to_json
from support.github_double import GithubDouble
from support.github_state import Repository
from support.history_entries import make_run
from unit.cli.ci.github.job import open_night
from unit.cli.support import Answer, Shell
from unit.verdict.examples import facts
from unit.verdict.performance_examples import performance, row


@dataclass(slots=True)
class Team:
    shell: Shell
    github: GithubDouble
    repository: Repository
    bare: Path
    env: pytest.MonkeyPatch

    @property
    def report(self) -> Path:
        return self.shell.folder / "report"

    @property
    def branch(self) -> DataBranch:
        processes = ProcessRunner({"PATH": "/usr/bin:/bin", "HOME": str(self.shell.folder)})
        kit = self.shell.folder / "kit"
        return DataBranch(processes, kit, "perf-history", remote=str(self.bare))

    def measure(self, *, day: int) -> None:
        now = self.repository.now.replace(day=day)
        self.repository.now = now
        run = self.repository.run(self.repository.heads["main"], event="schedule")
        self.env.setenv("GITHUB_RUN_ID", str(run))
        self.report.mkdir(exist_ok=True)
        text = to_json(join(facts(performance=performance(rows=(row(),), trimming=(), history=()))))
        (self.report / "verdict.json").write_text(text, encoding="utf-8")

    def add(self) -> Answer:
        return self.shell("ci", "github", "history", "add", "report", "--history", "history")

    def push(self) -> Answer:
        return self.shell("ci", "github", "history", "push", "report", "--repository", "kit")

    def series(self) -> HistorySeries:
        path = self.report / "verdict.json"
        verdict = parse_verdict(path.read_text(encoding="utf-8"), source="v")
        assert verdict.performance is not None
        (series,) = verdict.performance.history
        return series


@pytest.fixture
def team(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    processes = ProcessRunner({"PATH": "/usr/bin:/bin"})
    bare, home = shell.folder / "remotes/acme/phone.git", shell.folder / "home"
    processes.capture("git", "init", "--quiet", "--bare", str(bare))
    processes.capture("git", "init", "--quiet", str(shell.folder / "kit"))
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[url "file://{shell.folder}/remotes/"]\n\tinsteadOf = https://github.com/\n',
        encoding="utf-8",
    )
    with open_night(shell.folder, monkeypatch) as (github, repository):
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        yield Team(shell, github, repository, bare, monkeypatch)


def test_a_night_joins_the_history_and_its_report(team: Team) -> None:
    team.measure(day=1)
    answer = team.add().expect(0)
    (first,) = (team.report / "runs").glob("*.json")
    assert answer.out == f"{first.stem}\n"
    assert first.name.startswith("20270101T120000Z-")
    assert [each.date for each in team.series().points] == ["2027-01-01"]
    for name in ("report.md", "comment.md", "junit.xml", "index.html"):
        assert (team.report / name).stat().st_size > 100


def test_nights_are_pushed_to_the_branch_once_each(team: Team) -> None:
    for day in (1, 2):
        team.measure(day=day)
        for _ in range(2):
            known = team.branch.read(RUN_FILES).entries if day > 1 else []
            append_to_folder(team.shell.folder / "history", known)
            assert team.add().status == 0
            assert team.push().status == 0
    days = ["2027-01-01", "2027-01-02"]
    assert [run.measured_at[:10] for run in team.branch.read(RUN_FILES).entries] == days
    assert [each.date for each in team.series().points] == days


def test_a_night_without_times_adds_nothing(team: Team) -> None:
    team.measure(day=1)
    (team.report / "verdict.json").write_text(to_json(join(facts())), encoding="utf-8")

    assert team.add().out == "no times were measured: nothing joins the history\n"
    assert team.push().out == "no device measured anything: the history stays as it is\n"


def test_what_is_no_run_is_not_pushed(team: Team) -> None:
    (team.report / "runs").mkdir(parents=True)
    (team.report / "runs" / "x.json").write_text('{"version": 1}', encoding="utf-8")

    team.push().expect(2, "expected this key")


def test_a_token_is_needed_and_not_printed(team: Team) -> None:
    team.measure(day=1)
    team.add()
    team.bare.rename(team.bare.with_name("gone"))
    answer = team.push().expect(3, "git ls-remote failed")
    assert team.github.token not in answer.err + answer.out
    team.env.delenv("GITHUB_TOKEN")
    assert "there is no GitHub token" in team.push().err


def test_a_damaged_history_costs_itself_alone(team: Team) -> None:
    history = team.shell.folder / "history"
    append_to_folder(history, [make_run(0)])
    next(history.rglob("*.json")).write_text("{", encoding="utf-8")
    team.measure(day=1)

    team.add().expect(0, "left out")


def store_sizes(team: Team, *, commit: str = "", config: str = "megtrim.yaml") -> None:
    commit = commit or team.repository.heads["main"]
    origin = Origin(config=config, commit=commit, committed_at="2026-11-03T02:00:00Z")
    text = dump_sizes(Baseline(sizes={("app", "reduced"): 100}, origin=origin))
    (team.shell.folder / "baseline").mkdir(exist_ok=True)
    (team.shell.folder / "baseline/sizes.json").write_text(text, encoding="utf-8")


def push_sizes(team: Team) -> Answer:
    return team.shell("ci", "github", "history", "push-sizes", "baseline", "--repository", "kit")


def test_sizes_join_the_branch_of_the_nights_once(team: Team) -> None:
    team.measure(day=1)
    assert team.add().status == 0
    assert team.push().status == 0
    store_sizes(team)

    first, again = (push_sizes(team) for _ in range(2))

    assert (first.status, again) == (0, first), first.err
    (entry,) = team.branch.read(SIZE_FILES).entries
    assert entry.commit == team.repository.heads["main"]
    assert entry.run > 0
    assert len(team.branch.read(RUN_FILES).entries) == 1


def test_sizes_without_a_place_leave_the_history_as_it_is(team: Team) -> None:
    assert push_sizes(team).out == "this run stored no sizes: the history stays as it is\n"
    store_sizes(team)
    text = dump_sizes(Baseline(sizes={("app", "reduced"): 1}))
    (team.shell.folder / "baseline/sizes.json").write_text(text, encoding="utf-8")

    answer = push_sizes(team)
    assert (answer.status, answer.out) == (0, "")
    assert "left out: sizes.json: found sizes of no commit" in answer.err


@pytest.mark.parametrize("other", [{"commit": "f" * 40}, {"config": "android/megtrim.yaml"}])
def test_sizes_of_another_run_are_refused(team: Team, other: dict[str, str]) -> None:
    store_sizes(team, **other)

    push_sizes(team).expect(2, "of the run")
