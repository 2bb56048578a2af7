"""The history of a branch, and the issue that a night opens and closes."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.history import SIZE_FILES
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import parse_verdict, to_json
from megtrim.core.verdict.performance import HistorySeries
from megtrim.hosting.github.api import Api
from megtrim.hosting.github.issues import IssueTracker
from megtrim.libs.history.branch import DataBranch
from megtrim.libs.history.folder import append_to_folder
from megtrim.libs.util.process import ProcessRunner
from megtrim.times.cli.history import load_run
from megtrim.times.nights.history import RUN_FILES
from megtrim.times.nights.issue_actions import KnownIssue, plan_actions
from megtrim.times.report.regression_issue import LABEL, read_record, render_issue
from support.github_double import GithubDouble
from support.github_state import Repository
from support.history_entries import make_run
from unit.core.cli.support import Answer, Shell
from unit.core.verdict.examples import facts
from unit.core.verdict.performance_examples import ROWS, performance, row, skipped
from unit.hosting.cli.github.job import FAST, GOOD, SLOW, Team, open_night, open_team
from unit.times.nights.faults import ISSUE_FAULTS, Fault, heal, own
from unit.times.nights.test_regressions import night
from unit.times.report.test_regression_issue import WHERE


@dataclass(slots=True)
class Nights:
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
        self.repository.now = self.repository.now.replace(day=day)
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
def nights(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nights]:
    processes = ProcessRunner({"PATH": "/usr/bin:/bin"})
    bare = shell.folder / "remotes/acme/phone.git"
    home = shell.folder / "home"
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
        yield Nights(shell, github, repository, bare, monkeypatch)


def test_a_night_joins_the_history_and_its_report(nights: Nights) -> None:
    nights.measure(day=1)
    answer = nights.add().expect(0)
    (first,) = (nights.report / "runs").glob("*.json")
    assert answer.out == f"{first.stem}\n"
    assert first.name.startswith("20270101T120000Z-")
    assert [each.date for each in nights.series().points] == ["2027-01-01"]
    for name in ("report.md", "comment.md", "junit.xml", "index.html"):
        assert (nights.report / name).stat().st_size > 100


@pytest.mark.parametrize(
    ("of", "change"), [(GOOD, "5,000 (+25.00%) since 000000000000"), (f"{1:040x}", "no baseline")]
)
def test_a_night_is_compared_with_the_counts_of_its_base(team: Team, of: str, change: str) -> None:
    team.keep(team.count(4000), sha=of, event="schedule")
    team.count(5000)

    assert change in team.compare()
    published = team.publish("--dry-run").out
    assert change in published.replace("<code>", "").replace("</code>", "")


def test_a_base_is_a_commit(team: Team) -> None:
    team.count(4000)
    command = ("ci", "github", "history", "add", "report", "--base", "main/../..")
    team.shell(*command).expect(2, "--base main/../..: found no commit")


def test_nights_are_pushed_to_the_branch_once_each(nights: Nights) -> None:
    for day in (1, 2):
        nights.measure(day=day)
        for _ in range(2):
            known = nights.branch.read(RUN_FILES).entries if day > 1 else []
            append_to_folder(nights.shell.folder / "history", known)
            assert nights.add().status == 0
            assert nights.push().status == 0
    days = ["2027-01-01", "2027-01-02"]
    assert [run.measured_at[:10] for run in nights.branch.read(RUN_FILES).entries] == days
    assert [each.date for each in nights.series().points] == days


def test_a_night_without_times_adds_nothing(nights: Nights) -> None:
    nights.measure(day=1)
    (nights.report / "verdict.json").write_text(to_json(join(facts())), encoding="utf-8")

    assert nights.add().out == "no times were measured: nothing joins the history\n"
    assert nights.push().out == "nothing was to be measured: the history stays as it is\n"


def test_what_is_no_run_is_not_pushed(nights: Nights) -> None:
    (nights.report / "runs").mkdir(parents=True)
    (nights.report / "runs" / "x.json").write_text('{"version": 2}', encoding="utf-8")

    nights.push().expect(2, "expected this key")


def test_a_token_is_needed_and_not_printed(nights: Nights) -> None:
    nights.measure(day=1)
    nights.add()
    nights.bare.rename(nights.bare.with_name("gone"))
    answer = nights.push().expect(3, "git ls-remote failed")
    assert nights.github.token not in answer.err + answer.out
    nights.env.delenv("GITHUB_TOKEN")
    assert "there is no GitHub token" in nights.push().err


def test_a_damaged_history_costs_itself_alone(nights: Nights) -> None:
    history = nights.shell.folder / "history"
    append_to_folder(history, [make_run(0)])
    next(history.rglob("*.json")).write_text("{", encoding="utf-8")
    nights.measure(day=1)

    nights.add().expect(0, "left out")


def store_sizes(nights: Nights, *, commit: str = "", config: str = "megtrim.yaml") -> None:
    commit = commit or nights.repository.heads["main"]
    origin = Origin(config=config, commit=commit, committed_at="2026-11-03T02:00:00Z")
    text = dump_sizes(Baseline(sizes={("app", "reduced"): 100}, origin=origin))
    (nights.shell.folder / "baseline").mkdir(exist_ok=True)
    (nights.shell.folder / "baseline/sizes.json").write_text(text, encoding="utf-8")


def push_sizes(nights: Nights) -> Answer:
    return nights.shell("ci", "github", "history", "push-sizes", "baseline", "--repository", "kit")


def test_sizes_join_the_branch_of_the_nights_once(nights: Nights) -> None:
    nights.measure(day=1)
    assert nights.add().status == 0
    assert nights.push().status == 0
    store_sizes(nights)

    first, again = (push_sizes(nights) for _ in range(2))

    assert (first.status, again) == (0, first), first.err
    (entry,) = nights.branch.read(SIZE_FILES).entries
    assert entry.commit == nights.repository.heads["main"]
    assert entry.run > 0
    assert len(nights.branch.read(RUN_FILES).entries) == 1


def test_sizes_without_a_place_leave_the_history_as_it_is(nights: Nights) -> None:
    assert push_sizes(nights).out == "this run stored no sizes: the history stays as it is\n"
    store_sizes(nights)
    text = dump_sizes(Baseline(sizes={("app", "reduced"): 1}))
    (nights.shell.folder / "baseline/sizes.json").write_text(text, encoding="utf-8")

    answer = push_sizes(nights).expect(0, out="")
    assert "left out: sizes.json: found sizes without a commit" in answer.err


@pytest.mark.parametrize("other", [{"commit": "f" * 40}, {"config": "android/megtrim.yaml"}])
def test_sizes_of_another_run_are_refused(nights: Nights, other: dict[str, str]) -> None:
    store_sizes(nights, **other)

    push_sizes(nights).expect(2, "of the run")


OTHER = replace(SLOW, scenario="other/default@any")
LOST = skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "pixel-6 went offline")


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
    assert "### To reproduce" in answer.out
    assert team.repository.issues == {}


def test_rows_of_every_status_open_one_issue(team: Team) -> None:
    assert team(*ROWS).out == f"issue 1: opened for {SLOW.scenario}\n"


def test_a_night_without_times_says_so(team: Team) -> None:
    report = team.shell.folder / "report"
    report.mkdir()
    (report / "verdict.json").write_text(to_json(join(facts())), encoding="utf-8")

    team.shell("ci", "github", "regression-issues", "report").expect(
        0, out="no times were measured: all issues stay as they are\n"
    )


@pytest.mark.parametrize(
    ("measured", "opened", "states"),
    [
        ((), 8, ["open"]),
        ((1,), 8, ["open"]),
        ((1, 4), 11, ["open"]),
        ((1, 10), 8, ["closed"]),
        ((1, 3, 6, 9, 12), 0, []),
    ],
)
def test_a_week_of_nights_without_a_time_opens_an_issue(
    team: Team, measured: tuple[int, ...], opened: int, states: list[str]
) -> None:
    """``opened``: the night. No device answered in the others, from the first one on or later."""
    silent = skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "no runner took the job")
    silent = replace(silent, scenario=FAST.scenario, device="")
    folder = team.shell.folder
    said = []
    for day in range(1, 13):
        team.repository.now = team.repository.now.replace(day=day)
        team.env.setenv("MEGTRIM_NOW", team.repository.now.isoformat())
        run = team.repository.run(team.repository.heads["main"], event="schedule")
        team.write(FAST if day in measured else silent, run=run)
        team.shell("ci", "github", "history", "add", "report", "--history", "history").expect(0)
        told = team.publish("--history", "history")
        said += [day] if ": opened for" in told.expect(0).out else []
        runs = [load_run(each) for each in (folder / "report" / "runs").glob("*.json")]
        append_to_folder(folder / "history", runs)
        shutil.rmtree(folder / "report")

    assert said == ([opened] if opened else [])
    assert team.states() == states


def test_a_night_without_a_time_is_no_base(team: Team) -> None:
    lost = skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "it is off")
    measured = make_run(1, [FAST])
    append_to_folder(team.shell.folder / "history", [measured, make_run(2, [lost])])

    assert team.base() == measured.commit.sha


def test_the_base_is_the_last_commit_of_the_history(team: Team) -> None:
    assert team.base() == ""
    history = team.shell.folder / "history"
    append_to_folder(history, [make_run(0), make_run(1)])
    assert team.base() == f"{1:040x}"
    team(SLOW)
    assert team.base() == GOOD
    team(FAST, run=78)
    assert team.base() == f"{1:040x}"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Api.__init__.__kwdefaults__ or {}, "pause", lambda _: None)


def publish(team: Team, *rows: object, run: int, fault: Fault | None = None) -> int:
    if fault is None:
        return team(*rows, run=run).status
    team.write(*rows, run=run)
    fault(team)
    return team.publish().status


@pytest.mark.parametrize("name", ISSUE_FAULTS)
def test_a_fault_closes_nothing_that_is_slow(team: Team, name: str) -> None:
    publish(team, SLOW, run=1)

    for run, late in ((2, SLOW), (3, LOST)):
        publish(team, late, run=run, fault=ISSUE_FAULTS[name])
        heal(team)
        assert own(team) == ["open"]


def test_two_jobs_at_once_leave_one_issue_in_the_end(team: Team) -> None:
    api = Api(team.github.url, team.github.token, user_agent="megtrim/1")
    trackers = [IssueTracker(api, "acme/phone", label=LABEL) for _ in range(2)]
    (action,) = plan_actions(night(SLOW, base=GOOD), ())
    text = render_issue(action, WHERE)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda each: each.open(text.title, text.body), trackers))
    assert own(team) == ["open", "open"]

    publish(team, SLOW, run=3)
    assert own(team) == ["open", "closed"]
    publish(team, FAST, run=4)
    assert own(team) == ["closed", "closed"]


@pytest.mark.parametrize("change", ["state", "base", "scenario", "nothing"])
def test_a_record_that_someone_changed_does_no_harm(team: Team, change: str) -> None:
    """A person who may edit issues may close them, too; nothing else comes of it."""
    publish(team, SLOW, run=1)
    issue = team.repository.issues[1]
    record = read_record(issue["body"])
    assert record is not None
    known = KnownIssue(number=1, is_open=True, record=record)
    other = {"state": {}, "nothing": {}, "base": {"base": "f" * 40}, "scenario": {"scenario": "x"}}
    (action,) = plan_actions(night(SLOW), (known,))
    changed = replace(action, record=replace(record, **other[change]))  # type: ignore[arg-type]
    body = render_issue(changed, WHERE).body
    issue["body"] = body.replace("regressed", "hacked") if change == "state" else body

    assert publish(team, SLOW, run=2) == 0
    assert publish(team, FAST, run=3) == 0
    ours = [each for each in team.repository.issues.values() if each["state"] == "open"]
    assert len(ours) == (change in ("state", "base", "scenario"))


def test_the_report_names_no_file_of_the_job(team: Team) -> None:
    team.write(SLOW, run=1)
    path = team.shell.folder / "report" / "verdict.json"
    path.unlink()
    Path(path).symlink_to("/etc/passwd")

    assert team.publish().status == 2
    assert own(team) == []
