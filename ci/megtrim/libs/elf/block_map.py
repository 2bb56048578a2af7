"""The blocks of a linked file's functions, from the map that clang writes for each.

``-fbasic-block-address-map`` writes it to a section that is not loaded. A block runs from its first
instruction to its last; its number is what a list for ``-fbasic-block-sections`` names it by. Pure.
"""

import struct
from collections.abc import Iterator

from megtrim.libs.elf.layout import DAMAGE, ElfLayout, make_damage_error, refuse
from megtrim.libs.util.value import Value

MAP_FLAG = "-fbasic-block-address-map"
MAP_SECTION = ".llvm_bb_addr_map"
_VERSIONS = range(2, 6)
"""LLVM 17 to 22 write these."""
_WIDE_FEATURES = 5
"""The first version with two bytes of features."""
_ADDRESS = struct.Struct("<Q")
_RANGES = 0x08
_NO_BLOCKS = 0x10
_CALL_SITES = 0x20
_KNOWN = _RANGES | _NO_BLOCKS | _CALL_SITES
"""Features of an entry; others add fields whose size is not known here."""
_MOST_BITS = 64
_HINT = "expected a program as lld links it from objects of clang's, not stripped"


class Block(Value):
    number: int
    address: int
    size_bytes: int
    traits: int
    """Bits: it returns, calls last, is where exceptions land, falls through, jumps by a table."""


class MappedFunction(Value):
    address: int
    blocks: tuple[Block, ...]
    """By address."""


def parse_block_map(data: bytes, *, source: str) -> tuple[MappedFunction, ...]:
    """Return the functions that a linked file has a map of, by address.

    Raises InputError for a damaged file, and for a map of a version that is not known.
    """
    found: dict[int, MappedFunction] = {}
    try:
        layout = ElfLayout(data)
        for section in layout.sections:
            if section.name == MAP_SECTION:
                reader = _Reader(layout.content(section))
                for each in reader.iter_functions():
                    found.setdefault(each.address, each)
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=_HINT, what="map of blocks") from None
    # The linker writes 0 where it dropped the function.
    return tuple(each for at, each in sorted(found.items()) if at and each.blocks)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def iter_functions(self) -> Iterator[MappedFunction]:
        while self._at < len(self._content):
            yield self._read_function()

    def _read_function(self) -> MappedFunction:
        version = self._byte()
        if version not in _VERSIONS:
            refuse(f"version {version}")
        features = self._byte()
        if version >= _WIDE_FEATURES:
            features |= self._byte() << 8
        if features & ~_KNOWN:
            refuse(f"features {features:#x}")
        ranges = self._number() if features & _RANGES else 1
        first = 0
        blocks: list[Block] = []
        for number in range(ranges):
            (base,) = _ADDRESS.unpack_from(self._content, self._at)
            self._at += _ADDRESS.size
            first = base if number == 0 else first
            count = 0 if features & _NO_BLOCKS else self._number()
            end = base
            for _ in range(count):
                block = self._read_block(end, has_calls=bool(features & _CALL_SITES))
                end = block.address + block.size_bytes
                blocks.append(block)
        return MappedFunction(address=first, blocks=tuple(blocks))

    def _read_block(self, end: int, *, has_calls: bool) -> Block:
        number = self._number()
        start = end + self._number()
        # Each call's end is counted from that of the one before, and the size from the last.
        calls = self._number() if has_calls else 0
        size_bytes = sum(self._number() for _ in range(calls))
        size_bytes += self._number()
        return Block(number=number, address=start, size_bytes=size_bytes, traits=self._number())

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _number(self) -> int:
        """Read a number of any length, seven bits a byte."""
        value = 0
        shift = 0
        byte = 0x80
        while byte & 0x80:
            if shift > _MOST_BITS:
                refuse("a number of more than 64 bits")
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
        return value
