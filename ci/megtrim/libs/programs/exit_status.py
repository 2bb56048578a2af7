"""How a run of a program ended, by its exit status and its output.

An Android C library that cannot start its crash dumper turns a signal into exit status 1, and a
Java virtual machine turns it into SIGABRT. Pure.
"""

import re
from enum import StrEnum

from megtrim.libs.programs.telemetry import Conditions
from megtrim.libs.util.value import Value

_TRAP_SIGNALS = (4, 5)
"""Signals of ``__builtin_trap``: SIGILL on x86 and 32-bit Arm, SIGTRAP (``brk``) on arm64."""

_OUTSIDE_SIGNALS = (9, 15)
"""From a low-memory killer, a shutdown or a time limit of someone else."""

_LAST_SIGNAL = 64
_SIGNAL_MESSAGE = re.compile(
    r"^(?:[^\n]{0,80}\b)?libc *: Fatal signal (?P<libc>\d{1,3})\b"
    r"|^qemu: uncaught target signal (?P<qemu>\d{1,3})\b",
    re.MULTILINE,
)
_JAVA_MESSAGE = re.compile(r"^#  SIG[A-Z]{2,5} \(0x([0-9a-f]{1,2})\) at pc=", re.MULTILINE)


class RunOutcome(StrEnum):
    PASSED = "passed"
    TRAP = "trap"
    FAILED = "failed"
    CRASHED = "crashed"
    KILLED = "killed"
    """SIGKILL or SIGTERM, which alone prove nothing about the program."""
    TIMEOUT = "timeout"


class ProgramRun(Value):
    argv: tuple[str, ...]
    rc: int
    """Exit status as in a shell: 128 + N for signal N."""
    stdout: str
    stderr: str
    wall_s: float
    timed_out: bool
    conditions: Conditions | None = None
    other_load: float | None = None
    """Share of all CPUs' time that other programs took meanwhile; None: not known."""
    crash: str = ""
    expected: int = 0
    """Exit status that it passes with."""

    @property
    def status(self) -> str:
        """Its exit status for a message, with the expected one where that is not 0."""
        return f"{self.rc}, expected {self.expected}" if self.expected else f"{self.rc}"


def ending_signal(run: ProgramRun) -> int | None:
    if run.rc and (caught := _JAVA_MESSAGE.search(run.stdout)):
        return int(caught[1], 16)
    # A wrapper may exit with 0 even so; then the program's own output is not searched.
    message = _SIGNAL_MESSAGE.search(run.stderr)
    message = message or (_SIGNAL_MESSAGE.search(run.stdout) if run.rc else None)
    if message:
        return int(message["libc"] or message["qemu"])
    if run.rc < 0:
        return -run.rc
    return run.rc - 128 if 128 < run.rc <= 128 + _LAST_SIGNAL else None


def ending(run: ProgramRun) -> RunOutcome:
    if run.timed_out:
        return RunOutcome.TIMEOUT
    signal = ending_signal(run)
    if signal is None:
        return RunOutcome.PASSED if run.rc == run.expected else RunOutcome.FAILED
    if signal in _OUTSIDE_SIGNALS:
        return RunOutcome.KILLED
    return RunOutcome.TRAP if signal in _TRAP_SIGNALS else RunOutcome.CRASHED


_THROWN = re.compile(
    r"^terminate called after throwing an instance of '([^']{1,200})'\n"
    r"\s*what\(\): +([^\n]*(?:\n(?!\s*\n)[^\n]+){0,20})",
    re.MULTILINE,
)
_CAUGHT = re.compile(r"^caught exception: +([^\n]*(?:\n(?!\s*\n)[^\n]+){0,20})", re.MULTILINE)
"""Some programs catch an exception, print this, and exit with 254."""
_ERROR = re.compile(
    r"^(?:\[\d+ \d+:\d+:\d+ [^\]]*\]\[ERR(?:OR)?\]|ERROR:|error:) *(\S.*)$", re.MULTILINE
)
_NOISE = re.compile(
    r"qemu: uncaught|libc *:|WARNING: linker:|(?:real|user|sys)\t"
    r"|(?:Trap|Trace/breakpoint trap|Illegal instruction|Aborted|Segmentation fault)\b"
)
"""Lines of others than the program."""
_LONGEST_MESSAGE = 2000


def error_message(stderr: str, logged: re.Pattern[str] | None = None) -> str:
    """An exception's text, else an error line, else the last line of no log and no signal.

    ``logged``: the beginnings of lines of the program's log.
    """
    noise = [pattern for pattern in (_NOISE, logged) if pattern is not None]
    # A message ends where there is noise, as at an empty line.
    lines = [
        "" if any(pattern.match(line.strip()) for pattern in noise) else line
        for line in stderr.split("\n")
    ]
    said = "\n".join(lines)
    thrown = _THROWN.search(said)
    if thrown:
        return f"{thrown[1]}: {_one_line(thrown[2])}"[:_LONGEST_MESSAGE]
    caught = _CAUGHT.search(said)
    if caught:
        return _one_line(caught[1])[:_LONGEST_MESSAGE]
    error = _ERROR.search(stderr)
    if error:
        return error[1].rstrip()[:_LONGEST_MESSAGE]
    found = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return found[:_LONGEST_MESSAGE]


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.split("\n"))
