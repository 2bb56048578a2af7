"""What goes wrong around the issues of a night: none is wrong, whatever failed, and a repeat heals.

Each fault meets the night that opens an issue and the one that closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.github.api import Api
from megtrim.github.issues import IssueTracker
from megtrim.report.performance.regression_issue import LABEL, read_record, render_issue
from megtrim.verdict.performance import PerformanceStatus
from megtrim.verdict.regressions import KnownIssue, plan_actions
from unit.cli.ci.github.test_regressions import FAST, GOOD, SLOW, Team, open_team
from unit.cli.support import Shell
from unit.report.performance.test_regression_issue import WHERE
from unit.verdict.performance_examples import skipped
from unit.verdict.test_regressions import night

Fault = Callable[[Team], None]
ISSUES = r"/issues(/\d+)?$"


def api(method: str, status: int, *, times: int = 1, **more: object) -> Fault:
    """Let GitHub fail."""

    def plant(team: Team) -> None:
        team.github.fail(method, ISSUES, status=status, times=times, **more)  # type: ignore[arg-type]

    return plant


def damage(text: str | None) -> Fault:
    """Replace the report's verdict by something else; None: remove it."""

    def plant(team: Team) -> None:
        path = team.shell.folder / "report" / "verdict.json"
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")

    return plant


def cut(team: Team) -> None:
    """Cut the verdict in half, as a full disk does."""
    path = team.shell.folder / "report" / "verdict.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def foreign(team: Team) -> None:
    """Let someone write an issue that looks like megtrim's, about the same scenario."""
    (action,) = plan_actions(night(SLOW), ())
    text = render_issue(action, WHERE)
    team.repository.issue(text.title, text.body, labels=[LABEL], login="mallory")


def broken_history(team: Team) -> None:
    """Leave a history of garbage, links and folders."""
    folder = team.shell.folder / "history" / "runs" / "2026" / "11"
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"20261123T02000{n}Z-{'0' * 12}-{'0' * 16}.json" for n in range(3)]
    (folder / names[0]).write_bytes(b"\xff\xfe{")
    (folder / names[1]).unlink(missing_ok=True)
    (folder / names[1]).symlink_to("/etc/passwd")
    (folder / names[2]).mkdir(exist_ok=True)


def no_event(team: Team) -> None:
    """Take the event's file away."""
    team.env.setenv("GITHUB_EVENT_PATH", "/nonexistent")


def no_token(team: Team) -> None:
    """Take the token away."""
    team.env.setenv("GITHUB_TOKEN", "")


def wrong_token(team: Team) -> None:
    """Give a token that GitHub does not know."""
    team.env.setenv("GITHUB_TOKEN", "ghs_stolen")


def read_only(team: Team) -> None:
    """Give a token that may read alone."""
    team.github.permissions["issues"] = "read"


FAULTS: dict[str, Fault] = {
    "list fails once": api("GET", 502),
    "list fails always": api("GET", 500, times=99),
    "list is cut": api("GET", 0, times=99),
    "list is forbidden": api("GET", 403, times=99),
    "list is gone": api("GET", 410, times=99),
    "list is limited": api("GET", 429, headers={"Retry-After": "0"}),
    "open fails": api("POST", 500),
    "open is cut after it acted": api("POST", 0, acts=True),
    "open fails after it acted": api("POST", 502, acts=True),
    "open is limited": api("POST", 403, headers={"Retry-After": "0"}, message="secondary rate"),
    "open is refused": api("POST", 422),
    "issues are switched off": api("POST", 410),
    "update fails": api("PATCH", 500, times=99),
    "update fails after it acted": api("PATCH", 502, acts=True),
    "update is cut": api("PATCH", 0, times=99),
    "the issue was deleted": api("PATCH", 410, times=99),
    "the issue was moved": api("PATCH", 404, times=99),
    "the report is missing": damage(None),
    "the report is empty": damage(""),
    "the report is no JSON": damage("<html>"),
    "the report is a newer one": damage('{"version": 99}'),
    "the report is cut": cut,
    "a foreign issue": foreign,
    "a broken history": broken_history,
    "no event": no_event,
    "no token": no_token,
    "a wrong token": wrong_token,
    "a token that reads": read_only,
}


@pytest.fixture
def team(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """A team's repository."""
    with open_team(shell, monkeypatch) as made:
        yield made


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are not waited for."""
    monkeypatch.setitem(Api.__init__.__kwdefaults__ or {}, "pause", lambda _: None)


def own(team: Team) -> list[str]:
    """Return the states of megtrim's issues."""
    every = team.repository.issues.values()
    return [each["state"] for each in every if each["user"]["login"] != "mallory"]


def heal(team: Team) -> None:
    """Take every fault away."""
    team.github._faults.clear()
    team.github.permissions["issues"] = "write"
    team.env.setenv("GITHUB_TOKEN", team.github.token)
    team.env.setenv("GITHUB_EVENT_PATH", str(team.shell.folder / "event.json"))


def publish(team: Team, *rows: object, run: int, fault: Fault | None = None) -> int:
    """Publish a night, with a fault after its report was made."""
    if fault is None:
        return team(*rows, run=run).status
    team.write(*rows, run=run)
    fault(team)
    return team.publish().status


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_makes_no_wrong_issue(team: Team, name: str) -> None:
    """It is opened and closed when the night was measured, once, or not at all; never otherwise."""
    fault = FAULTS[name]

    assert publish(team, SLOW, run=1, fault=fault) in (0, 2, 3)
    assert own(team) in ([], ["open"])
    heal(team)
    assert publish(team, SLOW, run=1) == 0
    assert own(team) == ["open"]

    assert publish(team, FAST, run=2, fault=fault) in (0, 2, 3)
    assert own(team) in (["open"], ["closed"])
    heal(team)
    assert publish(team, FAST, run=2) == 0
    assert own(team) == ["closed"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_closes_nothing_that_is_slow(team: Team, name: str) -> None:
    """Nor does a night in which the device was lost."""
    lost = skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "pixel-6 went offline")
    publish(team, SLOW, run=1)

    for run, row in ((2, SLOW), (3, lost)):
        publish(team, row, run=run, fault=FAULTS[name])
        heal(team)
        assert own(team) == ["open"]


def test_two_jobs_at_once_leave_one_issue_in_the_end(team: Team) -> None:
    """Both may open one; the next night closes the younger."""
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
    """A report that is a link leads nowhere."""
    team.write(SLOW, run=1)
    path = team.shell.folder / "report" / "verdict.json"
    path.unlink()
    Path(path).symlink_to("/etc/passwd")

    assert team.publish().status == 2
    assert own(team) == []
