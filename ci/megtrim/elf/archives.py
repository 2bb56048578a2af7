"""Static archives: their members by name, and what lies between them.

GNU's form and BSD's; a thin archive has no members of its own and is refused. Pure: bytes in,
values out. A damaged archive raises ValueError or struct.error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

ARCHIVE_MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
"""Of an archive that names its members and does not contain them."""
_HEADER = struct.Struct("<16s32x10s2s")
_END = b"`\n"
_INDICES = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")


class MemberKind(Enum):
    """What a member of an archive is for."""

    FILE = auto()
    INDEX = auto()
    """Which member defines which symbol."""
    NAMES = auto()
    """The names that are too long for a member's header."""


class ArchiveMember(NamedTuple):
    """One member; offsets are from the archive's first byte."""

    name: str
    kind: MemberKind
    header: int
    start: int
    """Offset of its content."""
    end: int


def iter_members(data: bytes | memoryview) -> Iterator[ArchiveMember]:
    """Yield every member of an archive, in order."""
    if data[: len(ARCHIVE_MAGIC)] != ARCHIVE_MAGIC:
        msg = "not an archive, or a thin one"
        raise ValueError(msg)
    at, long_names = len(ARCHIVE_MAGIC), b""
    while at < len(data):
        field, digits, mark = _HEADER.unpack_from(data, at)
        start = at + _HEADER.size
        end = start + _number(digits)
        if mark != _END or end > len(data):
            msg = "a damaged archive"
            raise ValueError(msg)
        raw, kind = field.rstrip(), MemberKind.FILE
        if raw.startswith(b"#1/"):
            length = _number(raw[3:])
            if start + length > end:
                msg = "a name that is longer than its member"
                raise ValueError(msg)
            raw, start = bytes(data[start : start + length]).rstrip(b"\0"), start + length
        elif raw == b"//":
            kind, long_names = MemberKind.NAMES, bytes(data[start:end])
        elif raw[:1] == b"/" and raw[1:].isdigit():
            name_at = _number(raw[1:])
            raw = long_names[name_at : long_names.index(b"/\n", name_at)]
        if raw in _INDICES:
            kind = MemberKind.INDEX
        name = raw.removesuffix(b"/").decode("utf-8", "backslashreplace")
        yield ArchiveMember(name, kind, at, start, end)
        at = end + end % 2


def _number(digits: bytes) -> int:
    text = digits.rstrip()
    if not text.isdigit():
        msg = "a damaged archive"
        raise ValueError(msg)
    return int(text)
