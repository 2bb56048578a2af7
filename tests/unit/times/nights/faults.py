"""What can go wrong with a night: its times before the join, its history, its issues."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.evidence.evidence import JobPurpose
from megtrim.core.timing.spec import FEWEST_ROUNDS, PerformanceStatus
from megtrim.lab.evidence.times import LARGEST_RECORD, ContestRecord
from megtrim.libs.history.branch import DataBranch
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.strict_json import dump
from megtrim.times.nights.history import LARGEST_RUN_BYTES, HistoryRun
from megtrim.times.nights.issue_actions import plan_actions
from megtrim.times.report.regression_issue import LABEL, render_issue
from support.history_entries import make_run
from unit.hosting.cli.github.job import SLOW, Team
from unit.lab.evidence.support import (
    BINDING,
    CONTEST,
    OTHER_BINDING,
    SCENARIO,
    changed,
    contest_result,
    evidence,
    put,
    record,
    result,
    samples,
    timed,
    write_evidence,
    write_times,
    written,
)
from unit.times.nights.test_regressions import night
from unit.times.report.test_regression_issue import WHERE

EvidenceFault = Callable[[Path], object]

OTHER = f"{SCENARIO}#fast-run"
PHONE = DeviceIdentity(name="pixel-6", kind="local", facts={"model": "Pixel 6"})
WRONG = contest_result(
    status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0 differs", samples=()
)
NOTHING = "no device job delivered a result for it"


def lose(folder: Path) -> None:
    row = result(
        scenario=CONTEST,
        status=ScenarioStatus.INFRASTRUCTURE,
        text="adb: pixel-6 is gone",
        outputs=(),
        attempts=("pixel-6: gone", "pixel-6.2: gone"),
    )
    write_evidence(folder, written(evidence(row, purpose=JobPurpose.TIME)))


def link(path: Path) -> None:
    path.rename(path.parents[1] / "elsewhere")
    path.symlink_to(path.parents[1] / "elsewhere")


def grow(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.truncate(LARGEST_RECORD + 1)


def write(whole: ContestRecord | None = None, **changes: Any) -> EvidenceFault:
    return lambda folder: write_times(folder, whole or record(), **changes)


def measure(**changes: Any) -> EvidenceFault:
    return write(record(result=contest_result(**changes)))


def put_other(other: ContestRecord, **changes: Any) -> EvidenceFault:
    def fault(folder: Path) -> None:
        row = timed(other, **changes)
        text = written(evidence(row, purpose=JobPurpose.TIME))
        write_evidence(folder, text, {str(row.times): dump(other).encode()})

    return fault


def spoil_record(change: Callable[[Path], object]) -> EvidenceFault:
    def fault(folder: Path) -> None:
        write_times(folder, record())
        (path,) = (folder / "files").iterdir()
        change(path)

    return fault


def spoil_evidence(change: Callable[[str], str]) -> EvidenceFault:
    def fault(folder: Path) -> None:
        write_times(folder, record())
        path = folder / "evidence.json"
        path.write_text(change(path.read_text("utf-8")), encoding="utf-8")

    return fault


FEWER = tuple(each for each in samples() if each.round_number not in (2, 5))
MORE = tuple(samples(rounds=2 * FEWEST_ROUNDS + 1))
ODD_ROW = put("entries", 0, "results", 0, value={"scenario": "x"})

EVIDENCE_FAULTS: dict[str, tuple[EvidenceFault, str]] = {
    "no job brought anything": (lambda folder: folder.mkdir(), NOTHING),
    "the device failed": (lose, "pixel-6: adb: pixel-6 is gone"),
    "a bit of the samples flips": (
        spoil_record(lambda path: path.write_bytes(path.read_bytes().replace(b"2.0", b"2.1"))),
        "its sha256 is",
    ),
    "the samples end in the middle": (
        spoil_record(lambda path: path.write_bytes(path.read_bytes()[:-100])),
        "its sha256 is",
    ),
    "the file of samples is missing": (spoil_record(Path.unlink), "No such file or directory"),
    "it is a link to another file": (spoil_record(link), "found a link, expected a plain file"),
    "the samples of another contest lie there": (
        put_other(record(contest=OTHER), scenario=CONTEST, binding=BINDING),
        f"found the samples of {OTHER}, expected its own",
    ),
    "all of it is of another program": (
        write(record(binding=OTHER_BINDING)),
        "the evidence of the device jobs is for another program, model, input or setting",
    ),
    "the samples alone are of another program": (
        put_other(record(binding=OTHER_BINDING), scenario=CONTEST, binding=BINDING),
        "found the samples of",
    ),
    "evidence says pass, the record wrong outputs": (
        put_other(record(result=WRONG), status=ScenarioStatus.PASS),
        "its samples say wrong-outputs, its evidence pass",
    ),
    "rounds were left out": (
        measure(samples=FEWER),
        f"it has {2 * FEWEST_ROUNDS - 4} samples of {FEWEST_ROUNDS} rounds",
    ),
    "more were run than there is a budget for": (
        measure(samples=MORE),
        f"a sample is from round {2 * FEWEST_ROUNDS}",
    ),
    "its times are longer than the job took": (
        measure(time_s=0.2, program_time_s=0.1),
        "its times add up to",
    ),
    "the outputs were not looked at": (measure(outputs=""), "its outputs were not compared"),
    "the clock of the device's host is wrong": (
        write(day="2027-03-01"),
        "pixel-6 brought it on 2027-03-01, which is after this run",
    ),
    "an artifact of an earlier night": (
        write(day="2027-01-24"),
        "pixel-6 brought it on 2027-01-24, which is before this run",
    ),
    "a machine that was not asked": (
        write(device=replace(PHONE, name="laptop")),
        "laptop (local) is not one of the devices that were asked",
    ),
    "an emulator by the name of the device": (
        write(device=replace(PHONE, kind="qemu")),
        "pixel-6 (qemu) is not one of the devices that were asked",
    ),
    "the bundle was changed after the device had it": (
        write(record(bundle="1" * 64)),
        "the bundle 111111111111 asked for it, but this run has the bundle ffffffffffff",
    ),
    "the file of samples is too large": (spoil_record(grow), "found more than 67,108,864 bytes"),
    "the evidence itself is damaged": (spoil_evidence(lambda _: "{"), NOTHING),
    "it ends in the middle, as on a full disk": (
        spoil_evidence(lambda text: text[: len(text) // 2]),
        NOTHING,
    ),
    "another version of megtrim wrote it": (
        spoil_evidence(lambda text: changed(text, put("version", value=2))),
        NOTHING,
    ),
    "one row of it is none": (spoil_evidence(lambda text: changed(text, ODD_ROW)), NOTHING),
    "it is evidence of something else": (
        lambda folder: write_evidence(folder, written(evidence())),
        NOTHING,
    ),
}


LAST_WEEK = make_run(0)
TONIGHT = make_run(7)
ELSEWHERE = make_run(7, device="pixel-9")
BRANCH = "perf-history"

SPOILED = make_run(3).path
_ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def _spoiled(folder: Path) -> Path:
    path = folder / SPOILED
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


FOLDER_FAULTS: dict[str, Callable[[Path], object]] = {
    "a former night is damaged": lambda at: _spoiled(at).write_bytes(b'{"version": 1,,'),
    "a former night is no text": lambda at: _spoiled(at).write_bytes(b"\xff\xfe{"),
    "a former night is too large": (
        lambda at: _spoiled(at).write_bytes(b" " * (LARGEST_RUN_BYTES + 1))
    ),
    "a former night is a link": lambda at: _spoiled(at).symlink_to("/etc/passwd"),
    "a former night is a folder": lambda at: _spoiled(at).mkdir(),
    "a former night has another's name": (
        lambda at: _spoiled(at).write_bytes((at / LAST_WEEK.path).read_bytes())
    ),
}

RACES: dict[str, tuple[HistoryRun, HistoryRun]] = {
    "another device writes first": (ELSEWHERE, TONIGHT),
    "another device writes second": (TONIGHT, ELSEWHERE),
    "the same night writes twice": (TONIGHT, TONIGHT),
}


class Overtaken(DataBranch):
    def __init__(self, repository: Path, other: DataBranch, runs: Sequence[HistoryRun]) -> None:
        super().__init__(other._processes, repository, BRANCH, sleep=lambda _: None)
        self._other = other
        self._runs = list(runs)

    def _fetch(self) -> str:
        tip = super()._fetch()
        if self._runs:
            self._other.append([self._runs.pop()])
        return tip


def open_writers(folder: Path, first: HistoryRun) -> tuple[DataBranch, DataBranch]:
    processes = ProcessRunner(_ENV)
    bare = folder / "bare.git"
    processes.capture("git", "init", "--quiet", "--bare", str(bare))
    for name in ("one", "two"):
        checkout = folder / name
        processes.capture("git", "init", "--quiet", str(checkout))
        processes.capture("git", "-C", str(checkout), "remote", "add", "origin", str(bare))
    one = DataBranch(processes, folder / "one", BRANCH)
    one.append([LAST_WEEK])
    return one, Overtaken(folder / "two", one, [first])


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
