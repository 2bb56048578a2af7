"""What goes wrong around the issues of a night: none is wrong, whatever failed, and a repeat heals.

Each fault meets the night that opens an issue and the one that closes it.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.github.api import Api
from megtrim.github.issues import IssueTracker
from megtrim.perf.nights.regressions import KnownIssue, plan_actions
from megtrim.perf.report.regression_issue import LABEL, read_record, render_issue
from unit.cli.ci.github.test_regressions import FAST, GOOD, SLOW, Team, open_team
from unit.cli.support import Shell
from unit.nights.faults import ISSUE_FAULTS, Fault, heal, own
from unit.perf.nights.test_regressions import night
from unit.perf.report.test_regression_issue import WHERE
from unit.verdict.performance_examples import skipped


@pytest.fixture
def team(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    with open_team(shell, monkeypatch) as made:
        yield made


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
    lost = skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "pixel-6 went offline")
    publish(team, SLOW, run=1)

    for run, row in ((2, SLOW), (3, lost)):
        publish(team, row, run=run, fault=ISSUE_FAULTS[name])
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
