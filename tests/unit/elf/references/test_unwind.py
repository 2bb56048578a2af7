"""The entries of a linked file's unwind table."""

from __future__ import annotations

import struct

from megtrim.elf.layout import ElfLayout
from megtrim.elf.references.unwind import UnwindEntry, iter_entries
from unit.elf.made_objects import ALLOC, Part, object_file

AT = 0x4000
_FUNCTION, _EXCEPTIONS, _ROUTINE = 0x1000, 0x5000, 0x6000


def _common(letters: bytes, data: bytes) -> bytes:
    body = b"\1" + letters + b"\0" + b"\1\x78\x1e" + bytes([len(data)]) + data
    body += bytes(-len(body) % 4)
    return struct.pack("<II", 4 + len(body), 0) + body


def _entry(table: bytes, exceptions: int | None) -> bytes:
    at = len(table)
    body = struct.pack("<iI", _FUNCTION - (AT + at + 8), 16)
    if exceptions is None:
        body += b"\0"
    else:
        body += b"\4" + struct.pack("<i", exceptions - (AT + at + 17) if exceptions else 0)
    body += bytes(-len(body) % 4)
    return table + struct.pack("<II", 4 + len(body), at + 4) + body


def _read(content: bytes) -> list[UnwindEntry]:
    part = Part(name=".eh_frame", content=content, flags=ALLOC, address=AT)
    return list(iter_entries(ElfLayout(object_file((part,), (), kind=2))))


def _with_exceptions() -> bytes:
    routine = struct.pack("<Bi", 0x9B, _ROUTINE - (AT + 19))
    return _common(b"zPLR", routine + b"\x1b\x1b")


def test_an_entry_names_its_function() -> None:
    """Its size is that of the whole entry."""
    assert _read(_entry(_common(b"zR", b"\x1b"), None)) == [UnwindEntry(_FUNCTION, 20, ())]


def test_an_entry_refers_to_its_exceptions_and_their_routine() -> None:
    """Without exceptions of its own, to the routine alone."""
    (entry,) = _read(_entry(_with_exceptions(), _EXCEPTIONS))
    (other,) = _read(_entry(_with_exceptions(), 0))

    assert entry.refers_to == (_EXCEPTIONS, _ROUTINE)
    assert other.refers_to == (_ROUTINE,)


def test_tables_of_several_objects_may_follow_each_other() -> None:
    """Each may end with zeros."""
    content = _entry(_common(b"zR", b"\x1b"), None)

    assert len(_read(content + bytes(4))) == 1
    assert _read(bytes(8)) == []


def test_damage_hides_an_entry_and_no_other() -> None:
    """A length beyond the table, and an entry that has nothing in common with any."""
    content = _entry(_common(b"zR", b"\x1b"), None)

    assert _read(content + struct.pack("<II", 4000, 8)) == [UnwindEntry(_FUNCTION, 20, ())]
    assert _read(struct.pack("<IIQ", 12, 9999, 0) + content) != []
