"""Reads the report of a crash: a tombstone, lines of logcat, a debugger, the kernel, or an address.

The text is from someone else's machine and may be damaged or hostile, so lines and values are
bounded, and whatever is not understood is passed over. Of several crashes the first counts, and of
several threads the one that crashed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from megtrim.errors import InputError

MAX_REPORT_BYTES = 8 * 1024 * 1024
_MAX_LINE = 2000
_MAX_FRAMES = 256
_MAX_MAPPINGS = 20_000
_HINT = (
    "expected a tombstone, lines of logcat with `pc` or `fault addr`, or an address such as 0x1a2b4"
)

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
_WORDS = {
    "Trace/breakpoint trap": 5,
    "Illegal instruction": 4,
    "trap invalid opcode": 4,
    "trap int3": 5,
    "Segmentation fault": 11,
    "segfault at": 11,
    "general protection": 11,
}

_LOGCAT = re.compile(
    r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d{1,9} +\d{1,9} [VDIWEF] [^:]{1,60}?: ?"
    r"|[VDIWEF]/[^(]{1,60}\( *\d{1,9}\): ?",
    re.ASCII,
)
_SIGNAL = re.compile(r"\b(?:target )?signal (\d{1,3})\b", re.ASCII)
_SIGNAL_NAME = re.compile(r"\b(?:received|with) signal (SIG[A-Z0-9]{2,9})\b")
_FAULT = re.compile(r"\bfault addr (?:0x)?([0-9a-f]{1,16})\b")
_REGISTER = re.compile(r"\b(pc|lr|x30|sp|rip)\s+(?:0x)?([0-9a-f]{8,16})\b")
_FRAME = re.compile(r"(?:#(\d{1,3})\s+)?\bpc\s+(?:0x)?([0-9a-f]{1,16})\s+(?!0x)(\S.*)", re.ASCII)
"""A debugger prints the register's value a second time where a frame has its file."""
_DEBUGGER = re.compile(
    r"(?:#(\d{1,3})\s+)?(?:=> )?0x([0-9a-f]{1,16}) in .{1,1000}?(?: from (\S{1,400}))?", re.ASCII
)
_KERNEL = re.compile(
    r"\S{1,60}\[\d{1,9}\]:? (?:trap |segfault |general protection).{0,100}?\bip:([0-9a-f]{1,16}) "
    r".{0,100} in (\S{1,200}?)\[(?:([0-9a-f]{1,16}),)?([0-9a-f]{1,16})\+([0-9a-f]{1,16})\]",
    re.ASCII,
)
_BUILD_ID = re.compile(r"\(?\bBuild ?Id: ?([0-9a-f]{8,128})\)?", re.IGNORECASE)
_OFFSET = re.compile(r"\(offset (?:0x)?([0-9a-f]{1,16})\)")
_TOMBSTONE_MAP = re.compile(
    r"(?:-*>)?\s*([0-9a-f']{8,17})-([0-9a-f']{8,17}) ([r-][w-][x-])\S?\s+([0-9a-f]{1,16})\s+"
    r"[0-9a-f]{1,16}\s*(\S.*)?"
)
_PROC_MAP = re.compile(
    r"([0-9a-f]{4,16})-([0-9a-f]{4,16}) ([r-][w-][x-])[ps-] ([0-9a-f]{1,16}) "
    r"[0-9a-f]{2,5}:[0-9a-f]{2,5} \d{1,20}\s*(\S.*)?"
)
_ADDRESS = re.compile(r"0x([0-9a-fA-F]{1,16})")
_OTHER_THREAD = "--- --- ---"
_NEXT_CRASH = "*** *** ***"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashFrame:
    """One place of the stack of the thread that crashed; the first is where it crashed."""

    pc: int
    file: str
    """Path of the program or shared object, ``APK!NAME`` for one in an APK; empty: not known."""
    build_id: str = ""
    offset: int = 0
    """Where the mapping begins in the file, as older reports say it."""
    absolute: bool = False
    """An address of the process; otherwise one of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedFile:
    """A part of the memory of the process that crashed."""

    start: int
    end: int
    """The address after its last byte."""
    offset: int | None
    """Where it begins in the file; None: not known."""
    file: str
    build_id: str = ""
    executable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashReport:
    """What a report says of a crash."""

    signal: int | None
    frames: tuple[CrashFrame, ...]
    """At least one."""
    mappings: tuple[MappedFile, ...] = ()
    pc: int | None = None
    """The registers of the thread that crashed: the address in memory of the instruction, …"""
    caller: int | None = None
    """… and the address to which the function returns (Arm's ``lr``)."""


def parse_address(text: str) -> CrashReport:
    """Return the report that a lone address is. Raises InputError."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        msg = f"--address: found {text[:40]!r}, expected an address such as 0x1a2b4"
        raise InputError(msg)
    frame = CrashFrame(pc=int(found[1], 16), file="", absolute=True)
    return CrashReport(signal=None, frames=(frame,))


def parse_report(data: bytes, *, source: str) -> CrashReport:
    """Parse a report. Raises InputError for one in which nothing says where it crashed."""
    found = _Reader()
    for line in _lines(data):
        if not found.take(line):
            break
    report = found.report()
    if report is None:
        what = f"it ended with signal {found.signal}, " if found.signal else ""
        msg = f"{source}: {what}no address in it says where it crashed"
        raise InputError(msg, hint=_HINT)
    return report


def _lines(data: bytes) -> Iterator[str]:
    text = data[:MAX_REPORT_BYTES].decode("utf-8", "replace")
    for line in text.splitlines():
        # What a terminal obeys would be shown with the name of a file.
        short = "".join(each if each.isprintable() else " " for each in line[:_MAX_LINE])
        prefix = _LOGCAT.match(short)
        yield (short[prefix.end() :] if prefix else short).strip()


class _Reader:
    """Collects what the lines say."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._fault: int | None = None
        self._registers: dict[str, int] = {}
        self._frames: list[CrashFrame] = []
        self._mappings: list[MappedFile] = []
        self._other_thread = False
        self._dumps = 0

    def take(self, line: str) -> bool:
        """Read a line; return whether the next one may belong to the same crash."""
        if line.startswith(_NEXT_CRASH):
            self._dumps += 1
            return self._dumps < 2
        if line.startswith(_OTHER_THREAD):
            self._other_thread = True
        if (mapping := _read_mapping(line)) is not None:
            if len(self._mappings) < _MAX_MAPPINGS:
                self._mappings.append(mapping)
        elif not self._other_thread:
            self._read_crash(line)
        return True

    def report(self) -> CrashReport | None:
        """Return what was said, None if nothing says where it was."""
        pc = self._registers.get("pc", self._registers.get("rip"))
        if not self._frames:
            at = pc if pc is not None else self._fault
            if at is None or (pc is None and self.signal not in (4, 5)):
                return None
            self._frames = [CrashFrame(pc=at, file="", absolute=True)]
        return CrashReport(
            signal=self.signal,
            frames=tuple(self._frames),
            mappings=tuple(self._mappings),
            pc=pc,
            caller=self._registers.get("lr", self._registers.get("x30")),
        )

    def _read_crash(self, line: str) -> None:
        if self.signal is None:
            self.signal = _read_signal(line)
        if self._fault is None and (fault := _FAULT.search(line)):
            self._fault = int(fault[1], 16)
        named = _REGISTER.findall(line)
        alone = {name for name, _ in named} <= {"pc"}
        # Older tombstones have `pc` next to `sp` alone; a frame has no other register.
        if not alone or not _FRAME.search(line):
            for name, value in named:
                self._registers.setdefault(name, int(value, 16))
        if alone and len(self._frames) < _MAX_FRAMES and (frame := self._read_frame(line)):
            self._frames.append(frame)

    def _read_frame(self, line: str) -> CrashFrame | None:
        if (found := _KERNEL.search(line)) is not None:
            start, size = int(found[4], 16), int(found[5], 16)
            offset = int(found[3], 16) if found[3] else None
            if offset is not None:  # newer kernels print the address in the file as well
                offset = max(0, offset - (int(found[1], 16) - start))
            self._mappings.append(
                MappedFile(start=start, end=start + size, offset=offset, file=found[2])
            )
            return CrashFrame(pc=int(found[1], 16), file=found[2], absolute=True)
        if (found := _FRAME.search(line)) is not None:
            # A second backtrace is another thread's.
            if found[1] and int(found[1]) < len(self._frames):
                return None
            return _file_frame(int(found[2], 16), found[3])
        found = _DEBUGGER.fullmatch(line)
        found = found or (_ADDRESS.fullmatch(line) if not self._frames else None)
        if found is None:
            return None
        number, address, file = found.groups() if found.re is _DEBUGGER else (None, found[1], None)
        if number and int(number) < len(self._frames):
            return None
        return CrashFrame(pc=int(address, 16), file=file or "", absolute=True)


def _read_signal(line: str) -> int | None:
    if (found := _SIGNAL.search(line)) is not None:
        return int(found[1])
    if (named := _SIGNAL_NAME.search(line)) is not None:
        return SIGNALS.get(named[1])
    return next((number for words, number in _WORDS.items() if words in line), None)


def _file_frame(pc: int, rest: str) -> CrashFrame:
    build_id, offset = _BUILD_ID.search(rest), _OFFSET.search(rest)
    return CrashFrame(
        pc=pc,
        file=_file_name(rest),
        build_id=build_id[1].lower() if build_id else "",
        offset=int(offset[1], 16) if offset else 0,
    )


def _file_name(text: str) -> str:
    """Return the path at the beginning of the rest of a line; paths may have blanks."""
    return re.split(r"(?:^|\s+)\((?:offset|BuildId|load|deleted)?", text, maxsplit=1)[0].strip()


def _read_mapping(line: str) -> MappedFile | None:
    exclusive = _PROC_MAP.fullmatch(line)
    found = exclusive or _TOMBSTONE_MAP.fullmatch(line)
    if found is None:
        return None
    start, end = (int(text.replace("'", "") or "0", 16) for text in found.group(1, 2))
    rest = found[5] or ""
    build_id = _BUILD_ID.search(rest)
    return MappedFile(
        start=start,
        end=end if exclusive else end + 1,
        offset=int(found[4], 16),
        file=_file_name(rest),
        build_id=build_id[1].lower() if build_id else "",
        executable=found[3][2] == "x",
    )
