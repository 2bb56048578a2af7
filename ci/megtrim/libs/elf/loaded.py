"""Whether two linked files are one once they are loaded, such as before and after a strip. Pure.

Tools that strip write the headers anew, move what lies in the file, and fill what lies between two
sections with zeros. All else that is loaded has to stay: what a segment is, where it lies, how
much memory it takes, and its bytes, among them the build id, relocations and dynamic symbols.
"""

import re
from itertools import zip_longest

from megtrim.libs.elf.layout import (
    DAMAGE,
    LOADED,
    MACHINES,
    ElfHeader,
    ElfLayout,
    Segment,
    parse_build_id,
)

_NOTHING = 0
"""Kind of a segment that says nothing; tools that strip leave it out."""
_NAMES = {1: "LOAD", 2: "DYNAMIC", 3: "INTERP", 4: "NOTE", 6: "PHDR", 7: "TLS"}
_GNU_NAMES = {0x6474E550: "GNU_EH_FRAME", 0x6474E551: "GNU_STACK", 0x6474E552: "GNU_RELRO"}
_TARGETS = (
    (re.compile(r"aarch64|arm64"), "aarch64"),
    (re.compile(r"x86_64|amd64"), "x86_64"),
    (re.compile(r"(?:arm|thumb)(?:v[0-9].*)?"), "armv7l"),
    (re.compile(r"i[3-6]86"), "i686"),
    (re.compile(r"riscv64.*"), "riscv64"),
)
"""Machines as ``uname -m`` prints them, by the first part of a target."""


def find_difference(released: bytes, found: bytes) -> str:
    """Return how ``found`` differs from the file that was ``released``; empty: only by a strip."""
    try:
        before = ElfHeader(released)
        after = ElfHeader(found)
    except DAMAGE:
        return "it is not an intact ELF file"
    if before.form != after.form:
        return "it is for another machine, or another kind of file"
    own_id = parse_build_id(released)
    build_id = parse_build_id(found)
    if own_id != build_id:
        return f"its build id is {build_id or 'not there'}, expected {own_id or 'none'}"
    if (before.entry, before.flags) != (after.entry, after.flags):
        return "its header has another entry point or other flags"
    return _compare_segments(before, after) or _compare_contents(released, found, before, after)


def find_foreign(data: bytes, target: str) -> str:
    """Return why a file is no program or library that is linked for ``target``; empty: it is one.

    ``target`` is what a compiler calls it, such as ``aarch64-linux-gnu``.
    """
    try:
        header = ElfHeader(data)
    except DAMAGE:
        return "it is not an intact ELF file"
    if not header.is_linked:
        return "it is an ELF file that was not linked"
    name = target.partition("-")[0]
    expected = next((each for form, each in _TARGETS if form.fullmatch(name)), "")
    machine = MACHINES.get(header.machine, f"machine {header.machine}")
    if not expected:
        return f"{target!r} is no target of which the machine is known"
    if machine != expected:
        return f"it is for {machine}, expected {expected}"
    return ""


def find_other_code(program: bytes, twin: bytes) -> str:
    """Return how a ``twin`` with symbols has other code than the program; empty: it has the same.

    A linker may have made each of them, with a build id of its own.
    """
    try:
        before = ElfHeader(program)
        after = ElfHeader(twin)
        if before.form != after.form:
            return "it is for another machine, or another kind of file"
        if _list_code(program, before) != _list_code(twin, after):
            return "it contains other code"
    except DAMAGE:
        return "it is not an intact ELF file"
    return ""


def _list_code(data: bytes, header: ElfHeader) -> list[tuple[int, bytes]]:
    return [
        (each.address, _content(data, header, each))
        for each in header.segments
        if each.kind == LOADED and each.flags & 1
    ]


def _compare_segments(before: ElfHeader, after: ElfHeader) -> str:
    pairs = zip_longest(_list_segments(before), _list_segments(after))
    for number, (own, other) in enumerate(pairs, 1):
        if own is None:
            return f"it has a further segment, {_name(other)}"
        if other is None:
            return f"its segment {number}, {_name(own)}, is missing"
        facts = (
            ("is of the kind", own.kind, other.kind),
            ("has the flags", own.flags, other.flags),
            ("lies at", own.address, other.address),
            ("takes bytes of the file:", own.size_bytes, other.size_bytes),
            ("takes bytes of memory:", own.memory_bytes, other.memory_bytes),
            ("is aligned to", _alignment(own), _alignment(other)),
        )
        for what, first, second in facts:
            if first != second:
                segment = f"its segment {number}, {_name(own)}"
                return f"{segment}, {what} {second:#x}, expected {first:#x}"
    return ""


def _list_segments(header: ElfHeader) -> list[Segment]:
    return [each for each in header.segments if each.kind != _NOTHING]


def _alignment(segment: Segment) -> int:
    return segment.alignment if segment.kind == LOADED else 0


def _name(segment: Segment) -> str:
    kind = segment.kind
    return _NAMES.get(kind) or _GNU_NAMES.get(kind) or f"of kind {kind:#x}"


def _compare_contents(released: bytes, found: bytes, before: ElfHeader, after: ElfHeader) -> str:
    """The kernel takes the path of the loader from the file, so what is not loaded counts, too."""
    places = zip(_list_segments(before), _list_segments(after), strict=True)
    for number, (own, other) in enumerate(places, 1):
        name = f"its segment {number}, {_name(own)},"
        if own.kind == LOADED and (other.offset - own.offset) % max(own.alignment, 1):
            return f"{name} is at another place of its page in the file"
        first = bytearray(_content(released, before, own))
        second = _content(found, after, other)
        if first != second:
            _clear_gaps(first, second, released, own)
        if len(first) != len(second):
            return f"{name} is cut off"
        if first != second:
            pairs = enumerate(zip(first, second, strict=True))
            at = next(at for at, (one, two) in pairs if one != two)
            return f"{name} has other bytes from {own.address + at:#x} on"
    return ""


def _content(data: bytes, header: ElfHeader, segment: Segment) -> bytes:
    """Return what is loaded, with zeros for the file's header and that of its segments."""
    content = bytearray(data[segment.offset : segment.offset + segment.size_bytes])
    for start, end in ((0, header.header_bytes), header.segment_headers):
        first = max(start - segment.offset, 0)
        last = min(end - segment.offset, len(content))
        if first < last:
            content[first:last] = bytes(last - first)
    return bytes(content)


def _clear_gaps(first: bytearray, second: bytes, released: bytes, segment: Segment) -> None:
    """Clear in ``first`` what lies between sections and is zero in ``second``."""
    try:
        sections = ElfLayout(released).sections
    except DAMAGE:
        return
    held = sorted(
        (each.address - segment.address, each.address - segment.address + each.file_bytes)
        for each in sections
        if each.in_memory
    )
    behind = 0
    for start, end in (*held, (len(first), len(first))) if held else ():
        if behind < start <= len(first) and not any(second[behind:start]):
            first[behind:start] = bytes(start - behind)
        behind = max(behind, end)
