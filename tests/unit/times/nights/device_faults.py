"""What can go wrong with a device in a night: faults of one contest's processes, played at once.

The device job, its measurement and its evidence are the real ones; the machine plays a program
whose iterations take a hundredth of a millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from megtrim.core.timing.spec import PerformanceStatus
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.programs.telemetry import Conditions, Reading
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.places.devices.written import list_files
from support.timing_logs import Form, MadeLog
from unit.core.trim.stages.fake_device import list_entries
from unit.core.trim.stages.support import floats

HEALTHY = "--record-comp-seq"
HOSTILE = "@torvalds closes #1 <img src=x> ![](https://x.example) ::error::no"

_ITERATION_MS = 0.01
_OUTPUT = floats(1, 2, 3)
_PREPARATIONS = 4
"""Runs before those that are timed: outputs, and the number of iterations, of each side."""

Change = Callable[[ProgramRun], ProgramRun]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFault:
    change: Change
    status: PerformanceStatus
    reason: str
    first: int = 0
    last: int = 1_000_000
    output: bytes | None = _OUTPUT


@dataclass(slots=True)
class Machine:
    fault: DeviceFault
    name: str = "pixel-6"
    kind: str = "local"
    retries: int = 0
    runs: int = 0

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind}

    def facts(self) -> dict[str, str]:
        return {"model": "Pixel 6"}

    @contextmanager
    def reserve(self) -> Iterator[Machine]:
        yield self

    @contextmanager
    def open(self) -> Iterator[_Folder]:
        yield _Folder(self)


@dataclass(slots=True)
class _Folder:
    machine: Machine
    left: dict[str, bytes] = field(default_factory=dict)

    def put(self, source: Path, name: str) -> None:
        pass

    def make(self, name: str) -> None:
        pass

    def cpus(self) -> tuple[int, ...]:
        return ()

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        cpus: tuple[int, ...] = (),
        stdin: str = "",
        stdout: str = "",
        stderr: str = "",
    ) -> ProgramRun:
        assert not stdin and not stdout and not stderr
        count = int(argv[len(argv) - 1 - argv[::-1].index("--iter") + 1])
        fault = self.machine.fault
        healthy = HEALTHY in argv
        if "--bin-out-dump" in argv:
            dumped = fault.output if argv[0].startswith("b-") and not healthy else _OUTPUT
            folder = argv[argv.index("--bin-out-dump") + 1]
            self.left |= {} if dumped is None else {f"{folder}/run0-var1": dumped}
        run = _play(argv, count)
        time.sleep(run.wall_s)
        if healthy:
            return run
        number = self.machine.runs
        self.machine.runs = self.machine.runs + 1
        return fault.change(run) if fault.first <= number <= fault.last else run

    def get(self, name: str) -> bytes | None:
        return self.left.get(name)

    def names(self, folder: str) -> tuple[str, ...]:
        return list_files(folder, list_entries(folder, self.left))


def _play(argv: Sequence[str], count: int) -> ProgramRun:
    took_ms = _ITERATION_MS * (1.5 if argv[0].startswith("b-") else 1.0)
    log = MadeLog(
        form=Form.E2E,
        load_ms=0.01,
        prepare_ms=0.01,
        warmup_ms=(took_ms,),
        tests=(((took_ms, took_ms, took_ms),) * count,),
    )
    wall_s = (took_ms * (count + 1) + 0.1) / 1000
    return ProgramRun(
        argv=tuple(argv), rc=0, stdout="", stderr=log.text(), wall_s=wall_s, timed_out=False
    )


def _lose(_: ProgramRun) -> ProgramRun:
    msg = "adb: pixel-6 is gone"
    raise InfrastructureFailure(msg)


def _is(**changes: object) -> Change:
    return lambda run: replace(run, **changes)  # type: ignore[arg-type]


def _has(**readings: object) -> Change:
    found = Conditions(before=Reading(), after=Reading(**readings))  # type: ignore[arg-type]
    return lambda run: replace(run, conditions=found)


def _mix(run: ProgramRun) -> ProgramRun:
    lines = run.stderr.splitlines(keepends=True)
    return replace(run, stderr="".join(each + each for each in lines))


def _cut(run: ProgramRun) -> ProgramRun:
    return replace(run, stderr=run.stderr[: len(run.stderr) // 2])


_LOST = PerformanceStatus.INFRASTRUCTURE
_FAILED = PerformanceStatus.FAILED
_WRONG = PerformanceStatus.WRONG_OUTPUTS
_OPEN = PerformanceStatus.INCONCLUSIVE
_GONE = "pixel-6: adb: pixel-6 is gone"
_CRASHED = "it ended with 139 (crashed)"


def _ends(status: PerformanceStatus, change: Change, reason: str, **more: Any) -> DeviceFault:
    return DeviceFault(change=change, status=status, reason=reason, **more)


def _uncounted(change: Change, why: str, first: int = 0) -> DeviceFault:
    reason = f"none of its samples count: {why} in 36 of 36 processes"
    return _ends(_LOST, change, reason, first=first)


DEVICE_FAULTS: dict[str, DeviceFault] = {
    "the device is gone": _ends(_LOST, _lose, _GONE),
    "the device is lost in the middle": _ends(_LOST, _lose, _GONE, first=_PREPARATIONS + 9),
    "the device is throttled": _uncounted(_has(thermal_status=3), "the machine was throttled"),
    "the battery is low": _uncounted(_has(battery_percent=9), "the battery was low"),
    "the machine is busy": _uncounted(_is(other_load=0.9), "the machine was busy"),
    "the machine is busy most of the time": _ends(
        _OPEN,
        _is(other_load=0.9),
        "the machine was busy in 30 of 36 processes",
        last=_PREPARATIONS + 29,
    ),
    "a program crashes": _ends(_FAILED, _is(rc=139), f"baseline: {_CRASHED}"),
    "a program crashes now and then": _ends(
        _FAILED, _is(rc=139), _CRASHED, first=_PREPARATIONS + 7, last=_PREPARATIONS + 7
    ),
    "a program hangs": _ends(
        _FAILED, _is(rc=137, timed_out=True), "baseline: it did not end within 600 s"
    ),
    "a program is killed from outside": _ends(_LOST, _is(rc=137), "was ended by signal 9"),
    "outputs are wrong": _ends(_WRONG, _is(), "largest difference", output=floats(1, 2, 9)),
    "outputs are missing": _ends(_FAILED, _is(), "nchw88: it dumped no output", output=None),
    "outputs prove nothing": _ends(_WRONG, _is(), "output 0", output=floats(float("nan"), 2, 3)),
    "the first log is cut": _ends(_FAILED, _cut, "baseline"),
    "all logs are cut": _uncounted(_cut, "the log was damaged", _PREPARATIONS),
    "logs are mixed": _uncounted(_mix, "the log was damaged", _PREPARATIONS),
    "a program says hostile things": _ends(
        _FAILED, _is(rc=1, stderr=f"ERROR: {HOSTILE}\n"), "baseline: it ended with 1 (failed): "
    ),
    "the device says hostile things": _uncounted(
        _has(cooling=("cpu--torvalds",)), "the machine was throttled"
    ),
}
