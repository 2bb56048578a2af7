import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.build_spec import BuildSpec, LinkSpec, Variant
from megtrim.core.chain.result_store import StageFolder, Store
from megtrim.core.size import byte_tables
from megtrim.core.size.byte_table import (
    LONGEST_LABEL,
    MOST_COMPONENTS,
    SMALLER,
    ByteTable,
    LabelChange,
    list_largest,
    make_map,
    make_table,
)
from megtrim.core.trim.builds import variants
from megtrim.core.trim.results import BuildResult
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InfrastructureFailure, ProductFailure
from unit.core.trim.stages.results import BUILD
from unit.core.trim.stages.support import changed
from unit.core.trim.stages.switch_builds import made as prepare
from unit.libs.elf.made_objects import Named, Part, object_file


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


def change(label: str, before: int, after: int) -> LabelChange:
    return LabelChange(component="ops", label=label, before=before, after=after)


def test_the_others_are_one_row() -> None:
    changes = [change("a", 0, 90), change("b", 60, 0), change("c", 5, 9), change("d", 7, 7)]

    found = list_largest(changes, 1)

    assert [(each.label, each.growth) for each in found] == [("a", 90), ("[2 others]", -56)]
    assert [each.label for each in list_largest(changes, 3)] == ["a", "b", "c"]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=9), st.integers(0, 9))
def test_they_add_up(sizes: list[tuple[int, int]], most: int) -> None:
    changes = [change(str(number), *each) for number, each in enumerate(sizes)]

    found = list_largest(changes, most)

    growth = sum(after - before for before, after in sizes)
    assert sum(each.growth for each in found) == growth
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
    """Those that are few bytes, and those beyond the most that are listed."""
    kept = {f"k{number:03}": {"f": 1000 - number} for number in range(60)} | {"k": {"f": 9}}
    left_out = {f"l{number:03}": {"f": 5000 - number} for number in range(60)} | {"l": {"f": 9}}
    for shown in (60, 3):
        ours, theirs = (
            {name: each for name, each in of.items() if len(name) == 1 or int(name[1:]) < shown}
            for of in (kept, left_out)
        )
        found = make_map("app", "reduced", make_byte_table(ours), make_byte_table(ours | theirs))

        listed = 2 * min(shown, MOST_COMPONENTS)
        assert len(found.components) == listed + 1
        last = found.components[-1]
        assert last.name == f"[{2 * shown + 2 - listed} others]"
        assert last.stands_for_several
        assert found.kept_bytes == sum(sum(each.values()) for each in ours.values())


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
        ({"damage": b"\x7fELF"}, "the bytes left out of app will not be known"),
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
