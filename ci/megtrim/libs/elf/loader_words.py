"""Words of a linked file that hold addresses: the loader's table of them, and bits instead of rows.

A row of that table has 24 bytes for a word that holds only how far the file lies from where it was
linked. A bit for each word says as much; the word then holds the address as it was linked, or
beyond :data:`IMPORTED` the number of a row that stays and finds a name in another file. Pure.
"""

import struct
from collections.abc import Mapping

from megtrim.libs.elf.layout import RELATIVE, ElfLayout, PlacedSection, refuse
from megtrim.libs.util.value import Value

_ROW = struct.Struct("<QQq")
WORD_BYTES = 8
IMPORTED = 1 << 63


class DividedWords(Value):
    rows: bytes
    """What the loader still fills in."""
    relative: int
    """How many of the rows are alike and come first."""
    words: Mapping[int, int]
    """By address, what the words behind the bits hold."""

    def bits(self, within: range) -> bytes:
        """Return a bit for each word of ``within``, the lowest first."""
        out = bytearray(-(-len(within) // (8 * WORD_BYTES)))
        for address in self.words:
            if address in within:
                number = (address - within.start) // WORD_BYTES
                out[number // 8] |= 1 << number % 8
        return bytes(out)


def divide(
    layout: ElfLayout, table: PlacedSection, own: range, late: range, imports: range
) -> DividedWords:
    """Take the words in ``late`` out of the loader's table, and those in ``own`` that need no name.

    ``imports`` are the addresses of words for names that ``late`` needs. Raises ValueError.
    """
    relative = RELATIVE[layout.machine]
    first: list[bytes] = []
    others: list[bytes] = []
    words: dict[int, int] = {}
    names: dict[tuple[int, int], int] = {}
    for place, kind, addend in _ROW.iter_unpack(layout.content(table)):
        if place in late and place % WORD_BYTES:
            refuse("an address between two words")
        if kind == relative and (place in late or (place in own and not place % WORD_BYTES)):
            words[place] = addend
        elif place in late:
            words[place] = IMPORTED | names.setdefault((kind, addend), len(names))
        elif kind == relative:
            first.append(_ROW.pack(place, kind, addend))
        else:
            others.append(_ROW.pack(place, kind, addend))
    if len(names) > len(imports) // WORD_BYTES:
        refuse(f"its rest refers to {len(names)} names in other files")
    found = [
        _ROW.pack(imports.start + number * WORD_BYTES, kind, addend)
        for (kind, addend), number in names.items()
    ]
    return DividedWords(rows=b"".join((*first, *found, *others)), relative=len(first), words=words)
