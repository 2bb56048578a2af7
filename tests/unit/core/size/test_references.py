import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.core.build_spec import BuildSpec, Link, LinkSpec, Variant
from megtrim.core.chain.graph import (
    HEADER,
    PLAIN,
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    Stage,
    Task,
    task_name,
)
from megtrim.core.chain.result_store import content_of
from megtrim.core.chain.session import Session
from megtrim.core.functions.link_map import LinkMap
from megtrim.core.size.references import linked_file
from megtrim.core.size.references import stage as references
from megtrim.core.size.references.graph import (
    UNREACHED,
    Mask,
    ReferenceGraph,
    count_retained,
    explain,
)
from megtrim.core.size.references.graph import Part as FilePart
from megtrim.core.size.references.search import MatchKind, describe, find_matches
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.libs.elf.layout import ElfLayout
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from unit.core.size.made_graphs import (
    LOG,
    MUL,
    OLD,
    RELIC,
    RUN,
    START,
    TABLE,
    list_targets,
    made_graph,
    made_part,
    make_graph,
)
from unit.core.size.references.made_programs import ARRAY, PARTS, PROGRAM, RODATA, SYMBOLS, TEXT
from unit.core.trim.stages.built import finish
from unit.core.trim.stages.support import changed, open_session
from unit.libs.elf.made_objects import AARCH64, ALLOC, CALL, Part, object_file
from unit.places.compile.projects.support import TOOLCHAIN


def _numbers(mask: Mask) -> set[int]:
    return {*np.flatnonzero(mask).tolist()}


def test_what_the_roots_reach_is_what_a_linker_keeps() -> None:
    """An emptied function refers to nothing; with a part goes what it alone reaches."""
    graph = made_graph()
    nothing = make_graph((), (), {})

    reached = graph.reach(graph.roots)

    assert _numbers(reached) == {START, RUN, MUL, TABLE, LOG}
    assert graph.count_bytes(reached) == 10 + 20 + 40 + 80 + 160
    emptied = graph.reach(graph.roots, emptied=graph.select([MUL]))
    assert _numbers(emptied) == {START, RUN, MUL, LOG}
    assert _numbers(graph.without([RUN], graph.roots)) == {RUN, MUL, TABLE}
    assert _numbers(graph.without([OLD], graph.roots)) == set()
    assert nothing.count_bytes(nothing.reach(())) == 0


@pytest.mark.parametrize(
    ("number", "chain"),
    [(LOG, (START, LOG)), (TABLE, (START, RUN, MUL, TABLE)), (START, (START,)), (RELIC, ())],
)
def test_the_chain_is_the_shortest(number: int, chain: tuple[int, ...]) -> None:
    graph = made_graph()

    assert graph.chain(graph.roots, number) == chain


def test_what_a_part_refers_to_is_there_once() -> None:
    graph = made_graph((MUL, MUL), (RUN, MUL))

    assert list_targets(graph, RUN) == (MUL, LOG)
    assert graph.find(("mul", "unknown")) == {MUL}


_COUNT = 12
_NUMBERS = st.integers(min_value=0, max_value=_COUNT - 1)


def test_a_part_retains_what_only_it_leads_to() -> None:
    graph = made_graph()

    retained = count_retained(graph, graph.roots).tolist()

    assert retained == [10 + 20 + 40 + 80 + 160, 20 + 40 + 80, 40 + 80, 80, 160, 0, 0]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=40), st.lists(_NUMBERS, min_size=1, max_size=3)
)
def test_it_is_what_removing_each_part_shows(
    references: list[tuple[int, int]], starts: list[int]
) -> None:
    graph = make_graph((made_part(str(n), 1 << n) for n in range(_COUNT)), references, {})

    retained = count_retained(graph, starts).tolist()

    assert retained == [
        graph.count_bytes(graph.without([number], starts)) for number in range(_COUNT)
    ]


@pytest.mark.parametrize(
    ("parts", "root", "chain", "referrers", "size_bytes", "retained_bytes", "retained"),
    [
        ([MUL], linked_file.ENTRY, (START, RUN, MUL), (RUN,), 40, 120, (TABLE,)),
        ([RUN, LOG], linked_file.ENTRY, (START, LOG), (START,), 180, 300, (TABLE, MUL)),
        # The linker keeps it with its object; its referrer is not reached either.
        ([RELIC], UNREACHED, (), (OLD,), 640, 640, ()),
    ],
    ids=["one part", "several", "what nothing leads to"],
)
def test_parts_have_a_chain_and_what_they_keep(
    parts: list[int],
    root: str,
    chain: tuple[int, ...],
    referrers: tuple[int, ...],
    size_bytes: int,
    retained_bytes: int,
    retained: tuple[int, ...],
) -> None:
    found = explain(parts, made_graph())

    assert (found.root, found.chain, found.referrers) == (root, chain, referrers)
    assert (found.size_bytes, found.retained_bytes) == (size_bytes, retained_bytes)
    assert found.retained == retained


def _read(data: bytes = PROGRAM, origins: LinkMap | None = None) -> linked_file.LinkedFile:
    return linked_file.read_graph(data, origins, source="program")


def test_references_are_those_of_the_linker() -> None:
    """To symbols and to places in sections; those of the unwind table keep nothing."""
    found = _read()
    graph = found.graph
    run = graph.by_name["run"]
    text = _part_at(found, RODATA + 8)

    assert found.exact
    assert list_targets(graph, graph.by_name["start"]) == (run,)
    assert list_targets(graph, run) == (text,)
    assert graph.parts[run].names == ("alias", "run")
    assert graph.by_name["dead"] not in graph.targets
    # Parts add up to what is in memory.
    assert int(graph.sizes.sum()) == sum(len(each.content) for each in PARTS)
    for name in ("start", "run"):
        assert graph.parts[graph.by_name[name]].size_bytes == 16 + 20
    # Roots say why they stay.
    assert graph.roots[graph.by_name["start"]] == linked_file.ENTRY
    assert graph.roots[_part_at(found, ARRAY)] == linked_file.BEFORE_MAIN
    reached = graph.reach(graph.roots)
    assert reached[graph.by_name["register"]]
    assert not reached[graph.by_name["dead"]]


def _part_at(found: linked_file.LinkedFile, address: int) -> int:
    return next(
        number for number, each in enumerate(found.stretches) if each.start <= address < each.end
    )


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
        (".init_array", linked_file.BEFORE_MAIN),
        (".ctors", linked_file.BEFORE_MAIN),
        (".fini_array", linked_file.AT_EXIT),
        (".got.plt", linked_file.LOADER),
        (".eh_frame_hdr", linked_file.LOADER),
        ("registered", linked_file.NAMED_SECTION),
        (".rodata", None),
        (".gcc_except_table", None),
    ],
)
def test_a_section_may_be_a_reason(section: str, why: str | None) -> None:
    parts = (Part(name=section, content=bytes(8), flags=ALLOC, address=0x1000),)
    part = FilePart(names=("x",), section=section, source="", size_bytes=8)

    found = linked_file.find_roots(ElfLayout(object_file(parts, (), kind=2)), (part,), lambda _: -1)

    assert found.get(0) == why


ADD_INT, ADD_FLOAT, MULTIPLY, ENGINE, DATA = range(5)
_ARCHIVE = "dnn/src/libmegdnn.a(utils.cpp.o)"


def _graph() -> ReferenceGraph:
    parts = (
        made_part("_ZN3mgb3opr3AddIiE3runEv", 20, "src/opr/impl/add.cpp.o"),
        made_part("_ZN3mgb3opr3AddIfE3runEv", 30, "src/opr/impl/add.cpp.o"),
        made_part("_ZN3mgb3opr3MulEv", 40),
        made_part("_ZN6megdnn8fallback10elemwise_xEv", 50, _ARCHIVE),
        made_part("", 60)._replace(names=(), section=".rodata"),
    )
    return make_graph(parts, (), {})


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("_ZN3mgb3opr3AddIiE3runEv", MatchKind.SYMBOL, (ADD_INT,)),
        ("mgb::opr::Mul()", MatchKind.SYMBOL, (MULTIPLY,)),
        ("mgb::opr::Mul", MatchKind.SYMBOL, (MULTIPLY,)),
        ("mgb::opr::Add<int>::run", MatchKind.SYMBOL, (ADD_INT,)),
        ("mgb::opr::Add<…>::run()", MatchKind.FAMILY, (ADD_INT, ADD_FLOAT)),
        ("operators", MatchKind.COMPONENT, (ADD_INT, ADD_FLOAT, MULTIPLY)),
        ("kernels", MatchKind.COMPONENT, (ENGINE,)),
        ("add.cpp.o", MatchKind.SOURCE, (ADD_INT, ADD_FLOAT)),
        ("libmegdnn.a", MatchKind.SOURCE, (ENGINE,)),
        ("utils.cpp.o", MatchKind.SOURCE, (ENGINE,)),
        (_ARCHIVE, MatchKind.SOURCE, (ENGINE,)),
        (".rodata", MatchKind.SECTION, (DATA,)),
    ],
)
def test_a_text_names_something(text: str, kind: MatchKind, parts: tuple[int, ...]) -> None:
    (found,) = find_matches(text, _graph())

    assert (found.kind, found.parts) == (kind, parts)


def test_a_part_of_several_names_is_a_list_to_choose_from() -> None:
    graph = _graph()
    assert describe(graph.parts[MULTIPLY]) == "mgb::opr::Mul()"
    assert describe(graph.parts[DATA]) == "[unnamed in .rodata]"
    assert find_matches("nowhere", graph) == ()
    found = find_matches("mgb::opr", graph)

    assert [(each.kind, each.label) for each in found] == [
        (MatchKind.FAMILY, "mgb::opr::Add<…>::run()"),
        (MatchKind.SYMBOL, "mgb::opr::Mul()"),
    ]


class Linker:
    def __init__(self) -> None:
        self.asked: list[tuple[Variant, LinkSpec]] = []

    def link(self, spec: BuildSpec, links: tuple[LinkSpec, ...], **_: Any) -> None:
        self.asked += [(spec.variant, each) for each in links]


@pytest.fixture
def now(tmp_path: Path, processes: ProcessRunner) -> Session:
    made, _ = open_session(tmp_path)
    engine = SampleEngine(find_embedded_source(), processes)
    session = changed(made, engine=engine, toolchain=TOOLCHAIN, builder=cast(Any, Linker()))
    for task in (PLAIN, PROFILE, REDUCED):
        finish(session, task, {"bin/load_and_run": task})
    finish(session, HEADER, {"include/bin_reduce.h": "forced"}, named={})
    return session


def _task(task_id: str) -> Task:
    return Task(stage=Stage.REFERENCES, name=task_name(task_id), needs=())


@pytest.mark.parametrize(
    ("task_id", "variant"),
    [(SHIPPED_REFERENCES, Variant.REDUCED), (PROFILE_REFERENCES, Variant.PROFILE)],
)
def test_a_program_is_linked_as_it_was_with_its_relocations(
    task_id: str, variant: Variant, now: Session, tmp_path: Path
) -> None:
    shipped = references.inputs(_task(SHIPPED_REFERENCES), now)
    assert shipped == {"linked again": content_of(now.results.done[REDUCED])}
    result = references.work(_task(task_id), now, tmp_path)

    assert result.programs == ("load_and_run",)
    link = LinkSpec(
        target="load_and_run",
        label=Link.REFERENCED,
        flags=("-Wl,--emit-relocs",),
        strip=False,
        map=True,
    )
    assert cast(Any, now.services.builder).asked == [(variant, link)]
