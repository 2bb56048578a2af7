"""What a report of a crash says, whoever wrote it, and why it may not be certain."""

from __future__ import annotations

from megtrim.libs.util.value import Value
from megtrim.ship.crashes.frames import CrashFrame, MappedFile

SIGNALS = {
    "SIGILL": 4,
    "SIGTRAP": 5,
    "SIGABRT": 6,
    "SIGBUS": 7,
    "SIGFPE": 8,
    "SIGKILL": 9,
    "SIGSEGV": 11,
    "SIGPIPE": 13,
    "SIGTERM": 15,
    "SIGSYS": 31,
}
MAX_FRAMES = 256
MAX_CRASHES = 100
SENT = "the signal was sent by a program, as handlers of signals do: it crashed elsewhere"
ELSEWHERE = "its registers or fault address belong to another place than the first frame"
OUTSIDE = "memory of no image"
NO_REGISTERS = "the report does not have the register with the place of the crash"
ANY_THREAD = "the report does not say which of its threads crashed"
FIRST_LOST = "the report does not show the first frame, where it crashed"
ODD_SIGNAL = "a line about a trap was not understood, or does not say where it was"
NOT_CLEARING = frozenset({ANY_THREAD, FIRST_LOST, ODD_SIGNAL})
"""With one of these, a crash elsewhere may not be the one that ended the process."""
TOO_MANY = f"the report has more than {MAX_CRASHES} crashes"


class CrashReport(Value):
    signal: int | None
    frames: tuple[CrashFrame, ...]
    mappings: tuple[MappedFile, ...] = ()
    doubts: tuple[str, ...] = ()
    later: tuple[CrashReport, ...] = ()
    caller: int | None = None
    """Where the register for it says that the first frame was called, in the process."""
    unread: str = ""
    """A line that looks like the first frame, or one before it, and that was not understood."""
