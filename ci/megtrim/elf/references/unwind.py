"""Which function each entry of a linked file's unwind table is for, and what else it refers to.

An entry names its function by address, the table of its exceptions and, by what entries have in
common, the routine that reads that table. Pure: bytes in, addresses out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from megtrim.elf.layout import ElfLayout, PlacedSection

TABLE = ".eh_frame"
_FIELDS = struct.Struct("<II")
_LONG = 0xFFFFFFFF
_RELATIVE, _INDIRECT, _NONE = 0x10, 0x80, 0xFF
_FORMS = {0x2: "<H", 0x3: "<I", 0x4: "<Q", 0xA: "<h", 0xB: "<i", 0xC: "<q"}
"""Numbers of a fixed size, by the lower half of an encoding."""
_MOST_DIGITS = 10
_LETTERS_AT = 9


class UnwindEntry(NamedTuple):
    """One entry of the table."""

    function: int
    """Address."""
    size_bytes: int
    refers_to: tuple[int, ...]
    """Addresses of its table of exceptions, and of the routine or the place that names it."""


class _Common(NamedTuple):
    """What several entries have in common."""

    function: int
    """How an entry encodes the address of its function."""
    exceptions: int
    routine: tuple[int, ...]
    sized: bool
    """An entry has a field with the size of what compilers add."""


def iter_entries(layout: ElfLayout) -> Iterator[UnwindEntry]:
    """Yield the entries of every function; what is damaged or encoded otherwise is left out."""
    for section in layout.sections:
        if section.name == TABLE and section.in_memory:
            yield from _Table(layout, section).entries()


class _Table:
    """One section with such entries."""

    def __init__(self, layout: ElfLayout, section: PlacedSection) -> None:
        self._content = layout.content(section)
        self._address = section.address
        self._word = "<Q" if layout.is_wide else "<I"

    def entries(self) -> Iterator[UnwindEntry]:
        known: dict[int, _Common | None] = {}
        at = 0
        while at + _FIELDS.size <= len(self._content):
            size_bytes, back = _FIELDS.unpack_from(self._content, at)
            end = at + 4 + size_bytes
            if size_bytes in {0, _LONG} or end > len(self._content):
                at += 4  # the end of one object's entries, with others after it
                continue
            if back:
                first = at + 4 - back
                if first not in known:
                    known[first] = self._read_common(first)
                if (common := known[first]) is not None:
                    yield from self._read_entry(at, end, common)
            at = end

    def _read_entry(self, at: int, end: int, common: _Common) -> Iterator[UnwindEntry]:
        function, place = self._number(at + _FIELDS.size, end, common.function)
        _, place = self._number(place, end, common.function)
        if function is None or place >= end:
            return
        found = common.routine
        if common.sized and common.exceptions != _NONE:
            raw = self._content[self._skip_number(place, end) :][:8]
            exceptions, _ = self._number(self._skip_number(place, end), end, common.exceptions)
            if exceptions is not None and any(raw):
                found = (exceptions, *found)
        yield UnwindEntry(function, end - at, found)

    def _read_common(self, at: int) -> _Common | None:
        """Read what entries have in common; None: damaged, or of a kind that no compiler writes."""
        if at < 0 or at + _LETTERS_AT > len(self._content):
            return None
        size_bytes, back = _FIELDS.unpack_from(self._content, at)
        end = at + 4 + size_bytes
        if back or end > len(self._content):
            return None
        letters_end = self._content.find(b"\0", at + _LETTERS_AT, end)
        if letters_end < 0:
            return None
        letters = self._content[at + _LETTERS_AT : letters_end]
        place = letters_end + 1
        for _ in range(4):  # two alignments, a register, and the size of what follows
            place = self._skip_number(place, end)
        function, exceptions = 0, _NONE
        routine: tuple[int, ...] = ()
        for letter in letters[1:]:
            if place >= end:
                return None
            encoding, place = self._content[place], place + 1
            if letter == ord("R"):
                function = encoding
            elif letter == ord("L"):
                exceptions = encoding
            elif letter == ord("P"):
                address, place = self._number(place, end, encoding)
                routine = () if address is None else (address,)
            else:
                place -= 1  # a letter without a value: of a signal handler, or of a key
        return _Common(function, exceptions, routine, letters.startswith(b"z"))

    def _number(self, place: int, end: int, encoding: int) -> tuple[int | None, int]:
        """Return the address that is encoded at a place, and the place after it."""
        form = self._word if encoding & 0xF == 0 else _FORMS.get(encoding & 0xF)
        if form is None or encoding == _NONE or place + struct.calcsize(form) > end:
            return None, end
        (value,) = struct.unpack_from(form, self._content, place)
        relative = encoding & ~_INDIRECT & 0x70 == _RELATIVE
        after = place + struct.calcsize(form)
        return int(value) + (self._address + place if relative else 0), after

    def _skip_number(self, at: int, end: int) -> int:
        """Return the offset after a number whose bytes have 7 bits each."""
        for place in range(at, min(at + _MOST_DIGITS, end)):
            if self._content[place] < 0x80:
                return place + 1
        return end
