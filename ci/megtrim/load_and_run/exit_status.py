"""How a run of a program ended, told from its exit status and what it printed.

An exit status alone is not enough: an Android C library that cannot start its crash dumper
turns a signal into exit status 1 and says so only on standard error. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from megtrim.load_and_run.telemetry import Conditions

_TRAP_SIGNALS = (4, 5)
"""What ``__builtin_trap`` raises: SIGILL on x86, SIGTRAP (``brk``) on Arm."""

_OUTSIDE_SIGNALS = (9, 15)
"""SIGKILL and SIGTERM: what a low-memory killer, a shutdown or somebody's time limit sends."""

_LAST_SIGNAL = 64
_SAID = re.compile(
    r"^(?:[^\n]{0,80}\b)?libc *: Fatal signal (?P<libc>\d{1,3})\b"
    r"|^qemu: uncaught target signal (?P<qemu>\d{1,3})\b",
    re.MULTILINE,
)


class RunOutcome(StrEnum):
    """The ways a run can end."""

    PASSED = "passed"
    TRAP = "trap"
    FAILED = "failed"
    """Exit status other than 0, by the program's own decision."""
    CRASHED = "crashed"
    """A signal that is no trap and the program's own, such as SIGSEGV or SIGABRT."""
    KILLED = "killed"
    """A signal from outside, SIGKILL or SIGTERM: it says nothing of the program. One that the
    program sent to itself looks the same."""
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """One run of a program on a device."""

    argv: tuple[str, ...]
    rc: int
    """Exit status as a shell tells it: 128 + N for signal N."""
    stdout: str
    stderr: str
    wall_s: float
    timed_out: bool
    conditions: Conditions | None = None
    """None: the device does not measure them."""
    crash: str = ""
    """What the device knows of a run that a signal ended: lines, bounded and without controls."""


def ending_signal(run: ProgramRun) -> int | None:
    """Return the signal that ended the run, None where it was none."""
    # A wrapper may end with 0 all the same; what a program prints of its own is not asked then.
    said = _SAID.search(run.stderr) or (_SAID.search(run.stdout) if run.rc else None)
    if said:
        return int(said["libc"] or said["qemu"])
    if run.rc < 0:
        return -run.rc
    return run.rc - 128 if 128 < run.rc <= 128 + _LAST_SIGNAL else None


def ending(run: ProgramRun) -> RunOutcome:
    """Tell how the run ended."""
    if run.timed_out:
        return RunOutcome.TIMEOUT
    signal = ending_signal(run)
    if signal is None:
        return RunOutcome.PASSED if run.rc == 0 else RunOutcome.FAILED
    if signal in _OUTSIDE_SIGNALS:
        return RunOutcome.KILLED
    return RunOutcome.TRAP if signal in _TRAP_SIGNALS else RunOutcome.CRASHED
