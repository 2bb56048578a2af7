import io
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.build_spec import BuildSpec, LinkSpec, Variant
from megtrim.chain.store import StageFolder, Store
from megtrim.size import byte_tables
from megtrim.trim.builds import variants
from megtrim.trim.results import BuildResult
from megtrim.util.console import Console
from megtrim.util.errors import InfrastructureFailure, ProductFailure
from unit.elf.made_objects import Named, Part, object_file
from unit.trim.stages.results import BUILD
from unit.trim.stages.support import changed
from unit.trim.stages.switch_builds import made as prepare


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
