"""The shapes in which reporters write a frame, a build id and a mapping: one table of each.

A line is a frame if it is one of `FRAMES` from its beginning to its end. What stands behind a path
is one of `_GROUPS`, and the path is one; otherwise the frame is not ``whole``, and says nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from megtrim.libs.util.value import Value
from megtrim.ship.crashes.build_ids import plain_id

_FLAGS = re.ASCII | re.IGNORECASE
_NUMBER = r"#?(?P<number>\d{1,3})[:\s]\s*"
_HEX = r"[0-9a-f]{1,16}"
_PC = rf"0x(?P<pc>{_HEX})"
_PROCESS_PC = rf"0x(?P<absolute>{_HEX})"


FRAMES: Final = {
    "tombstones, logcat, Bugly, OpenHarmony, xCrash, Play, Crashlytics": (
        # A debugger prints the register `pc` with its value twice.
        rf".*?(?:{_NUMBER})?(?<![\w(])pc:?\s+(?:0x)?(?P<pc>{_HEX})\s+(?!0x)(?P<rest>\S.*)"
    ),
    "sanitizers": (
        rf"#(?P<number>\d{{1,3}})\s+0x(?P<address>{_HEX})\s+(?:in\s.{{1,999}}?)?"
        rf"\((?P<file>[^()]+)\+{_PC}\)(?P<rest>.*)"
    ),
    "gdb": (
        # A function and its arguments have no path but in quotation marks.
        rf"(?:#(?P<number>\d{{1,3}})\s+)?(?:=> )?{_PROCESS_PC}\s+in\s"
        r"(?:[^\"/]|\"[^\"]*\"|operator/){1,1000}?(?: from (?P<file>\S+)| at \S+:\d+)?"
    ),
    # A module is what stands in parentheses; before it is a symbol, or `n/a`.
    "systemd-coredump": (
        rf"#(?P<number>\d{{1,3}})\s+0x(?P<address>{_HEX})\s+\S.{{0,1000}}?\s"
        rf"\((?P<file>[^()+]+) \+ 0x(?P<within>{_HEX})\)"
    ),
    # A bare word may be the name of a function.
    "ndk-stack": (rf"#(?P<number>\d{{1,3}})\s+{_PC}\s+(?=/|<|\[|\S+\.(?:so|apk)\b)(?P<rest>\S.*)"),
    "lldb": (
        rf"(?:\*\s*)?frame #(?P<number>\d{{1,3}}):\s+{_PROCESS_PC}\s+(?P<file>[^\s`]+)"
        r"(?:`.*|\s\+\s.*)?"
    ),
    # Behind an exclamation mark is a function, from which the number counts, or a file in an APK.
    "Breakpad": (rf"(?P<number>\d{{1,3}})\s+(?P<file>(?:[^\s+!]+\.apk!)?[^\s+!]+)\s+\+\s+{_PC}"),
    # It has the frame twice, the second time with those that called it.
    "HotSpot": rf"#\s+C\s+\[(?P<file>[^\s\]+]+)\+{_PC}\](?:\s.*)?",
    "Crashlytics": rf"{_NUMBER}(?=\S*\.so)(?P<file>[^\s#]+)\s+{_PC}(?P<rest>(?:\s.*)?)",
}
"""How reporters write a frame: ``pc`` is an address of the file, ``absolute`` of the process.

``within`` counts from where the file begins in memory, and ``address`` is that of the process, too.
``rest`` is what stands behind them: the file, and groups in parentheses and brackets.
"""
_SHAPES = tuple(re.compile(frame, _FLAGS) for frame in FRAMES.values())
_ID = r"(?P<id>[0-9a-f-]{8,128})"
_GROUPS = tuple(
    re.compile(each, _FLAGS)
    for each in (
        rf"\((?:Missing )?Build ?Id:? ?{_ID}(?:\. FileSize: .*)?\)",
        r"\((?P<id>[0-9a-f]{16,64})\)",
        # Bugly: the processor, perhaps the version of the library, the build id.
        r"\[(?:arm|x86|mips|riscv)[\w-]*(?::[\w.]*(?::(?P<id>[0-9a-f]*))?)?\]",
        r"\[\d[\d.]*\]",
        rf"\(offset (?:0x)?(?P<offset>{_HEX})\)",
        r"\(deleted\)",
        # A name of a function: it has no label, and is no word with a number.
        r"\((?!(?:Missing )?Build ?Id|[\w ]{1,24}[:= ] ?(?:0x)?[0-9a-f]{1,128}\)|[^()]*\w: ).*\)",
    )
)
_NAME = re.compile(r"[^\s\ufffd:;,()\[\]<>\"'`|*?\\]+")
_MEMORY = re.compile(
    r"<(?:unknown|anonymous(?::(?P<start>[0-9a-f]{1,16}))?)>"
    r"|/memfd:\S.*|/dev/ashmem/\S.*"
    r"|\[(?:anon[:_]|anon\b|vdso|vsyscall|vectors|sigpage|stack|heap|uprobes)[^\]]*\]",
    _FLAGS,
)
"""What stands where a file would, if the code was in memory of no file."""
_NO_MODULE = "n/a"
"""What systemd-coredump calls the module of code outside of files."""
_LOADED = tuple(
    re.compile(each, _FLAGS)
    for each in (
        # xCrash and the like; lldb's `image list`; Breakpad's modules; lists of ids and files.
        rf"(?P<file>\S.*?) \(Build ?Id: ?{_ID}[.)].*",
        rf"\[ *\d{{1,5}}\] {_ID} 0x(?P<start>{_HEX}) (?P<file>\S.*?)(?: \(0x{_HEX}\))?",
        rf"0x(?P<start>{_HEX}) - 0x(?P<end>{_HEX})\s+(?P<file>\S+)\s.*",
        r"(?P<file>\S+?):?\s(?:.{0,200}\s)?Build ?ID(?:\[\w+\])?[:=] ?(?P<id>[0-9a-f]{8,128})\b.*",
        rf"(?:Found )?module (?P<file>\S+)(?: from .*)? with build-id:? {_ID}\.?",
        r"(?P<file>\S+?):?\s+(?P<id>[0-9a-f]{32,64})",
        r"(?P<id>[0-9a-f]{32,64})\s+(?P<file>\S+)",
    )
)
_MAPS = (
    re.compile(
        rf"(?P<start>{_HEX})-(?P<end>{_HEX}) (?P<rights>[r-][w-][x-])[ps-] (?P<offset>{_HEX}) "
        r"[0-9a-f]{2,5}:[0-9a-f]{2,5} \d{1,20}\s*(?P<rest>\S.*)?"
    ),
    re.compile(
        r"(?:-*>)?\s*(?P<start>[0-9a-f']{8,17})-(?P<end>[0-9a-f']{8,17}) (?P<rights>[r-][w-][x-])"
        rf"\S?\s+(?P<offset>{_HEX})\s+{_HEX}\s*(?P<rest>\S.*)?"
    ),
)
_LAST = (1 << 64) - 1
_MAX_GROUPS = 16
_LONGEST_NAME = 1000


class CrashFrame(Value):
    pc: int
    file: str
    """``APK!NAME`` for one in an APK; empty: not known."""
    build_id: str = ""
    offset: int = 0
    """Where the mapping begins in the file, as older reports say it."""
    absolute: bool = False
    """An address of the process; otherwise one of the file."""
    number: int | None = None
    text: str = ""
    whole: bool = True
    address: int | None = None
    """That of the process, of a line that has both."""
    within: bool = False
    """``pc`` counts from where the file begins in memory."""
    memory: str = ""
    """What it is called, if the code was in memory of no file; then ``pc``, if it is not absolute,
    counts from where a mapping begins."""


class MappedFile(Value):
    start: int
    end: int
    """Exclusive; 0: the report says nothing of the place."""
    offset: int | None
    """Where it begins in the file; None: the whole file begins at ``start``."""
    file: str
    build_id: str = ""
    executable: bool = True
    of_code: bool = False
    """It begins with the page of a segment of code, wherever that is in the file."""


def read_frame(line: str) -> CrashFrame | None:
    found = next((each for shape in _SHAPES if (each := shape.fullmatch(line))), None)
    return _frame(found.groupdict()) if found else None


def read_mapping(line: str) -> MappedFile | None:
    for pattern in (*_MAPS, *_LOADED):
        found = pattern.fullmatch(line)
        if found is not None:
            return _mapping(found.groupdict(), exclusive=pattern is _MAPS[0])
    return None


def printable(text: str) -> str:
    """Return a name that no terminal obeys, of a bounded length."""
    if len(text) > _LONGEST_NAME:
        text = f"{text[:_LONGEST_NAME]}\ufffd"
    return "".join(each if each.isprintable() else "\ufffd" for each in text)


def memory_name(file: str) -> str:
    """Return the name again if it is that of memory without a file; otherwise nothing."""
    return file if _MEMORY.fullmatch(file) else ""


def is_clean_path(file: str) -> bool:
    """Return whether it is an absolute path, or a name alone; both may be of a file in an APK."""
    name = re.split(r"[/!]", file)[-1]
    if "\ufffd" in file or _NAME.fullmatch(name) is None:
        return False
    if file.startswith("/"):
        return True
    return "/" not in file.partition("!")[0] and re.search(r"\s", file) is None


def _mapping(found: Mapping[str, str | None], *, exclusive: bool) -> MappedFile:
    said = {name: text or "" for name, text in found.items()}
    start = said.get("start", "").replace("'", "")
    end = said.get("end", "").replace("'", "")
    last = _LAST if start else 0
    if end:
        last = int(end, 16)
    if end and not exclusive:
        last += 1
    file = said.get("file", "")
    build_id = plain_id(said.get("id", ""))
    if "rest" in said:
        file, groups, _ = _split(said["rest"])
        build_id = groups.get("id", build_id)
    return MappedFile(
        start=int(start or "0", 16),
        end=last,
        offset=int(said["offset"], 16) if "offset" in said else None,
        file=file,
        build_id=build_id,
        executable="rights" not in said or said["rights"][2] == "x",
    )


def _frame(said: Mapping[str, str | None]) -> CrashFrame:
    named = said.get("file")
    text = said.get("rest") or ""
    file, groups, whole = _split(text)
    if named is not None:
        whole = whole and not file
        file = named
        text = named + text
    number = said.get("number")
    address = said.get("address")
    frame = CrashFrame(
        pc=int(said.get("pc") or said.get("within") or said.get("absolute") or "0", 16),
        file=file,
        build_id=groups.get("id", ""),
        offset=int(groups.get("offset", "0"), 16),
        absolute="absolute" in said,
        number=int(number) if number else None,
        text=text,
        whole=whole,
        address=int(address, 16) if address else None,
        within="within" in said,
    )
    memory = _MEMORY.fullmatch(file)
    if memory is not None:
        return _in_memory(frame, memory)
    if file == _NO_MODULE and frame.address is not None:
        return replace(frame, pc=frame.address, file="", absolute=True, within=False, memory=file)
    if not file:
        return replace(frame, absolute=True)
    return frame if is_clean_path(file) else replace(frame, whole=False)


def _in_memory(frame: CrashFrame, memory: re.Match[str]) -> CrashFrame:
    """Return the frame of code outside of files: at an address of the process where that is known.

    Newer tombstones count from where the mapping begins, older ones do not.
    """
    name = memory[0]
    start = int(memory["start"] or "0", 16)
    pc = frame.pc if frame.address is None else frame.address
    known = frame.absolute or frame.address is not None or bool(start) or name == "<unknown>"
    if start and pc < start:
        pc += start
    return replace(frame, pc=pc, file="", absolute=known, within=False, memory=name)


def _split(text: str) -> tuple[str, dict[str, str], bool]:
    """Return a path, what the groups behind it say, and whether each of them was understood."""
    said: dict[str, str] = {}
    whole = True
    text = text.strip()
    for _ in range(_MAX_GROUPS):
        start = _last_group(text)
        if start is None or memory_name(text):
            break
        values = _read_group(text[start:])
        whole = whole and values is not None and not said.keys() & values.keys()
        said = (values or {}) | said
        text = text[:start].rstrip()
    if "id" in said:
        said["id"] = plain_id(said["id"])
    return text, said, whole


def _read_group(text: str) -> dict[str, str] | None:
    for pattern in _GROUPS:
        found = pattern.fullmatch(text)
        if found is not None:
            return {name: value for name, value in found.groupdict().items() if value}
    return None


def _last_group(text: str) -> int | None:
    """Return where the parenthesis or bracket begins with which the text ends."""
    openings = {")": "(", "]": "["}
    closing = text[-1:]
    if closing not in openings:
        return None
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        if text[at] == closing:
            depth += 1
        elif text[at] == openings[closing]:
            depth -= 1
        if not depth:
            return at
    return None
