"""Words of a linked file that hold addresses: the loader's table of them, and bits instead of rows.

A row of that table has three words (two on 32-bit Arm) for a word that holds only how far the file
lies from where it was linked. A bit for each word says as much; the word then holds the address as
it was linked, or beyond the bit of :func:`mark_imported` the number of a row that stays and finds a
name in another file. Pure.
"""

import struct
from collections.abc import Iterator, Mapping

from megtrim.libs.elf.layout import RELATIVE, ElfLayout, PlacedSection, refuse
from megtrim.libs.util.value import Value

_ROW = struct.Struct("<QQq")
_BARE_ROW = struct.Struct("<II")
_WORDS = {8: struct.Struct("<Q"), 4: struct.Struct("<I")}


class DividedWords(Value):
    word: struct.Struct
    rows: bytes
    """What the loader still fills in."""
    relative: int
    """How many of the rows are alike and come first."""
    words: Mapping[int, int]
    """By address, what the words behind the bits hold."""
    added: Mapping[int, int]
    """By address, what the words for names hold before the loader fills them in."""

    def bits(self, within: range) -> bytes:
        """Return a bit for each word of ``within``, the lowest first."""
        out = bytearray(-(-len(within) // (8 * self.word.size)))
        for address in self.words:
            if address in within:
                number = (address - within.start) // self.word.size
                out[number // 8] |= 1 << number % 8
        return bytes(out)


def word_of(layout: ElfLayout) -> struct.Struct:
    """Return a word of the file's machine, as it stands in memory."""
    return _WORDS[8 if layout.is_wide else 4]


def mark_imported(word: struct.Struct) -> int:
    """Return the bit of a word that no address within a file has."""
    return 1 << (8 * word.size - 1)


def leave_words(layout: ElfLayout) -> DividedWords:
    """Return what a file without such a table is divided into."""
    return DividedWords(word=word_of(layout), rows=b"", relative=0, words={}, added={})


def divide(
    layout: ElfLayout, table: PlacedSection, own: range, late: range, imports: range
) -> DividedWords:
    """Take the words in ``late`` out of the loader's table, and those in ``own`` that need no name.

    ``imports`` are the addresses of words for names that ``late`` needs. Raises ValueError.
    """
    relative = RELATIVE[layout.machine]
    word = word_of(layout)
    first: list[bytes] = []
    others: list[bytes] = []
    words: dict[int, int] = {}
    names: dict[tuple[int, int], int] = {}
    for place, kind, addend, row in _iter_rows(layout, table):
        if place in late and place % word.size:
            refuse("an address between two words")
        if kind == relative and (place in late or (place in own and not place % word.size)):
            words[place] = addend
        elif place in late:
            words[place] = mark_imported(word) | names.setdefault((kind, addend), len(names))
        elif kind == relative:
            first.append(row)
        else:
            others.append(row)
    if len(names) > len(imports) // word.size:
        refuse(f"its rest refers to {len(names)} names in other files")
    found = []
    added = {}
    for (kind, addend), number in names.items():
        place = imports.start + number * word.size
        if layout.is_wide:
            found.append(_ROW.pack(place, kind, addend))
        else:
            found.append(_BARE_ROW.pack(place, kind))
            added[place] = addend
    return DividedWords(
        word=word,
        rows=b"".join((*first, *found, *others)),
        relative=len(first),
        words=words,
        added=added,
    )


def _iter_rows(layout: ElfLayout, table: PlacedSection) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield place, kind, addend and the row itself. Bare rows have their addends in the words that
    they are for.
    """
    content = layout.content(table)
    if layout.is_wide:
        for at, (place, kind, addend) in enumerate(_ROW.iter_unpack(content)):
            yield place, kind, addend, content[_ROW.size * at :][: _ROW.size]
        return
    word = word_of(layout)
    for at, (place, kind) in enumerate(_BARE_ROW.iter_unpack(content)):
        held = layout.at_address(place, word.size)
        addend = word.unpack(held)[0] if len(held) == word.size else 0
        yield place, kind, addend, content[_BARE_ROW.size * at :][: _BARE_ROW.size]
