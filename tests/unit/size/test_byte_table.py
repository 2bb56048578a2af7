import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.build_spec import BuildSpec, LinkSpec, Variant
from megtrim.chain.store import StageFolder, Store
from megtrim.size import byte_tables
from megtrim.size.byte_table import (
    LONGEST_LABEL,
    MOST_COMPONENTS,
    SMALLER,
    ByteChange,
    ByteMap,
    ByteTable,
    MappedComponent,
    MappedSymbol,
    list_largest,
    make_map,
    make_table,
)
from megtrim.size.report.byte_map import SCREENS, ByteCell, Tile, draw_map, layout
from megtrim.trim.builds import variants
from megtrim.trim.results import BuildResult
from megtrim.util.console import Console
from megtrim.util.errors import InfrastructureFailure, ProductFailure
from unit.elf.made_objects import Named, Part, object_file
from unit.trim.stages.results import BUILD
from unit.trim.stages.support import changed
from unit.trim.stages.switch_builds import made as prepare


def make_byte_table(components: dict[str, dict[str, int]], least_bytes: int = 64) -> ByteTable:
    return ByteTable(least_bytes=least_bytes, components=components)


def total(table: ByteTable) -> int:
    return sum(sum(labels.values()) for labels in table.components.values())


def test_small_symbols_are_one_row() -> None:
    table = make_table({("ops", "a"): 64, ("ops", "b"): 63, ("ops", "c"): 2, ("core", "d"): 5})

    assert table.least_bytes == 64
    assert table.components == {"ops": {"a": 64, SMALLER: 65}, "core": {SMALLER: 5}}
    table = make_byte_table({"ops": {"a": 64, "b": 200, SMALLER: 9}})
    assert table.totals(128) == {("ops", "b"): 200, ("ops", SMALLER): 73}
    lines = make_table({("ops", "a\nb"): 100, ("ops", "x" * 500): 100}).components["ops"]
    assert lines.keys() == {"a?b", "x" * (LONGEST_LABEL - 1) + "…"}


def test_a_large_program_has_a_higher_limit() -> None:
    sizes = {("ops", f"mgb::opr::Operator{n}<…>::run(…)"): 64 + n for n in range(20_000)}

    table = make_table(sizes)

    assert table.least_bytes > 64
    assert total(table) == sum(sizes.values())
    assert len(json.dumps(table.components)) < 300 * 1024
    assert len(table.components["ops"]) > 1_000


@given(
    st.dictionaries(
        st.tuples(st.text(max_size=3), st.text(max_size=200)), st.integers(1, 999), max_size=9
    )
)
def test_a_table_adds_up(sizes: dict[tuple[str, str], int]) -> None:
    table = make_table(sizes)

    assert total(table) == sum(sizes.values()) == table.totals(1_000).total()


def change(label: str, before_bytes: int, after_bytes: int) -> ByteChange:
    return ByteChange(
        component="ops", label=label, before_bytes=before_bytes, after_bytes=after_bytes
    )


def test_the_others_are_one_row() -> None:
    changes = [change("a", 0, 90), change("b", 60, 0), change("c", 5, 9), change("d", 7, 7)]

    found = list_largest(changes, 1)

    assert [(each.label, each.growth_bytes) for each in found] == [("a", 90), ("[2 others]", -56)]
    assert [each.label for each in list_largest(changes, 3)] == ["a", "b", "c"]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=9), st.integers(0, 9))
def test_they_add_up(sizes: list[tuple[int, int]], most: int) -> None:
    changes = [change(str(number), *each) for number, each in enumerate(sizes)]

    found = list_largest(changes, most)

    growth = sum(after - before for before, after in sizes)
    assert sum(each.growth_bytes for each in found) == growth
    assert len(found) <= most + 1


PLAIN = make_byte_table(
    {
        "kernels": {"conv": 4000, "pool": 900, SMALLER: 100},
        "runtime": {"load": 500},
        "gone": {"winograd": 700},
    }
)
SHIPPED = make_byte_table({"kernels": {"conv": 1000, SMALLER: 40}, "runtime": {"load": 520}})


def test_components_show_what_was_kept_and_what_was_left_out() -> None:
    found = make_map("app", "reduced", SHIPPED, PLAIN)

    assert [(each.name, each.kept_bytes, each.left_out_bytes) for each in found.components] == [
        ("kernels", 1040, 3960),
        ("runtime", 520, -20),
        ("gone", 0, 700),
    ]
    assert (found.kept_bytes, found.plain_bytes) == (1560, 6200)
    symbols = [
        [(each.label, each.plain_bytes, each.kept_bytes) for each in part.symbols]
        for part in found.components
    ]
    assert symbols[0] == [("conv", 4000, 1000), ("pool", 900, 0)]
    assert symbols[2] == [("winograd", 700, 0)]


def test_what_the_plain_table_is_too_short_for_is_not_known() -> None:
    """It is among the smaller ones there, so no number is made up for it."""
    plain = make_byte_table({"kernels": {"conv": 9000, SMALLER: 3000}}, 4096)
    [kernels] = make_map(
        "app", "reduced", make_byte_table({"kernels": {"pool": 80}}), plain
    ).components

    by_label = {each.label: each for each in kernels.symbols}
    assert by_label["pool"].plain_bytes is None
    assert by_label["conv"].plain_bytes == 9000


def test_without_the_plain_builds_symbols_nothing_is_said_of_it() -> None:
    unnamed = make_byte_table({"unexplained code": {"[unnamed in .text]": 6200}})

    for plain in (None, unnamed):
        found = make_map("app", "reduced", SHIPPED, plain)
        assert found.plain_bytes is None
        assert [each.name for each in found.components] == ["kernels", "runtime"]
        assert {each.left_out_bytes for each in found.components} == {None}
        assert {each.plain_bytes for part in found.components for each in part.symbols} == {None}


def test_small_components_share_the_last_row() -> None:
    kept = {f"k{number:03}": {"f": 1000 - number} for number in range(60)}
    left_out = {f"l{number:03}": {"f": 5000 - number} for number in range(60)}
    found = make_map("app", "reduced", make_byte_table(kept), make_byte_table(kept | left_out))

    assert len(found.components) == 2 * MOST_COMPONENTS + 1
    last = found.components[-1]
    assert (last.name, last.stands_for_several) == ("[72 others]", True)
    assert found.kept_bytes == sum(sum(each.values()) for each in kept.values())


_TABLES = st.dictionaries(
    st.sampled_from(["kernels", "kernels/x86", "runtime", "other"]),
    st.dictionaries(st.sampled_from([*"abcdefg", SMALLER]), st.integers(1, 5000), min_size=1),
)


@given(_TABLES, _TABLES)
def test_it_adds_up(shipped: dict[str, dict[str, int]], plain: dict[str, dict[str, int]]) -> None:
    found = make_map("app", "reduced", make_byte_table(shipped), make_byte_table(plain))

    assert found.kept_bytes == sum(sum(each.values()) for each in shipped.values())
    if plain:
        assert found.plain_bytes == sum(sum(each.values()) for each in plain.values())
    for each in found.components:
        assert sum(symbol.kept_bytes for symbol in each.symbols) <= each.kept_bytes


def write(place: Path, *, symbols: bool = True) -> None:
    part = Part(name=".text", content=bytes(400))
    symbol = Named(name="_ZN3mgb3opr3Add3runEv", part=".text", size=400)
    for folder, kept in (("bin", ()), ("unstripped", (symbol,))):
        if folder == "bin" or symbols:
            (place / folder).mkdir(parents=True)
            data = object_file((part,), kept, kind=2)
            (place / folder / "app").write_bytes(data)


class Linker:
    def __init__(self, ends: Exception | None = None) -> None:
        self.ends = ends
        self.asked: list[LinkSpec] = []

    def link(
        self, _: BuildSpec, links: tuple[LinkSpec, ...], *, folder: Path, **__: object
    ) -> None:
        self.asked += links
        if self.ends:
            raise self.ends
        write(folder / "again")
        (folder / "links" / "unstripped").mkdir(parents=True)
        copy = folder / "again" / "unstripped" / "app"
        copy.rename(folder / "links" / "unstripped" / "app")


def leave(
    tmp_path: Path,
    *,
    symbols: bool = True,
    damage: bytes = b"",
    strip: tuple[str, ...] | None = ("strip",),
    linker: Linker | None = None,
) -> tuple[StageFolder, str]:
    said = io.StringIO()
    made = prepare(tmp_path / "project", "{level: region}")
    toolchain = replace(made.services.toolchain, strip=strip)
    session = changed(
        made, toolchain=toolchain, console=Console(said), builder=cast(Any, linker or Linker())
    )
    wanted = variants.make_spec(session, Variant.PLAIN, {})

    def produce(place: Path) -> BuildResult:
        write(place, symbols=symbols)
        if damage:
            (place / "unstripped" / "app").write_bytes(damage)
        byte_tables.leave_tables(place, wanted, ["app"], session)
        return BuildResult(build=BUILD)

    found, _ = Store(tmp_path).ensure("build", "plain", {}, produce, BuildResult)
    return found, said.getvalue()


def test_the_plain_build_leaves_its_tables_and_no_symbols(tmp_path: Path) -> None:
    made, said = leave(tmp_path)

    table = byte_tables.read_tables(made)["app"]
    assert table.components["operators"] == {"mgb::opr::Add::run()": 400}
    size_bytes = made.file("bin/app").stat().st_size
    assert sum(sum(each.values()) for each in table.components.values()) == size_bytes
    assert not [name for name in made.files if name.startswith("unstripped")]
    assert said == ""


def test_where_links_strip_it_is_linked_once_more(tmp_path: Path) -> None:
    linker = Linker()
    made, _ = leave(tmp_path, symbols=False, strip=None, linker=linker)

    assert byte_tables.read_tables(made)["app"].components["operators"]
    assert [(each.target, each.strip, each.flags) for each in linker.asked] == [("app", False, ())]
    assert not [name for name in made.files if name.startswith(("links", "unstripped"))]


def test_a_link_that_the_machine_ended_ends_the_build(tmp_path: Path) -> None:
    """Its result would be kept, without the table, once the disk has room again."""
    linker = Linker(InfrastructureFailure("the disk is full"))

    with pytest.raises(InfrastructureFailure, match="the disk is full"):
        leave(tmp_path, symbols=False, strip=None, linker=linker)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"symbols": False}, ""),
        ({"damage": b"\x7fELF"}, "what is left out of app will not be known"),
        (
            {
                "symbols": False,
                "strip": None,
                "linker": Linker(ProductFailure("the linker ended with 1")),
            },
            "app has no copy with symbols: the linker ended with 1",
        ),
    ],
)
def test_what_is_not_known_costs_the_table_alone(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    """The build stands: sizes do not depend on what its bytes are."""
    made, console = leave(tmp_path, **options)

    assert byte_tables.read_tables(made) == {}
    assert said in console
    assert bool(console) is bool(said)


def symbol(label: str, kept_bytes: int) -> MappedSymbol:
    return MappedSymbol(label=label, plain_bytes=None, kept_bytes=kept_bytes)


def component(
    name: str, kept_bytes: int, plain_bytes: int | None = None, *symbols: MappedSymbol
) -> MappedComponent:
    return MappedComponent(
        name=name, plain_bytes=plain_bytes, kept_bytes=kept_bytes, symbols=symbols
    )


FOUND = ByteMap(
    artifact="app",
    variant="reduced",
    components=(
        component("kernels/arm_common/conv_bias", 2000, 60_000),
        component("runtime", 1000, 30_000, symbol("mgb::Graph::run(…)", 600)),
        component("[7 others]", 1000, 10_000),
    ),
)


def area(cell: ByteCell) -> float:
    return float(cell.width.removesuffix("%")) * float(cell.height)


@pytest.mark.parametrize("screen", [0, 1])
def test_areas_are_bytes(screen: int) -> None:
    whole = 100 * SCREENS[screen].height

    kept = {cell.title: cell for cell in draw_map(FOUND)[screen].cells}
    shares = [round(100 * area(cell) / whole) for title, cell in kept.items() if "%" in title]
    assert shares == [50, 25, 25]
    title = "kernels/arm_common/conv_bias: 2.0 KiB of 58.6 KiB (50.0% of the file)"
    assert next(iter(kept)) == title
    # Symbols are inside of their component.
    cells = draw_map(FOUND)[screen].cells
    at = [cell.title for cell in cells].index("runtime: 1.0 KiB of 29.3 KiB (25.0% of the file)")
    assert [cell.title for cell in cells[at + 1 : at + 3]] == [
        *("runtime: mgb::Graph::run(…): 600 B", "runtime: others: 400 B")
    ]
    outer, inner = area(cells[at]), sum(map(area, cells[at + 1 : at + 3]))
    assert 0.8 * outer < inner < outer
    assert screen or [cell.label for cell in cells[at : at + 2]] == [
        *("runtime 1.0 KiB", "mgb::Graph::run")
    ]


def test_where_the_plain_build_is_not_known_only_what_ships_is_named() -> None:
    empty = ByteMap(artifact="a", variant="reduced", components=(component("x", 0, 0),))
    assert draw_map(empty)[0].cells == ()
    found = ByteMap(artifact="a", variant="reduced", components=(component("x", 200),))

    assert [[cell.title for cell in each.cells] for each in draw_map(found)] == [
        ["x: 200 B (100.0% of the file)"]
    ] * 2


def test_small_ones_share_a_cell() -> None:
    many = tuple(component(f"c{number}", 10_000 - 33 * number) for number in range(300))
    found = ByteMap(artifact="a", variant="reduced", components=many)

    broad, narrow = draw_map(found)

    assert len(narrow.cells) < len(broad.cells) < 300
    assert broad.cells[-1].title.startswith("smaller ones: ")


def test_names_are_shortened_to_what_says_most() -> None:
    names = ("kernels/naive/elemwise_multi_type", "a" * 90)
    for width, expected in (
        (400, f"{names[0]} 400 B"),
        (200, "elemwise_multi_type"),
        (100, "elemwise_m…"),
    ):
        components = (component(names[0], width, width), component(names[1], 956 - width, 0))
        found = ByteMap(artifact="a", variant="reduced", components=components)
        cells = {cell.title[:7]: cell for cell in draw_map(found)[0].cells}
        assert cells["kernels"].label == expected


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("mgb::Map<…>::find(…)", "mgb::Map::find"),
        ("mgb::(anonymous namespace)::run(…)", "mgb::(anonymous namespace)::run"),
        ("mgb::F::operator()(…) const", "mgb::F::operator()"),
        (".rodata", ".rodata"),
    ],
)
def test_a_symbol_has_no_arguments(label: str, shown: str) -> None:
    part = component("runtime", 1000, None, symbol(label, 600))
    found = ByteMap(artifact="a", variant="reduced", components=(part,))

    assert [cell.label for cell in draw_map(found)[0].cells][1] == shown


def test_the_example_of_the_paper() -> None:
    """Values 6, 6, 4, 3, 2, 2, 1 in a frame of 6 by 4 (Bruls, Huizing, van Wijk, figure 6)."""
    assert layout([], width=3, height=2) == ()
    assert layout([7], width=3, height=2) == (Tile(x=0, y=0, width=3, height=2),)
    tiles = layout([6, 6, 4, 3, 2, 2, 1], width=6, height=4)

    rounded = [
        tuple(round(value, 2) for value in (tile.x, tile.y, tile.width, tile.height))
        for tile in tiles
    ]
    assert rounded == [
        (0, 0, 3, 2),
        (0, 2, 3, 2),
        (3, 0, 1.71, 2.33),
        (4.71, 0, 1.29, 2.33),
        (3, 2.33, 1.2, 1.67),
        (4.2, 2.33, 1.2, 1.67),
        (5.4, 2.33, 0.6, 1.67),
    ]


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_areas_are_in_ratio_and_inside(values: list[int]) -> None:
    values.sort(reverse=True)
    tiles = layout(values, width=100, height=34)

    for value, tile in zip(values, tiles, strict=True):
        assert tile.width * tile.height == pytest.approx(3400 * value / sum(values), rel=1e-6)
        assert -1e-6 <= tile.x <= tile.x + tile.width <= 100 + 1e-6
        assert -1e-6 <= tile.y <= tile.y + tile.height <= 34 + 1e-6
    corners = [(round(tile.x, 6), round(tile.y, 6)) for tile in tiles]
    assert len(set(corners)) == len(corners)
