"""Units that are compiled again: which functions are cut, and by which words."""

from pathlib import Path

import pytest

from megtrim.core.functions.link_map import name_object
from megtrim.libs.elf.objects import members
from megtrim.libs.util.errors import InputError
from megtrim.places.compile.projects.builder import choose_units
from megtrim.places.compile.projects.link.splitting import (
    CompiledUnit,
    find_cut,
    replace_members,
    without_outputs,
)
from unit.libs.elf.made_objects import Named, Part, archive, object_file

BODY = bytes(range(32))


def unit(*names: str, calls: str = "", part: str = ".text.{}", kind: int = 2) -> bytes:
    use = ((4, 283, calls, 0),) if calls else ()
    parts = [Part(name=part.format(each), content=BODY, relocations=use) for each in names]
    symbols = [Named(name=each, part=part.format(each), size=32, kind=kind) for each in names]
    if calls:
        parts.append(Part(name=".data.of", content=BODY))
        symbols.append(Named(name=calls, part=".data.of", kind=1))
    parts.append(Part(name=".llvm_bb_addr_map", content=b"", flags=0))
    return object_file(parts, symbols)


@pytest.mark.parametrize(
    ("data", "cut"),
    [
        (unit("f", "g"), ("f", "g")),
        (unit("f", "other"), ("f",)),
        (unit("f", calls="printf"), ("f",)),
        (unit("f", calls="pthread_cond_timedwait"), ()),
        (unit("f", calls="pthread_mutex_lock"), ()),
        (unit("f", calls="getenv"), ()),
        (unit("f", calls="usleep"), ()),
        (unit("f", part=".text"), ()),
        (unit("f", part=".init"), ()),
        (unit("f", kind=1), ()),
        (b"", ()),
        (b"!<arch>\n", ()),
        (b"BC\xc0\xde of another kind", ()),
    ],
)
def test_which_functions_of_an_object_are_cut(data: bytes, cut: tuple[str, ...]) -> None:
    assert find_cut(data, ("f", "g"), source="a.o") == cut


def test_a_damaged_object_is_refused() -> None:
    with pytest.raises(InputError, match=r"^a\.o: a damaged object"):
        find_cut(unit("f")[:-80], ("f",), source="a.o")


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("cc -O2 -c a.c -o a.o", "cc -O2 -c a.c"),
        ("cc -MD -MT a.o -MF a.o.d -o a.o -c a.c", "cc -c a.c"),
        ("cc -fbasic-block-address-map -MMD -MQ x -c a.c", "cc -c a.c"),
        ("cc -MD -MFa.d -MTa.o -MQa.o -MP -c a.c", "cc -c a.c"),
        ("cc -Wp,-MMD,a.d -MJa.json -save-temps=obj -Wp,-DA -c a.c", "cc -Wp,-DA -c a.c"),
        ("cc -MJ a.json --serialize-diagnostics a.dia -Mx -c a.c", "cc -Mx -c a.c"),
    ],
)
def test_a_command_writes_nothing_of_the_build(words: str, left: str) -> None:
    assert " ".join(without_outputs(words.split())) == left


def test_members_are_replaced_by_their_content() -> None:
    first = unit("f")
    second = unit("g")
    long = "a_name_that_is_longer_than_fifteen.o"
    data = archive({"//": f"{long}/\n".encode(), "/0": first, "b.o/": second})

    made = replace_members(data, {first: b"\x7fELF, odd"})

    assert made is not None
    found = {name: made[start:end] for name, start, end in members(memoryview(made))}
    assert found == {long: b"\x7fELF, odd", "b.o": second}
    assert replace_members(data, {b"another": b""}) is None


@pytest.mark.parametrize(
    ("holders", "chosen"),
    [
        (("a.cc.o",), ["a.cc.o"]),
        (("a.cc.o", "b.cc.o"), ["a.cc.o", "b.cc.o"]),
        (("lt1-a.o",), ["a.cc.o", "b.cc.o"]),
    ],
)
def test_of_copies_only_the_one_that_the_link_took_is_compiled(
    holders: tuple[str, ...], chosen: list[str]
) -> None:
    units = tuple(
        CompiledUnit(output=Path("obj", name), words=(), folder=Path("obj"))
        for name in ("a.cc.o", "b.cc.o")
    )
    assert [unit.output.name for unit in choose_units(units, holders)] == chosen


def test_the_name_of_an_object_says_neither_folder_nor_archive() -> None:
    assert name_object("src/dir/a.cc.o") == "a.cc.o"
    assert name_object("lib/libx.a(b.cc.o)") == "b.cc.o"
