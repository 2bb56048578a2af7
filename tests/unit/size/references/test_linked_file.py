import struct

import pytest

from megtrim.elf.layout import ElfLayout
from megtrim.functions.link_map import LinkMap
from megtrim.size.references.graph import Part as FilePart
from megtrim.size.references.linked_file import (
    AT_EXIT,
    BEFORE_MAIN,
    ENTRY,
    LOADER,
    NAMED_SECTION,
    LinkedFile,
    find_roots,
    read_graph,
)
from megtrim.util.errors import InputError
from unit.elf.made_objects import AARCH64, ALLOC, CALL, Part, object_file
from unit.size.references.made_graphs import list_targets
from unit.size.references.made_programs import ARRAY, PARTS, PROGRAM, RODATA, SYMBOLS, TEXT


def _read(data: bytes = PROGRAM, origins: LinkMap | None = None) -> LinkedFile:
    return read_graph(data, origins, source="program")


def test_references_are_those_of_the_linker() -> None:
    """To symbols and to places in sections; those of the unwind table keep nothing."""
    graph = _read().graph
    run, text = graph.by_name["run"], _part_at(_read(), RODATA + 8)

    assert _read().exact
    assert list_targets(graph, graph.by_name["start"]) == (run,)
    assert list_targets(graph, run) == (text,)
    assert graph.parts[run].names == ("alias", "run")
    assert graph.by_name["dead"] not in graph.targets


def _part_at(found: LinkedFile, address: int) -> int:
    return next(
        number for number, each in enumerate(found.stretches) if each.start <= address < each.end
    )


def test_roots_say_why_they_stay() -> None:
    found = _read()
    graph = found.graph

    assert graph.roots[graph.by_name["start"]] == ENTRY
    assert graph.roots[_part_at(found, ARRAY)] == BEFORE_MAIN
    reached = graph.reach(graph.roots)
    assert reached[graph.by_name["register"]]
    assert not reached[graph.by_name["dead"]]


def test_parts_add_up_to_what_is_in_memory() -> None:
    graph = _read().graph

    assert int(graph.sizes.sum()) == sum(len(each.content) for each in PARTS)
    assert graph.parts[graph.by_name["start"]].size_bytes == 16 + 20
    assert graph.parts[graph.by_name["run"]].size_bytes == 16 + 20


def test_with_a_map_parts_are_sections_of_objects() -> None:
    origins = LinkMap(
        starts=(TEXT, TEXT + 32), ends=(TEXT + 28, TEXT + 64), files=("one.o", "two.o")
    )

    graph = _read(origins=origins).graph

    assert graph.by_name["start"] == graph.by_name["run"]
    assert graph.parts[graph.by_name["dead"]].names == ("dead", "register")
    assert graph.parts[graph.by_name["dead"]].source == "two.o"


def test_without_relocations_the_code_is_read() -> None:
    branch = struct.pack("<I", 0x94000004) + bytes(60)
    parts = (Part(name=".text", content=branch, address=TEXT), PARTS[1])
    found = _read(object_file(parts, SYMBOLS, kind=2, entry=TEXT))

    assert not found.exact
    graph = found.graph
    assert list_targets(graph, graph.by_name["start"]) == (graph.by_name["run"],)


def test_an_object_is_no_linked_file() -> None:
    with pytest.raises(InputError, match=r"an object, expected a program or shared library"):
        _read(object_file(PARTS, SYMBOLS))


def test_a_relocation_of_no_symbol_is_damage() -> None:
    entry = PROGRAM.index(struct.pack("<Q", TEXT + 4) + struct.pack("<I", CALL[AARCH64]))
    damaged = PROGRAM[: entry + 12] + b"\xff\xff\xff\x7f" + PROGRAM[entry + 16 :]

    with pytest.raises(InputError, match="a damaged ELF file: a relocation of a symbol that"):
        _read(damaged)


def test_data_that_nothing_names_is_cut_where_something_refers_to_it() -> None:
    """So that a string goes with the function that prints it; a compiler's label is no name."""
    found = _read()
    text = _part_at(found, RODATA + 8)

    assert found.graph.parts[text].size_bytes == 8
    assert text != _part_at(found, RODATA)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (".init_array", BEFORE_MAIN),
        (".ctors", BEFORE_MAIN),
        (".fini_array", AT_EXIT),
        (".got.plt", LOADER),
        (".eh_frame_hdr", LOADER),
        ("registered", NAMED_SECTION),
        (".rodata", None),
        (".gcc_except_table", None),
    ],
)
def test_a_section_may_be_a_reason(section: str, why: str | None) -> None:
    parts = (Part(name=section, content=bytes(8), flags=ALLOC, address=0x1000),)
    part = FilePart(names=("x",), section=section, source="", size_bytes=8)

    found = find_roots(ElfLayout(object_file(parts, (), kind=2)), (part,), lambda _: -1)

    assert found.get(0) == why


def test_the_entry_point_is_a_root() -> None:
    parts = (Part(name=".init", content=bytes(8), address=0x1000),)
    part = FilePart(names=("_init",), section=".init", source="", size_bytes=8)
    layout = ElfLayout(object_file(parts, (), kind=2, entry=0x1000))

    assert find_roots(layout, (part,), lambda address: address - 0x1000) == {0: ENTRY}
