"""Maps of blocks, as LLVM 17 to 22 write them."""

import struct

import pytest

from megtrim.libs.elf.block_map import Block, MappedFunction, parse_block_map
from megtrim.libs.util.errors import InputError
from unit.libs.elf.made_objects import FUNCTION, Named, Part, object_file

AT = 0x4000
BASE = struct.pack("<Q", AT)
THREE = (
    Block(number=0, address=AT, size_bytes=20, traits=8),
    Block(number=7, address=AT + 20, size_bytes=300, traits=1),
    Block(number=2, address=AT + 328, size_bytes=4, traits=4),
)
BODY = bytes((3, 0, 0, 20, 8, 7, 0, 0xAC, 0x02, 1, 2, 8, 4, 4))
"""Three blocks: number, distance from the end of the one before, size in 7 bits a byte, traits."""
WITH_CALLS = bytes((3, 0, 0, 0, 20, 8, 7, 0, 2, 16, 4, 0x98, 0x02, 1, 2, 8, 1, 4, 0, 4))
"""The same with the calls in each: their count, and where each ends, from the one before. The size
is what is behind the last.
"""


def linked(content: bytes, name: str = ".llvm_bb_addr_map") -> bytes:
    code = Part(name=".text", content=bytes(400), address=AT)
    parts = (code, Part(name=name, content=content, flags=0))
    return object_file(parts, [Named(name="work", part=".text", size=332, kind=FUNCTION)], kind=2)


MAPPED = linked(bytes((5, 0x20, 0)) + BASE + WITH_CALLS)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(bytes((2, 0)) + BASE + BODY, id="LLVM 19"),
        pytest.param(bytes((4, 0)) + BASE + BODY, id="LLVM 21"),
        pytest.param(bytes((5, 0, 0)) + BASE + BODY, id="LLVM 22, no calls"),
        pytest.param(bytes((5, 0x20, 0)) + BASE + WITH_CALLS, id="LLVM 22"),
    ],
)
def test_each_version_says_the_same(content: bytes) -> None:
    assert parse_block_map(linked(content), source="f") == (
        MappedFunction(address=AT, blocks=THREE),
    )


def test_ranges_of_a_split_function_are_one_function() -> None:
    cold = struct.pack("<Q", AT + 100)
    content = bytes((2, 8, 2)) + BASE + bytes((1, 0, 0, 8, 8)) + cold + bytes((1, 1, 0, 4, 1))
    (found,) = parse_block_map(linked(content), source="f")
    assert [(each.number, each.address) for each in found.blocks] == [(0, AT), (1, AT + 100)]


def test_a_function_that_the_linker_dropped_is_not_there() -> None:
    dropped = bytes((2, 0)) + bytes(8) + BODY
    found = parse_block_map(linked(dropped + bytes((2, 0)) + BASE + BODY), source="f")
    assert [each.address for each in found] == [AT]


def test_a_file_without_a_map_has_no_functions() -> None:
    assert parse_block_map(linked(b"", name=".other"), source="f") == ()


def test_a_map_that_leaves_its_blocks_out_says_nothing() -> None:
    assert parse_block_map(linked(bytes((5, 0x10, 0)) + BASE), source="f") == ()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bytes((6, 0, 0)) + BASE + BODY, "version 6"),
        (bytes((1, 0)) + BASE + BODY, "version 1"),
        (bytes((2, 1)) + BASE + BODY, "features 0x1"),
        (bytes((5, 0, 1)) + BASE + BODY, "features 0x100"),
        ((bytes((2, 0)) + BASE + BODY)[:-1], ""),
        (bytes((2, 0)) + BASE + b"\xff" * 12, "64 bits"),
    ],
)
def test_what_is_not_understood_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(InputError, match=f"f: a damaged map of blocks.*{why}"):
        parse_block_map(linked(content), source="f")
