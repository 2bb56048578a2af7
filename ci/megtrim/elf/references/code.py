"""What a linked file's machine code refers to, in a file without the linker's relocations.

aarch64: branches, and an address that is made from a page and what follows within a few
instructions. x86-64, where instructions have no fixed size: every byte that could begin a call, a
jump, or an operand relative to the instruction; some of these are none. Other machines: nothing.
Pure: bytes in, addresses out.
"""

from __future__ import annotations

import numpy as np

from megtrim.elf.layout import EXECUTED, NO_BITS, ElfLayout, PlacedSection
from megtrim.elf.references.relocations import Addresses, References, join_references

_AARCH64, _X86_64 = 183, 62
_PAGE = 0xFFF
_WITHIN = 6
"""Instructions between a page and the rest of the address."""


def read(layout: ElfLayout) -> References:
    """Return the place of each instruction that refers to an address, and that address."""
    how = {_AARCH64: _read_aarch64, _X86_64: _read_x86_64}.get(layout.machine)
    return join_references(
        [
            how(layout.content(each), each)
            for each in layout.sections
            if how and each.in_memory and each.flags & EXECUTED and each.kind != NO_BITS
        ]
    )


def _read_aarch64(content: bytes, section: PlacedSection) -> References:
    words = np.frombuffer(content[: len(content) & ~3], "<u4").astype(np.int64)
    places = section.address + 4 * np.arange(len(words), dtype=np.int64)
    branches = words & 0x7C000000 == 0x14000000
    targets = places[branches] + 4 * _sign(words[branches] & 0x3FFFFFF, 26)
    found = [References(places[branches], targets)]
    near = words & 0x9F000000 == 0x10000000  # adr
    distance = (words >> 5 & 0x7FFFF) << 2 | words >> 29 & 3
    found.append(References(places[near], places[near] + _sign(distance[near], 21)))
    pages = words & 0x9F000000 == 0x90000000  # adrp
    base = (places & ~_PAGE) + (_sign(distance, 21) << 12)
    register = words & 31
    for behind in range(1, _WITHIN + 1):
        ahead = np.roll(words, -behind)
        ahead[-behind:] = 0
        same = pages & (ahead >> 5 & 31 == register)
        added = same & (ahead & 0xFFC00000 == 0x91000000)
        found.append(References(places[added], base[added] + (ahead[added] >> 10 & _PAGE)))
        loaded = same & (ahead & 0x3B000000 == 0x39000000)
        scale = ahead >> 30 & 3
        offset = (ahead >> 10 & _PAGE) << scale
        found.append(References(places[loaded], base[loaded] + offset[loaded]))
    return join_references(found)


def _read_x86_64(content: bytes, section: PlacedSection) -> References:
    octets = np.frombuffer(content, "u1").astype(np.int64)
    count = len(octets) - 5
    if count <= 0:
        return join_references([])
    one, two = octets[:count], octets[1 : count + 1]
    calls = (one & 0xFE == 0xE8) | ((one == 0x0F) & (two & 0xF0 == 0x80))
    # An operand relative to the instruction's end, where no constant follows it.
    operands = (two & 0xC7 == 5) & np.isin(one, (0x8D, 0x8B, 0x89, 0xFF, 0x3B, 0x39, 0x03, 0x63))
    found = []
    for chosen, behind in ((calls, np.where(one == 0x0F, 2, 1)), (operands, one * 0 + 2)):
        at = np.flatnonzero(chosen)
        place = at + behind[at]
        inside = place + 4 <= len(octets)
        at, place = at[inside], place[inside]
        raw = octets[place] | octets[place + 1] << 8 | octets[place + 2] << 16
        raw |= octets[place + 3] << 24
        targets = section.address + place + 4 + _sign(raw, 32)
        found.append(References(section.address + at, targets))
    return join_references(found)


def _sign(values: Addresses, bits: int) -> Addresses:
    """Return values of so many bits as numbers with a sign."""
    return values - ((values >> (bits - 1) & 1) << bits)
