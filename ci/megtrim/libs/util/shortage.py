"""Whether a tool failed because of the machine: a full disk, too little memory, a signal. Pure.

A tool that fills a disk fails in many ways. It may say so, be ended by SIGBUS as it writes to a
mapped file, or leave half a file that the next tool cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.value import Value

NO_ROOM_BYTES = 64 * 1024
"""With less than this left, nothing that was written there is known to be whole."""
LITTLE_ROOM_BYTES = 16 * 1024 * 1024
"""With less than this left, a stage that failed may have lacked it: what fails to write a file of
some megabytes often removes what it wrote, and CMake says nothing."""

_DISK = "the disk is full"
_MEMORY = "the machine ran out of memory"
_KILLED = "something outside killed a program of it, as a machine without memory does"
_UNMAPPED = "a program of it could not write to its file, as on a full disk"
_LIMITED = "the machine is at a limit"

MAKE_ROOM = "free some space, or choose other folders with --out and TMPDIR, and run it again"
_USE_LESS = "fewer --jobs use less memory; the kernel's log (dmesg) names what it ended"
_LOOK = "nothing is known about the product: look at the machine (df, dmesg), and run it again"
_HINTS: Mapping[str, str] = {
    _DISK: MAKE_ROOM,
    _UNMAPPED: MAKE_ROOM,
    _MEMORY: _USE_LESS,
    _KILLED: _USE_LESS,
}

_SAID: Mapping[str, str] = {
    "No space left on device|Disk quota exceeded": _DISK,
    r"\bNoSpaceLeft\b|\bDiskQuota\b": _DISK,
    "Cannot allocate memory|memory exhausted|LLVM ERROR: out of memory": _MEMORY,
    r"out of memory allocating \d|error: OutOfMemory\b|std::bad_alloc": _MEMORY,
    "(?:Killed|Terminated) signal terminated program": _KILLED,
    r"terminated with signal (?:9|15) \[|unable to execute command: Killed": _KILLED,
    r"^\s*(?:Killed|Terminated)$|^\s*FAILED: \[code=(?:137|143)\]|Child killed": _KILLED,
    r"^\s*Subprocess (?:killed|terminated)$": _KILLED,
    # Of a compiler that a signal ended, ccache says no more; compilers themselves do not end so.
    r"^\s*FAILED: \[code=255\] [^\n]*\n\S*/ccache ": _KILLED,
    r"Bus error signal terminated program|terminated with signal 7 \[": _UNMAPPED,
    r"^\s*Bus error(?: \(core dumped\))?$|unable to execute command: Bus error": _UNMAPPED,
    r"^\s*FAILED: \[code=135\]": _UNMAPPED,
    "Read-only file system": "the disk became read-only",
    "Input/output error": "the disk failed",
    "Stale file handle|Transport endpoint is not connected": "the disk disappeared",
    "Too many open files|Resource temporarily unavailable": _LIMITED,
    "File size limit exceeded|File too large": _LIMITED,
}
_MESSAGES = tuple(
    # CMake breaks lines between words.
    (re.compile(pattern.replace(" ", r"\s+"), re.MULTILINE), cause)
    for pattern, cause in _SAID.items()
)

_SIGNALS: Mapping[int, str] = {
    7: _UNMAPPED,
    9: _KILLED,
    15: _KILLED,
    24: _LIMITED,
    25: _LIMITED,
}
"""SIGBUS, SIGKILL, SIGTERM, SIGXCPU and SIGXFSZ, which no source makes a compiler send itself."""

_OF_SOURCES = re.compile(
    # A diagnostic of a source with its line, and the lines that quote the source below it.
    r"^(?:[^\n]*:\d+(?::\d+)?: (?:error|warning|note): | *\d* *\| |[^\n]*#error\b)[^\n]*$",
    re.MULTILINE,
)


class Room(Value):
    """What is left on a disk for whoever asks."""

    place: str
    free_bytes: int
    free_files: int | None = None
    """None where the disk has no such limit."""

    def describe_lack(self, fewest_bytes: int) -> str:
        """Say what is missing; empty where there is enough."""
        if self.free_bytes < NO_ROOM_BYTES:
            return f"the disk is full: {self.place} has {self.free_bytes:,} bytes left"
        if self.free_bytes < fewest_bytes:
            return f"the disk is almost full: {self.place} has {self.free_bytes:,} bytes left"
        if self.free_files == 0:
            return f"the disk is full: {self.place} has no place for another file"
        return ""


def find_lack(rooms: Iterable[Room], fewest_bytes: int) -> str:
    lacks = (room.describe_lack(fewest_bytes) for room in rooms)
    return next((lack for lack in lacks if lack), "")


def find_shortage(
    tool: str, rc: int, said: str, rooms: Iterable[Room]
) -> InfrastructureFailure | None:
    """Return what the machine lacked when a tool failed; None: the machine is not to blame.

    ``rc`` follows the shell: 128 + N if signal N ended the tool. What a tool says of the sources
    is theirs: an ``#error`` may hold any words.
    """
    own = _OF_SOURCES.sub("", said)
    for pattern, cause in _MESSAGES:
        if (found := pattern.search(own)) is not None:
            msg = f"{tool} stopped: {cause}:\n{_take_line(own, found)}"
            return InfrastructureFailure(msg, hint=_hint(cause))
    if cause := _SIGNALS.get(rc - 128, ""):
        msg = f"{tool} stopped: {cause} (signal {rc - 128})"
        return InfrastructureFailure(msg, hint=_hint(cause))
    if lack := find_lack(rooms, NO_ROOM_BYTES):
        return InfrastructureFailure(f"{tool} stopped: {lack}", hint=MAKE_ROOM)
    return None


def _take_line(text: str, found: re.Match[str]) -> str:
    start = text.rfind("\n", 0, found.start()) + 1
    line = text[start : found.end()] + text[found.end() :].partition("\n")[0]
    return " ".join(line.split())[:1000]


def _hint(cause: str) -> str:
    return _HINTS.get(cause, _LOOK)
