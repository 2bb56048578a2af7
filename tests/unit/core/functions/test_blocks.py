"""Lists of the blocks that ran: found, joined, written and read; and which functions are cut."""

import pytest

from megtrim.core.functions.blocks import (
    BlockList,
    Graph,
    digest_blocks,
    dump_blocks,
    find_blocks,
    find_graphs,
    parse_blocks,
    plan_cuts,
)
from megtrim.core.keep.split_function import SplitFunction
from megtrim.libs.elf.block_map import Block, MappedFunction
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError

LINK = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
HEAD = f"megtrim blocks v1\nlink {LINK}\n"
ONE = "5e884898da280471"
OTHER = "0123456789abcdef"


def mapped(address: int, *numbers: int, size: int = 8, traits: int = 0) -> MappedFunction:
    blocks = (
        Block(number=number, address=address + 8 * at, size_bytes=size, traits=traits)
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


def numbers(found: dict[str, SplitFunction]) -> dict[str, tuple[int, ...]]:
    return {name: each.numbers for name, each in found.items()}


def split(name: str, *blocks: int, digest: str = ONE) -> SplitFunction:
    return SplitFunction(name=name, digest=digest, numbers=blocks)


def test_a_block_ran_if_one_of_its_bytes_did() -> None:
    functions = (mapped(0x100, 0, 5, 2), mapped(0x200, 0, 1))
    names = table(Function("work", 0x100, 24), Function("other", 0x200, 16))
    assert numbers(find_blocks(functions, names, {0x104, 0x114})) == {"work": (0, 2)}


def test_the_first_block_stays_and_aliases_are_listed() -> None:
    names = table(Function("C1", 0x100, 24), Function("C2", 0x100, 24))
    found = find_blocks((mapped(0x100, 0, 5),), names, {0x108})
    assert numbers(found) == {"C1": (0, 5), "C2": (0, 5)}


def test_one_of_two_functions_of_a_name_is_not_listed() -> None:
    names = table(Function("next", 0x100, 24), Function("next", 0x200, 24))
    functions = (mapped(0x100, 0), mapped(0x200, 0))
    assert find_blocks(functions, names, {0x100, 0x200}) == {}
    assert find_graphs(functions, names) == {}


@pytest.mark.parametrize(
    "other",
    [mapped(0x100, 0, 2), mapped(0x100, 0, 1, 2), mapped(0x100, 0, 1, size=4)],
)
def test_another_graph_has_another_digest(other: MappedFunction) -> None:
    assert digest_blocks(other) != digest_blocks(mapped(0x100, 0, 1))


def edits() -> list[tuple[str, tuple[tuple[int, int, int], ...]]]:
    """Rows of number, size and traits of a function's blocks, as edits of its source leave them."""
    rows = tuple((number, 4 * number + 8, number % 3) for number in range(8))
    made = []
    for at in range(8):
        number, size, traits = rows[at]
        before = rows[:at]
        behind = rows[at + 1 :]
        made += [
            ("renumbered", (*before, (number + 20, size, traits), *behind)),
            ("larger", (*before, (number, size + 4, traits), *behind)),
            ("ends in another way", (*before, (number, size, traits + 8), *behind)),
            ("removed", (*before, *behind)),
            ("doubled", (*before, rows[at], (number + 20, size, traits), *behind)),
        ]
    return made


@pytest.mark.parametrize(("edit", "rows"), edits())
def test_an_edited_function_stays_whole(edit: str, rows: tuple[tuple[int, int, int], ...]) -> None:
    def mapped_as(blocks: tuple[tuple[int, int, int], ...]) -> MappedFunction:
        at = 0x100
        made = []
        for number, size, traits in blocks:
            made.append(Block(number=number, address=at, size_bytes=size, traits=traits))
            at += size
        return MappedFunction(address=0x100, blocks=tuple(made))

    names = table(Function("f", 0x100, 400))
    original = tuple((number, 4 * number + 8, number % 3) for number in range(8))
    listed = find_blocks([mapped_as(original)], names, {0x104, 0x120})["f"]
    graphs = find_graphs([mapped_as(rows)], names)

    plan = plan_cuts([(["f"], [listed])], graphs, ())

    assert (plan.blocks, plan.changed) == ({}, ("f",)), edit


def test_a_function_that_moved_has_its_digest() -> None:
    assert digest_blocks(mapped(0x5000, 0, 1)) == digest_blocks(mapped(0x100, 0, 1))


@pytest.mark.parametrize(
    ("records", "whole", "cut", "changed"),
    [
        pytest.param([(["f"], [split("f", 0, 3)])], (), {"f": (0, 3)}, (), id="one scenario"),
        pytest.param([(["f"], [split("f", 0, 99)])], (), {}, ("f",), id="an unknown block"),
        pytest.param([(["f"], [split("f", 3)])], (), {}, ("f",), id="without its first block"),
        pytest.param(
            [(["f"], [split("f", 0, 3)]), (["f", "g"], [split("f", 0, 2), split("g", 0)])],
            (),
            {"f": (0, 2, 3), "g": (0,)},
            (),
            id="scenarios are joined",
        ),
        pytest.param(
            [(["f"], [split("f", 0, 3), split("f", 0, 5)])],
            (),
            {"f": (0, 3, 5)},
            (),
            id="a merge of two records",
        ),
        pytest.param(
            [(["f"], [split("f", 0)]), (["f"], [])], (), {}, (), id="a record without its blocks"
        ),
        pytest.param([(["f"], [split("f", 0)])], ("f",), {}, (), id="one that stays whole"),
        pytest.param(
            [(["f", "g"], [split("f", 0, digest=OTHER), split("g", 0)])],
            (),
            {"g": (0,)},
            ("f",),
            id="a changed function",
        ),
        pytest.param([(["gone"], [split("gone", 0)])], (), {}, ("gone",), id="no such function"),
        pytest.param([([], [split("f", 0)])], (), {}, (), id="blocks of what is not listed"),
    ],
)
def test_which_functions_are_cut(
    records: list[tuple[list[str], list[SplitFunction]]],
    whole: tuple[str, ...],
    cut: dict[str, tuple[int, ...]],
    changed: tuple[str, ...],
) -> None:
    graph = Graph(digest=ONE, order=tuple(range(9)))
    plan = plan_cuts(records, {"f": graph, "g": graph}, whole)
    assert (plan.blocks, plan.changed) == (cut, changed)


def test_blocks_stay_in_the_order_in_which_they_lay() -> None:
    """The compiler places them as they are listed, and a number says nothing of a place."""
    names = table(Function("f", 0x100, 40))
    function = mapped(0x100, 0, 7, 3, 9, 1)
    listed = find_blocks([function], names, {0x108, 0x118, 0x120})["f"]
    plan = plan_cuts([(["f"], [listed])], find_graphs([function], names), ())

    assert listed.numbers == (0, 1, 7, 9)
    assert plan.blocks == {"f": (0, 7, 9, 1)}


def test_a_list_is_read_as_it_was_written() -> None:
    found = BlockList(link_sha256=LINK, functions=(split("a", 0), split("b", 0, 12)))
    text = dump_blocks(found)
    assert text == f"{HEAD}a {ONE} 0\nb {ONE} 0 12\n"
    assert parse_blocks(text.encode(), source="f") == found


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (f"b {ONE} 0\na {ONE} 0\n", 4),
        (f"a {ONE}\n", 3),
        (f"a {ONE} x\n", 3),
        (f"a {ONE} 01\n", 3),
        (f"a {ONE} 2 1\n", 3),
        (f"a {ONE} 1 1\n", 3),
        ("a 5e88 0\n", 3),
        (f"a;b {ONE} 0\n", 3),
        (f"a {ONE} 0", 3),
    ],
)
def test_a_damaged_list_is_refused(rows: str, line: int) -> None:
    with pytest.raises(InputError, match=f"f:{line}: "):
        parse_blocks(f"{HEAD}{rows}".encode(), source="f")
