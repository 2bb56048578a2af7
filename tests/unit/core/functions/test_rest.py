import struct
from dataclasses import replace

import pytest

from megtrim.core.functions import cutter, rest
from megtrim.libs.elf.objects import Object
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.errors import InputError, ProductFailure
from unit.core.functions.made_links import functions
from unit.libs.elf.made_objects import (
    ALLOC,
    ARM,
    DATA,
    EXECUTE,
    WRITE,
    Named,
    Part,
    archive,
    object_file,
    read,
)

BODY = bytes(range(32))
Needed = set[tuple[str, str]]


def part(name: str, *relocations: tuple[int, int, str, int], flags: int = ALLOC | EXECUTE) -> Part:
    return Part(name=name, content=BODY, flags=flags, relocations=relocations)


def symbol(name: str, of: str = "", kind: int = 2) -> Named:
    return Named(name=name, part=of or f".text.{name}", size=32, kind=kind)


def whole(*names: str) -> rest.Deferred:
    return rest.Deferred(whole=frozenset(names))


def renamed(
    parts: list[Part],
    symbols: list[Named],
    *names: str,
    needed: Needed | None = None,
    cut: tuple[str, ...] = (),
) -> list[str]:
    data = bytearray(object_file(parts, symbols))
    deferred = rest.Deferred(whole=frozenset(names), cut=frozenset(cut))
    for at, new in rest.edits(bytes(data), deferred, needed, (), source="a.o"):
        data[at : at + len(new)] = new
    return [name for name in read(bytes(data)).sections if name.startswith((".rest", ".rdat"))]


CALL = ((4, 283, "two", 0),)
ONE = part(".text.one", *CALL)
TWO = part(".text.two")
TABLE = part(".gcc_except_table.one", flags=ALLOC)
BOTH = [symbol("one"), symbol("two")]


@pytest.mark.parametrize(
    ("parts", "symbols", "names", "expected"),
    [
        pytest.param([ONE, TWO], BOTH, ("one",), [".rest.one"], id="one of two"),
        pytest.param(
            [TWO, TABLE, part(".text.one")],
            BOTH,
            ("one",),
            [".restexcept_table.one", ".rest.one"],
            id="with its exception table",
        ),
        pytest.param([TABLE, TWO], [symbol("two")], ("two",), [".rest.two"], id="not another's"),
        pytest.param(
            [part(".text")],
            [symbol("one", ".text"), symbol("two", ".text")],
            ("one",),
            [],
            id="not with one that stays",
        ),
        pytest.param([part(".text.one")], [symbol("one", kind=DATA)], ("one",), [], id="no data"),
        pytest.param(
            [part(".text.one", flags=ALLOC | WRITE)], [symbol("one")], ("one",), [], id="no code"
        ),
        pytest.param([part(".init")], [symbol("one", ".init")], ("one",), [], id="another place"),
    ],
)
def test_which_sections_are_renamed(
    parts: list[Part], symbols: list[Named], names: tuple[str, ...], expected: list[str]
) -> None:
    assert renamed(parts, symbols, *names) == expected


def test_what_unwinds_a_function_of_arm_goes_with_it() -> None:
    """The index stays, though its name may end as that of the function's section."""
    parts = [
        Part(name=".ARM.extab.text.one", content=BODY, flags=ALLOC),
        Part(name=".ARM.extab.text.two", content=BODY, flags=ALLOC),
        Part(name=".text.one", content=BODY, relocations=((4, 28, "two", 0),)),
        Part(name=".text.two", content=BODY),
    ]
    data = bytearray(object_file(parts, BOTH, machine=ARM))
    for at, new in rest.edits(
        bytes(data), rest.Deferred(whole=frozenset(["one"])), None, (), source="a.o"
    ):
        data[at : at + len(new)] = new
    names = [each.name for each in Object(bytes(data)).sections]
    assert names[1:5] == [".restextab.text.one", ".ARM.extab.text.two", ".rest.one", ".text.two"]


def test_what_was_cut_off_is_renamed_where_its_function_is_cut() -> None:
    parts = [part(".text.one"), part(".text.split.one"), part(".text.split.other")]
    assert renamed(parts, [symbol("one")], cut=("one",)) == [".rest.split.one"]
    assert renamed(parts, [symbol("one")]) == []


TEXT = part(".rodata.str1.1", flags=ALLOC | 0x30)
POINTERS = part(".data.rel.ro.names", flags=ALLOC | WRITE)
OTHERS = (
    part(".data.names", flags=ALLOC | WRITE),
    part(".rodata.cold", flags=ALLOC | EXECUTE),
    part(".data.rel.ro.local", flags=ALLOC | WRITE | 0x400),
    part(".init_array", flags=ALLOC | WRITE),
)


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        (None, []),
        (set(), [".rdatta.str1.1", ".rdat.rel.ro.names"]),
        ({("", TEXT.name)}, [".rdat.rel.ro.names"]),
        ({("other.o", TEXT.name), ("", POINTERS.name)}, [".rdatta.str1.1"]),
    ],
)
def test_data_that_is_not_needed_is_renamed(needed: Needed | None, expected: list[str]) -> None:
    parts = [TEXT, POINTERS, *OTHERS, part(".text.one")]
    assert renamed(parts, [symbol("one")], needed=needed) == expected


def test_deferred_functions_may_refer_to_nothing() -> None:
    data = bytearray(object_file([ONE, TWO, part(".text.three", *CALL)], BOTH))
    for at, new in rest.forget(bytes(data), whole("one", "two"), source="a.o"):
        data[at : at + len(new)] = new
    made = read(bytes(data))
    assert [len(made.relocations[name]) for name in (".rela.text.one", ".rela.text.three")] == [
        0,
        1,
    ]


ADRP = 0x90000001
LDR = 0xF9400021
ADD = 0x91000021
LDR_W = 0xB9400021
GOT_PAGE = 311
GOT_LOAD = 312
GOT_SHORT = 313
NEAR_PAGE = 275
NEAR_ADD = 277
Steps = list[tuple[int, int, str]]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(
            [(ADRP, GOT_PAGE, "own"), (LDR, GOT_LOAD, "own")],
            [(ADRP, NEAR_PAGE), (ADD, NEAR_ADD)],
            id="its own",
        ),
        pytest.param(
            [(ADRP, GOT_PAGE, "far"), (LDR, GOT_LOAD, "far")],
            [(ADRP, GOT_PAGE), (LDR, GOT_LOAD)],
            id="another file's",
        ),
        pytest.param(
            [(ADRP, GOT_PAGE, "own"), (LDR, GOT_LOAD, "own"), (LDR, GOT_SHORT, "own")],
            [(ADRP, GOT_PAGE), (LDR, GOT_LOAD), (LDR, GOT_SHORT)],
            id="also in a way that cannot be edited",
        ),
        pytest.param(
            [(ADRP, GOT_PAGE, "own"), (LDR_W, GOT_LOAD, "own")],
            [(ADRP, GOT_PAGE), (LDR_W, GOT_LOAD)],
            id="half of it",
        ),
    ],
)
def test_code_computes_what_is_near(steps: Steps, expected: list[tuple[int, int]]) -> None:
    content = b"".join(struct.pack("<I", code) for code, _, _ in steps)
    used = tuple((4 * at, kind, name, 0) for at, (_, kind, name) in enumerate(steps))
    code = Part(name=".text.one", content=content, relocations=used)
    data = bytearray(
        object_file([code, TWO], [symbol("own", ".text.two"), symbol("far", TWO.name)])
    )
    for at, new in rest.edits(bytes(data), whole(), None, {"own"}, source="a.o"):
        data[at : at + len(new)] = new
    unit = Object(bytes(data))
    (table,) = unit.relocated[1]
    made = zip(
        struct.unpack(f"<{len(steps)}I", unit.content(unit.sections[1])),
        (each.kind for each in unit.relocations(unit.sections[table])),
        strict=True,
    )
    assert [*made] == expected


def test_every_object_of_an_archive_is_edited() -> None:
    member = object_file([part(".text.one")], [symbol("one")])
    data = archive({"a.o": member, "b.o": member})
    found = rest.edits(data, whole("one"), None, (), source="a.a")
    assert [new for _, new in found] == [b".rest", b".rest"]


def test_a_damaged_object_is_refused() -> None:
    data = object_file([part(".text.one")], [symbol("one")])
    with pytest.raises(InputError, match=r"a\.o: a damaged object"):
        rest.edits(data[:-80], whole("one"), None, (), source="a.o")


BEFORE = functions(("one", 0x10000, 32), ("two", 0x10100, 32))
PLACE = range(0x10100, 0x10200)


@pytest.mark.parametrize(
    ("deferred", "after", "problem"),
    [
        (("two",), BEFORE, ""),
        (("one", "two"), BEFORE, ""),
        (("one",), BEFORE, "functions that are to stay lie in the rest, two"),
        (
            ("one",),
            functions(("one", 0x10000, 32)),
            "functions that are to be deferred are still there, one",
        ),
        (("two",), functions(("two", 0x10100, 9), ("one.cold", 0x10110, 9)), ""),
        (
            ("one",),
            functions(("two.cold", 0x10110, 9)),
            "functions that are to stay lie in the rest, two.cold",
        ),
        (("two",), replace(BEFORE, exported=frozenset({"new"})), "names became exported"),
        (("two",), replace(BEFORE, exported=frozenset({"megtrim_rest"})), ""),
        (("two",), replace(BEFORE, registrations=-1), "less is called before main"),
    ],
)
def test_the_link_is_proven(deferred: tuple[str, ...], after: FunctionTable, problem: str) -> None:
    there = rest.Deferred(whole=frozenset(deferred), cut=frozenset({"one"}))
    try:
        rest.prove(BEFORE, after, there, PLACE, source="program")
        said = ""
    except ProductFailure as failure:
        said = failure.message
    assert problem in said
    assert bool(problem) == bool(said)


def test_a_file_that_the_script_did_not_lay_out_is_refused() -> None:
    data = object_file([part(".text.one")], [symbol("one")], kind=3)
    for act in (
        lambda: rest.find_place(data, source="a"),
        lambda: cutter.cut(data, "a", BEFORE, source="a"),
    ):
        with pytest.raises(ProductFailure, match=r"nothing was deferred|cannot be split off"):
            act()
