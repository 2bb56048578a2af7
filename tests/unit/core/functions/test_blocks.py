"""Lists of the blocks that ran: found, joined, written and read."""

import pytest

from megtrim.core.functions.blocks import BlockList, dump_blocks, find_blocks, join, parse_blocks
from megtrim.libs.elf.block_map import Block, MappedFunction
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError

LINK = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
HEAD = f"megtrim blocks v1\nlink {LINK}\n"


def mapped(address: int, *numbers: int) -> MappedFunction:
    blocks = (
        Block(number=number, address=address + 8 * at, size_bytes=8, traits=0)
        for at, number in enumerate(numbers)
    )
    return MappedFunction(address=address, blocks=tuple(blocks))


def table(*functions: Function) -> FunctionTable:
    return FunctionTable(
        machine="aarch64",
        entry=0,
        functions=functions,
        imported=frozenset(),
        exported=frozenset(),
        registrations=0,
        ifuncs=frozenset(),
    )


def test_a_block_ran_if_one_of_its_bytes_did() -> None:
    functions = (mapped(0x100, 0, 5, 2), mapped(0x200, 0, 1))
    names = table(Function("work", 0x100, 24), Function("other", 0x200, 16))
    assert find_blocks(functions, names, {0x104, 0x114}) == {"work": (0, 2)}


def test_the_first_block_stays_and_aliases_are_listed() -> None:
    names = table(Function("C1", 0x100, 24), Function("C2", 0x100, 24))
    assert find_blocks((mapped(0x100, 0, 5),), names, {0x108}) == {"C1": (0, 5), "C2": (0, 5)}


def test_one_of_two_functions_of_a_name_is_not_listed() -> None:
    names = table(Function("next", 0x100, 24), Function("next", 0x200, 24))
    assert find_blocks((mapped(0x100, 0), mapped(0x200, 0)), names, {0x100, 0x200}) == {}


def test_scenarios_are_joined() -> None:
    assert join([{"a": (0, 3)}, {"b": (0,), "a": (0, 2)}]) == {"a": (0, 2, 3), "b": (0,)}


def test_a_list_is_read_as_it_was_written() -> None:
    found = BlockList(link_sha256=LINK, blocks={"b": (0, 12), "a": (0,)})
    text = dump_blocks(found)
    assert text == f"{HEAD}a 0\nb 0 12\n"
    assert parse_blocks(text.encode(), source="f") == found


@pytest.mark.parametrize(
    ("rows", "line"), [("b 0\na 0\n", 4), ("a\n", 3), ("a x\n", 3), ("a 01\n", 3), ("a 0", 3)]
)
def test_a_damaged_list_is_refused(rows: str, line: int) -> None:
    with pytest.raises(InputError, match=f"f:{line}: "):
        parse_blocks(f"{HEAD}{rows}".encode(), source="f")
