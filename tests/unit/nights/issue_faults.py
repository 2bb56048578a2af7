"""What can go wrong around the issues of a night: GitHub, the report, the history, the job."""

from collections.abc import Callable

from megtrim.perf.nights.regressions import plan_actions
from megtrim.perf.report.regression_issue import LABEL, render_issue
from unit.cli.ci.github.test_regressions import SLOW, Team
from unit.perf.nights.test_regressions import night
from unit.perf.report.test_regression_issue import WHERE

Fault = Callable[[Team], None]
ISSUES = r"/issues(/\d+)?$"


def api(method: str, status: int, *, times: int = 1, **more: object) -> Fault:
    def plant(team: Team) -> None:
        team.github.fail(method, ISSUES, status=status, times=times, **more)

    return plant


def damage(text: str | None) -> Fault:
    def plant(team: Team) -> None:
        path = team.shell.folder / "report" / "verdict.json"
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")

    return plant


def cut(team: Team) -> None:
    path = team.shell.folder / "report" / "verdict.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def foreign(team: Team) -> None:
    (action,) = plan_actions(night(SLOW), ())
    text = render_issue(action, WHERE)
    team.repository.issue(text.title, text.body, labels=[LABEL], login="mallory")


def broken_history(team: Team) -> None:
    folder = team.shell.folder / "history" / "runs" / "2026" / "11"
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"20261123T02000{n}Z-{'0' * 12}-{'0' * 16}.json" for n in range(3)]
    (folder / names[0]).write_bytes(b"\xff\xfe{")
    (folder / names[1]).unlink(missing_ok=True)
    (folder / names[1]).symlink_to("/etc/passwd")
    (folder / names[2]).mkdir(exist_ok=True)


def say(name: str, value: str) -> Fault:
    return lambda team: team.env.setenv(f"GITHUB_{name}", value)


def read_only(team: Team) -> None:
    team.github.permissions["issues"] = "read"


ISSUE_FAULTS: dict[str, Fault] = {
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
    "no event": say("EVENT_PATH", "/nonexistent"),
    "no token": say("TOKEN", ""),
    "a wrong token": say("TOKEN", "ghs_stolen"),
    "a token that reads": read_only,
}


def own(team: Team) -> list[str]:
    every = team.repository.issues.values()
    return [each["state"] for each in every if each["user"]["login"] != "mallory"]


def heal(team: Team) -> None:
    team.github._faults.clear()
    team.github.permissions["issues"] = "write"
    team.env.setenv("GITHUB_TOKEN", team.github.token)
    team.env.setenv("GITHUB_EVENT_PATH", str(team.shell.folder / "event.json"))
