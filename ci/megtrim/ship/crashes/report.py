"""Reads the report of a crash: a tombstone, what a crash reporter shows, a debugger, an address.

It may be damaged or hostile, so lines and values are bounded. A line that looks like the frame
where it crashed, and is none of a known shape, is kept: such a report is not looked up. Pure.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.frames import CrashFrame, MappedFile, read_frame, read_mapping
from megtrim.ship.crashes.kernel_log import KernelLine, read_kernel_line
from megtrim.ship.crashes.minidump_text import is_machine_text, parse_machine_text
from megtrim.ship.crashes.report_values import (
    ANY_THREAD,
    ELSEWHERE,
    FIRST_LOST,
    MAX_CRASHES,
    MAX_FRAMES,
    ODD_SIGNAL,
    SENT,
    SIGNALS,
    TOO_MANY,
    CrashReport,
)
from megtrim.ship.crashes.services import SERVICES, ShapeError, read_service
from megtrim.ship.crashes.tombstone import parse_tombstone

MAX_REPORT_BYTES = 8 * 1024 * 1024
_MAX_LINE = 2000
_MAX_MAPPINGS = 20_000
_HINT = (
    "expected a tombstone, lines of logcat with `pc` or `fault addr`, the report of a crash "
    "service, or an address such as 0x1a2b4"
)
_SERVICES = ", ".join(sorted({name.partition(",")[0] for name in SERVICES}))
_JSON_HINT = (
    f"JSON of {_SERVICES} is read, and JSON that has the lines of a report in it; or give the "
    "report as text"
)
_IN_HANDLER = "the stack was taken in a handler of the signal"
_SIGNALS_DIFFER = "the report names several signals"

_SAYS_SIGNAL = tuple(
    re.compile(each, re.ASCII | re.IGNORECASE)
    for each in (
        r"(?:Fatal |_|.*\.Error: |qemu: .* )?signal:? ?(\d{1,3}) ?\((?:(SIG\w+)|[^)]*)\).*",
        r"signal:? (\d{1,3})",
        r"(?:Reason: ?Signal: ?|Crash reason: +|#  |Crashed: .{0,80}?\b)?()(SIG[A-Z]{2,5})\b.*",
        r"(?:Program|\W*thread\b.*) (?:received|terminated with|.* =) signal ()(SIG\w+).*",
    )
)
"""Lines in which a reporter says what ended the process: a number, a name, or both."""
_WORDS = {"Trace/breakpoint trap": 5, "Illegal instruction": 4, "Segmentation fault": 11}
_PREFIX = re.compile(
    r"(?:(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,6}(?: [+-]\d{4})? +(\d{1,9})[ -]+\d{1,9}"
    r"(?:/\S+)?(?: +[VDIWEFA][ /][^:]{1,60}?: ?| +\S{1,60} +\S{1,60} +[VDIWEFA] +)"
    r"|(?:\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} )?[VDIWEF]/[^(]{1,60}\( *(\d{1,9})\): ?)",
    re.ASCII,
)
"""What logs put before a line: the process that wrote it."""
_COLOURS = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]")
_NEXT_FRAME = re.compile(r"\s(?=#\d{1,3}\s+(?:pc\s|0x))", re.ASCII)
"""Some reporters write all frames in one line."""
_FAULT = re.compile(r"(?:\bfault addr:? |^Reason: ?Signal:.*@)(?:0x)?([0-9a-f]{1,16})\b", re.I)
_PC = re.compile(r"\b(?:pc|rip):?\s+(?:0x)?([0-9a-f]{8,16})\b")
_REGISTERS = re.compile(
    r"(?!.*#\d).*\b(?:lr|sp|rip|[xr]\d\d?|pstate|pst|cpsr):?\s+(?:0x)?[0-9a-f]{8,16}\b.*", re.ASCII
)
_CALLER = re.compile(r"\b(?:lr|x30|r30):?\s+(?:0x)?([0-9a-f]{8,16})\b")
_ADDRESS = re.compile(r"0x([0-9a-fA-F]{1,16})")
_PROCESS = re.compile(r"pid: ?(\d{1,9})\b.*|.*\bpid (\d{1,9}) \(.*", re.IGNORECASE)
_THREAD = re.compile(r"(\*)?\s*thread #?\d+\b(.*(?:\(crashed\)|received signal))?.*", re.IGNORECASE)
_HANDLER = re.compile(
    r"^(?!(?:-*>)?\s*[0-9a-f']{8,17}-[0-9a-f']{8,17} )"  # a mapping is no frame
    r".*(?:sigreturn|restore_rt|<signal handler called>|\[vdso)"
)
_SENT_CODE = re.compile(r".*signal.*\bcode:? -\d|.*\bSI_(?:USER|QUEUE|T?KILL)\b", re.IGNORECASE)
_LIKE_SIGNAL = re.compile(r"\bfatal signal|\bSIG(?:TRAP|ILL)\b|\bTRAP_BRKPT\b", re.IGNORECASE)
_DEBUGGERDS_SIGNAL = re.compile(r"signal \d{1,3} \(SIG\w+\), code ", re.ASCII)
_STACK_OF_THREAD = re.compile(r"Stack trace of thread \d+:", re.IGNORECASE)
_BEGINS_AS_JSON = re.compile(r"\s*\[?\s*\{\s*\"")
_FIRST_TAGS = frozenset({b"\x08", b"\x12", b"\x1a"})
"""The first field of a tombstone: the processor, or what follows it if that is the first one."""
_PAGE_BYTES = 4096
_TRAPS = frozenset({4, 5})
_LIKE_FRAME = re.compile(
    r"(?:.*\s)?#0{1,3}[\s:]|pc:?\s.*[/!]|(?:=> )?0x[0-9a-f]+\s+in\s", re.IGNORECASE
)
_OTHER_THREADS = re.compile(
    r"--- --- ---.*|Other thread info:.*|-+ +P R O C E S S +-+", re.IGNORECASE
)


def parse_address(text: str) -> CrashReport:
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        msg = f"--address: found {text[:40]!r}, expected an address such as 0x1a2b4"
        raise InputError(msg)
    frame = CrashFrame(pc=int(found[1], 16), file="", absolute=True)
    return CrashReport(signal=None, frames=(frame,))


def parse_report(data: bytes, *, source: str) -> CrashReport:
    """Parse a report. Raises InputError for one in which nothing says where it crashed."""
    if _is_tombstone(data):
        return parse_tombstone(data[: MAX_REPORT_BYTES + 1], source=source)
    text = _decode(data[:MAX_REPORT_BYTES])
    if text.lstrip()[:1] in ("{", "["):
        try:
            document = _parse_json(text)
            report = read_service(document)
        except (ShapeError, RecursionError) as error:
            msg = f"{source}: no JSON of a crash that can be read: {error}"
            raise InputError(msg, hint=_JSON_HINT) from None
        if report is not None:
            return report
        if document is not None:
            # An address alone is none of a report: JSON has many.
            texts = "\n".join(_texts(document)).splitlines()
            text = "\n".join(each for each in texts if _ADDRESS.fullmatch(each.strip()) is None)
    return _parse_text(text, source)


def _parse_text(text: str, source: str) -> CrashReport:
    lines = [*_lines(text)]
    bare = [line for _, line in lines]
    if is_machine_text(bare):
        found = parse_machine_text(bare)
        if isinstance(found, CrashReport):
            return found
        msg = f"{source}: a line of minidump_stackwalk -m was not understood: {found[:200]}"
        raise InputError(msg, hint=_HINT)
    return _parse_lines(lines, source)


def _parse_lines(lines: list[tuple[str, str]], source: str) -> CrashReport:
    processes: dict[str, list[_Crash]] = {}
    for process, line in lines:
        crashes = processes.setdefault(process, [_Crash()])
        if not crashes[-1].take(line):
            many = len(crashes) > MAX_CRASHES
            if many:
                crashes.pop()
            crashes.append(_Crash(many=many))
            crashes[-1].take(line)
    found = [crash for crashes in processes.values() for crash in crashes]
    framed = [crash for crash in found if crash.frames]
    # A log says of one crash first that it was, and then where.
    others = [each for each in found if not any(_is_first_of(each, one) for one in framed)]
    reports = [*framed, *(each for each in others if not each.frames)]
    done = [report for crash in reports if (report := crash.report()) is not None]
    silent = [each for each in others if {*each.signals} & _TRAPS and each.report() is None]
    if silent or any(crash.odd for crash in found):
        done = [replace(each, doubts=(*each.doubts, ODD_SIGNAL)) for each in done]
    if not done:
        unread = next((crash.unread for crash in found if crash.unread), "")
        if unread:
            msg = f"{source}: a line that looks like a frame was not understood: {unread[:200]}"
            raise InputError(msg, hint=_HINT)
        signal = next((each for crash in found for each in crash.signals), None)
        what = f"it ended with signal {signal}, " if signal else ""
        msg = f"{source}: {what}no address in it says where it crashed"
        raise InputError(msg, hint=_HINT)
    return replace(done[0], later=tuple(done[1:]))


def _is_first_of(crash: _Crash, framed: _Crash) -> bool:
    """Return whether it is what a log says first of a crash whose frames follow."""
    if crash.pid:
        return crash.pid == framed.pid
    return not crash.signals or {*crash.signals} <= {*framed.signals}


@dataclass(slots=True, kw_only=True)
class _Crash:
    pid: str = ""
    signals: list[int] = field(default_factory=list)
    frames: list[CrashFrame] = field(default_factory=list)
    _mappings: list[MappedFile] = field(default_factory=list)
    _fault: int | None = None
    _pc: int | None = None
    _addresses: list[int] = field(default_factory=list)
    _elsewhere: bool = False
    """The lines are of another thread than the one that crashed."""
    _unsure: bool = False
    _handled: bool = False
    _sent: bool = False
    _caller: int | None = None
    unread: str = ""
    odd: bool = False
    """A line that names a trap was not understood."""
    many: bool = False

    def take(self, line: str) -> bool:
        process = _PROCESS.fullmatch(line)
        pid = (process[1] or process[2]) if process else self.pid
        if self.frames and (line.startswith("***") or pid != self.pid):
            return False
        self._elsewhere = self._elsewhere or bool(process and self.frames)
        self.pid = pid
        self._enter_thread(line)
        entry = read_kernel_line(line)
        if entry is not None:
            return self._add_kernel(entry)
        if _HANDLER.search(line) and not self._elsewhere:
            self.frames = []
            self._handled = True  # those before it are the handler's
        elif _REGISTERS.fullmatch(line):
            self._read_words(line)
        elif (frame := read_frame(line)) is not None:
            return self._add(frame)
        elif not _LIKE_FRAME.match(line) and (mapping := read_mapping(line)) is not None:
            if len(self._mappings) < _MAX_MAPPINGS:
                before = self._mappings[-1].file if self._mappings else ""
                same = mapping.file == ">"  # xCrash: as in the line before
                self._mappings.append(replace(mapping, file=before) if same else mapping)
        else:
            self._read_words(line)
        return True

    def report(self) -> CrashReport | None:
        signals = {*self.signals}
        frames = self.frames
        at = self._pc
        if at is None and signals and signals <= {4, 5} and not self._sent:
            at = self._fault
        if not frames:
            if at is None and len(self._addresses) == 1 and not self.unread:
                at = self._addresses[0]
            if at is None:
                return None
            frames = [CrashFrame(pc=at, file="", absolute=True)]
        first = frames[0]
        moved = at is not None and (at - first.pc) % _PAGE_BYTES != 0
        if first.memory and not first.absolute and at is not None and not moved:
            frames = [replace(first, pc=at, absolute=True), *frames[1:]]
        unnumbered = first.number is None and len(frames) > 1
        unread = self.unread
        if first.number and not self._handled:
            unread = unread or f"{FIRST_LOST}: it begins with frame {first.number}"
        doubts = {
            FIRST_LOST: unnumbered and not self._handled,
            _IN_HANDLER: self._handled,
            SENT: self._sent and bool(signals & {4, 5}),
            ANY_THREAD: self._unsure,
            ELSEWHERE: moved and not self._handled,
            _SIGNALS_DIFFER: len(signals) > 1,
            TOO_MANY: self.many,
        }
        return CrashReport(
            signal=self.signals[0] if len(signals) == 1 else None,
            frames=tuple(frames),
            mappings=tuple(self._mappings),
            doubts=tuple(text for text, holds in doubts.items() if holds),
            caller=self._caller,
            unread=unread,
        )

    def _enter_thread(self, line: str) -> None:
        heading = _THREAD.fullmatch(line)
        crashed = heading and (heading[1] or heading[2])
        if crashed and (self._unsure or not self.frames):
            self.frames = []
            self._unsure = False
            self._elsewhere = False
        elif heading and not self.frames:
            self._unsure = True
        elif heading or _OTHER_THREADS.fullmatch(line) or self._is_next_stack(line):
            self._elsewhere = True

    def _is_next_stack(self, line: str) -> bool:
        """systemd-coredump lists the thread that crashed first."""
        return bool(self.frames) and _STACK_OF_THREAD.fullmatch(line) is not None

    def _add(self, frame: CrashFrame) -> bool:
        if self._elsewhere or len(self.frames) >= MAX_FRAMES:
            return True
        if frame.number is not None and self.frames:
            same = {each.pc for each in self.frames if each.number == frame.number}
            if same:  # some reporters write each frame twice
                return frame.number > 0 or frame.pc in same
        self.frames.append(frame)
        return True

    def _expect_no_signal(self, line: str, said: list[int]) -> None:
        """Refuse a signal behind the frames if none is before them: they are of another thread."""
        if said and not self.signals and not self.unread:
            self.unread = line

    def _add_kernel(self, entry: KernelLine) -> bool:
        if self.frames:
            return False
        self.frames.append(entry.frame)
        if entry.signal is not None:
            self.signals.append(entry.signal)
        if entry.mapping is not None:
            self._mappings.append(entry.mapping)
        return True

    def _read_words(self, line: str) -> None:
        said = [*_read_signals(line)]
        if self._elsewhere or (self.frames and _DEBUGGERDS_SIGNAL.match(line)):
            self._expect_no_signal(line, said)
        if self._elsewhere:
            return
        if not said and _LIKE_SIGNAL.search(line):
            self.odd = True
        if not self.unread and _LIKE_FRAME.match(line):
            self.unread = line
        if not self.frames:
            self.signals += said
            self._sent = self._sent or _SENT_CODE.match(line) is not None
        if self._fault is None and (fault := _FAULT.search(line)):
            self._fault = int(fault[1], 16)
        if self._pc is None and (pc := _PC.search(line)):
            self._pc = int(pc[1], 16)
        if self._caller is None and (caller := _CALLER.search(line)):
            self._caller = int(caller[1], 16)
        if (alone := _ADDRESS.fullmatch(line)) and len(self._addresses) < 2:
            self._addresses.append(int(alone[1], 16))


def _show_character(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd"


def _lines(text: str) -> Iterator[tuple[str, str]]:
    text = _COLOURS.sub("", text)
    for whole in text.replace("\\n", "\n").replace("\\t", " ").splitlines():
        # What a terminal obeys would be shown with the name of a file.
        shown = "".join(map(_show_character, whole)).lstrip(" \"'|>`")
        prefix = _PREFIX.match(shown)
        process = (prefix[1] or prefix[2]) if prefix else ""
        for part in _NEXT_FRAME.split(shown[prefix.end() :] if prefix else shown):
            line = part.strip().rstrip("\"'`,|").rstrip()
            yield process, line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}\ufffd"


def _is_tombstone(data: bytes) -> bool:
    """Return whether it is no text, but may be protobuf, which has no mark of its own."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _is_utf16(data):
        return False
    return data[:1] in _FIRST_TAGS or b"\0" in data[:_MAX_LINE]


def _is_utf16(data: bytes) -> bool:
    every_second = data[1:400:2]
    return every_second.count(0) > len(every_second) // 2


def _decode(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if _is_utf16(data):
        return data.decode("utf-16-le", "replace")
    return data.decode("utf-8-sig", "replace")


def _parse_json(text: str) -> object:
    """Return a document, or all that stand in lines of their own; None if it only begins so."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except ShapeError:
        raise
    except ValueError:
        pass
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.startswith("{") and line.endswith("}") for line in lines):
        try:
            return [json.loads(line, object_pairs_hook=_unique) for line in lines]
        except json.JSONDecodeError:
            pass
    if _BEGINS_AS_JSON.match(text):
        msg = "it begins as JSON, and is damaged or cut short"
        raise ShapeError(msg)
    return None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        msg = "an object in the JSON has a key twice"
        raise ShapeError(msg)
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for number, each in enumerate(value):
            if isinstance(each, dict) and isinstance(each.get("pc"), str) and "file" in each:
                build_id = f" (BuildId: {each['buildId']})" if each.get("buildId") else ""
                yield f"#{number:02} pc {each['pc']} {each['file']}{build_id}"
            else:
                yield from _texts(each)
    elif isinstance(value, dict):
        for key, each in sorted(value.items(), key=lambda entry: entry[0] == "threads"):
            if key == "threads":
                yield "Other thread info:"
            elif key == "signo":
                yield f"signal {each}"
            yield from _texts(each)


def _read_signals(line: str) -> Iterator[int]:
    for pattern in _SAYS_SIGNAL:
        if (found := pattern.fullmatch(line)) is not None:
            number, *names = found.groups()
            if number:
                yield int(number)
            yield from (SIGNALS[name.upper()] for name in names if name and name.upper() in SIGNALS)
            return
    yield from (number for words, number in _WORDS.items() if line.startswith(words))
