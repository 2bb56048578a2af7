import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.core.build_spec import StubForm
from megtrim.core.functions import local_functions
from megtrim.libs.elf.objects import Object
from megtrim.libs.util.errors import InputError
from unit.libs.elf.made_objects import (
    AARCH64,
    ALLOC,
    ARM,
    CALL,
    DATA,
    DISTANCE,
    EXECUTE,
    EXIDX,
    IFUNC,
    NO_TYPE,
    POINTER,
    WRITE,
    X86_64,
    Named,
    Part,
    Read,
    archive,
    object_file,
    read,
    unwind_table,
)

BODY = bytes(range(32))
THUMB = -1
"""Of 32-bit Arm."""


def function(name: str, *relocations: tuple[int, int, str, int], size: int = 32) -> Part:
    return Part(name=f".text.{name}", content=BODY[:size], relocations=relocations)


def symbol(name: str, *, size: int = 32, kind: int = 2, at: int = 0, part: str = "") -> Named:
    return Named(name=name, part=part or f".text.{name}", size=size, kind=kind, at=at)


def emptied(
    data: bytes, *names: str, form: StubForm = StubForm.SHARED, unwind_tables: bool = True
) -> bytes:
    numbers = local_functions.number_names(names)
    edits = local_functions.edits(
        data, numbers, source="x.o", form=form, unwind_tables=unwind_tables
    )
    copy = bytearray(data)
    for at, content in edits:
        copy[at : at + len(content)] = content
    assert len(copy) == len(data)
    assert all(copy[at : at + len(content)] == content for at, content in edits)
    return bytes(copy)


def sizes(made: Read) -> dict[str, int]:
    return {
        name: len(content) for name, (_, content, _) in made.sections.items() if "text." in name
    }


TWO = object_file(
    [
        function("one", (8, CALL[AARCH64], ".text.two", 0), (16, CALL[AARCH64], "other", 0)),
        function("two", (4, CALL[AARCH64], "other", 0)),
        function("other"),
    ],
    [symbol("one"), symbol("two"), symbol("other")],
)


@pytest.mark.parametrize("machine", [AARCH64, X86_64])
def test_a_function_becomes_a_trap(machine: int) -> None:
    trap = local_functions.trap(machine)
    call = (8, CALL[machine], "two", 0 if machine == AARCH64 else -4)
    parts = [function("one", call), function("two", call)]
    data = object_file(parts, [symbol("one"), symbol("two")], machine=machine)
    before = read(data)
    after = read(emptied(data, "one"))

    assert after.sections[".text.one"] == (6, trap, len(trap))
    assert after.symbols == {"one": len(trap), "two": 32}
    assert after.relocations == {".rela.text.one": (), ".rela.text.two": ((8, ".text.two"),)}
    assert after.sections[".text.two"] == before.sections[".text.two"]


def test_every_member_of_an_archive_is_emptied_alike() -> None:
    last = object_file([function("last")], [symbol("last")])
    data = archive({"one.o/": TWO, "last.o/": last, "again.o/": TWO})
    made = emptied(data, "two")

    assert made == archive(
        {"one.o/": emptied(TWO, "two"), "last.o/": last, "again.o/": emptied(TWO, "two")}
    )
    assert sizes(read(emptied(TWO, "two"))) == {
        ".text.one": 32,
        ".text.two": 4,
        ".text.other": 32,
        ".rela.text.one": 48,
        ".rela.text.two": 0,
    }


def test_all_names_of_a_function_must_be_given_up() -> None:
    data = object_file(
        [function("one")], [symbol("one"), symbol("alias", part=".text.one", kind=2)]
    )

    assert emptied(data, "one") == data
    assert local_functions.edits(data, local_functions.number_names(["two"]), source="x.o") == []
    assert read(emptied(data, "alias", "one")).symbols == {"one": 4, "alias": 4}


def next_to(second: Named) -> bytes:
    return object_file([function("one")], [symbol("one"), second])


def alone(part: Part, size: int) -> bytes:
    return object_file([part], [symbol("one", size=size, part=part.name)])


def with_part(part: Part) -> bytes:
    return object_file([function("one"), part], [symbol("one")])


PLAIN = object_file([function("one")], [symbol("one")])
STAYS = {
    # What lies behind would be gone, whatever it is, and whether it is given up or not.
    "another function": next_to(symbol("second", at=16, size=16, part=".text.one")),
    "a label": next_to(symbol("second", at=8, size=0, kind=NO_TYPE, part=".text.one")),
    "a table": next_to(symbol("second", at=24, size=8, kind=DATA, part=".text.one")),
    "an ifunc": next_to(symbol("second", kind=IFUNC, part=".text.one")),
    # No section of the function's own: code behind it, pieces that make a function, data, no room.
    "code behind it": alone(Part(name=".text.one", content=BODY), 16),
    "no size": alone(Part(name=".text.one", content=BODY), 0),
    "pieces": alone(Part(name=".init", content=BODY), 32),
    "data": alone(Part(name=".text.one", content=BODY, flags=ALLOC | WRITE), 32),
    "no room": alone(Part(name=".text.one", content=BODY[:2]), 2),
    # Linked files, other machines, what GCC compiles at the link, scripts.
    "shared": object_file([function("one")], [symbol("one")], kind=3),
    "riscv": object_file([function("one")], [symbol("one")], machine=243),
    "32 bits": PLAIN.replace(b"\x7fELF\x02", b"\x7fELF\x01"),
    "lto": with_part(Part(name=".gnu.lto_one", content=b"x", flags=0)),
    "other relocations": with_part(Part(name=".rel.x", content=b"x", flags=0, kind=9)),
    "a script": b"INPUT(-lc++_static)",
}


@pytest.mark.parametrize("what", STAYS)
def test_what_stays_as_it_is(what: str) -> None:
    for unwind_tables in (True, False):
        assert emptied(STAYS[what], "one", "second", unwind_tables=unwind_tables) == STAYS[what]


MARKS = [symbol(name, size=0, kind=NO_TYPE, part=".text.one") for name in ("$x", "$d.4")]


@pytest.mark.parametrize(
    ("symbols", "options"),
    [
        ([*MARKS, symbol("one")], {}),
        ([symbol("one", size=17)], {}),
        # Symbols of large objects have their sections in a table of their own.
        ([symbol("one")], {"extended": True}),
    ],
    ids=["signs of code and data are no names", "padding is no code", "very many sections"],
)
def test_what_goes_all_the_same(symbols: list[Named], options: dict[str, bool]) -> None:
    made = read(emptied(object_file([function("one")], symbols, **options), "one"))

    assert sizes(made) == {".text.one": 4}
    assert made.symbols == {each.name: 4 if each.name == "one" else 0 for each in symbols}


@pytest.mark.parametrize(
    ("machine", "addend", "emptied_as_well"),
    [(AARCH64, 0, True), (AARCH64, 8, False), (X86_64, -4, True), (X86_64, 4, False)],
)
def test_what_is_entered_behind_its_beginning_stays(
    machine: int, addend: int, emptied_as_well: bool
) -> None:
    jump = (8, CALL[machine], ".text.two", addend)
    parts = [function("one", jump), function("two")]
    data = object_file(parts, [symbol("one"), symbol("two")], machine=machine)

    assert (emptied(data, "two") != data) == emptied_as_well
    assert {sizes(read(emptied(data, "one", "two")))[f".text.{name}"] for name in
            ("one", "two")} == {len(local_functions.trap(machine))}  # fmt: skip


def test_what_stays_keeps_what_it_enters_in_turn() -> None:
    names = ("kept", "one", "two", "three")
    calls = zip(names, names[1:], (4, 4, 0), strict=False)
    parts = [function(name, (8, CALL[AARCH64], f".text.{to}", at)) for name, to, at in calls]
    data = object_file([*parts, function("three")], [symbol(name) for name in names])
    made = sizes(read(emptied(data, "one", "two", "three")))

    assert [made[f".text.{name}"] for name in names] == [32, 32, 32, 4]


def test_tables_of_a_switch_keep_nothing() -> None:
    table = Part(
        name=".rodata.one",
        content=bytes(16),
        flags=ALLOC,
        relocations=((0, POINTER[AARCH64], ".text.one", 8), (8, POINTER[AARCH64], ".text.one", 16)),
    )
    data = object_file([function("one"), table], [symbol("one")])
    made = read(emptied(data, "one"))

    assert sizes(made)[".text.one"] == 4
    assert len(made.relocations[".rela.rodata.one"]) == 2


def test_the_cold_half_goes_with_its_function_only() -> None:
    """GCC has tables of the hot half lead into the cold one, too."""
    half = symbol("one.cold", part=".text.unlikely.one")
    parts = [function("one"), Part(name=".text.unlikely.one", content=BODY)]
    data = object_file(parts, [symbol("one"), half])

    assert emptied(data, "one.cold") == data
    assert set(sizes(read(emptied(data, "one", "one.cold"))).values()) == {4}


EXCEPTIONS = Part(name=".gcc_except_table.one", content=bytes(8), flags=ALLOC)
UNWOUND = object_file(
    [
        function("one"),
        function("two"),
        EXCEPTIONS,
        unwind_table((".text.one", ".gcc_except_table.one"), ("two", None)),
    ],
    [symbol("one"), symbol("two")],
)


@pytest.mark.parametrize(
    ("name", "gone", "lengths"), [("one", {20, 29}, [0, 32]), ("two", {44}, [32, 0])]
)
def test_the_unwind_entry_goes_with_its_function(
    name: str, gone: set[int], lengths: list[int]
) -> None:
    """All that it refers to, so that the tables of its exceptions go, too; the other stays.

    The entry covers nothing then, for some linkers go by the length of a function.
    """
    before = read(UNWOUND)
    made = read(emptied(UNWOUND, name))

    references = before.relocations[".rela.eh_frame"]
    assert references == ((20, ".text.one"), (29, ".gcc_except_table.one"), (44, ".text.two"))
    assert made.relocations[".rela.eh_frame"] == tuple(
        (at, "" if at in gone else target) for at, target in references
    )
    content = made.sections[".eh_frame"][1]
    assert [int.from_bytes(content[at : at + 4], "little") for at in (24, 48)] == lengths


def test_unwind_entries_go_altogether() -> None:
    before = read(UNWOUND)
    made = read(emptied(UNWOUND, unwind_tables=False))

    assert made.relocations[".rela.eh_frame"] == ((20, ""), (29, ""), (44, ""))
    assert {name for name, was in before.sections.items() if made.sections[name] != was} == {
        ".eh_frame",
        ".rela.eh_frame",
    }


def test_functions_tell_their_places_among_the_names() -> None:
    data = object_file(
        [Part(name=f".text.{name}", content=bytes(200)) for name in ("one", "two")],
        [symbol(name, size=200) for name in ("one", "two")],
    )
    made = read(emptied(data, "two", "three", "one", form=StubForm.REPORTING))

    assert made.sections[".text.one"][1] == local_functions.report_and_trap(AARCH64, 2)
    assert made.sections[".text.two"][1] == local_functions.report_and_trap(AARCH64, 0)
    assert made.symbols["one"] == len(local_functions.report_and_trap(AARCH64, 2))


@pytest.mark.parametrize("form", StubForm)
def test_no_function_gets_an_odd_address(form: StubForm) -> None:
    """An odd address in a pointer to a member function means a virtual one."""
    names = ("one", "other")
    data = object_file(
        [Part(name=f".text.{name}", content=bytes(100)) for name in names],
        [symbol(name, size=100) for name in names],
        machine=X86_64,
    )
    made = read(emptied(data, *names, form=form))

    assert [made.sections[f".text.{name}"][2] for name in names] == [2, 2]


def of_arm(*, branch: str = "feffffeb", kind: int = CALL[ARM], at: int = 8) -> bytes:
    """Return an object of two Arm functions and a Thumb one, with entries for unwinding.

    ``branch``: of the first to the second, at an offset.
    """
    calling = BODY[:at] + bytes.fromhex(branch) + BODY[at + 4 :]
    index = Part(
        name=".ARM.exidx",
        kind=EXIDX,
        content=bytes(8) + b"\xb0\xb0\xb0\x80" * 2 + bytes(8),
        flags=ALLOC,
        relocations=(
            (0, DISTANCE[ARM], ".text.one", 0),
            (0, 0, "other", 0),
            (4, 42, ".extab", 0),
            (8, DISTANCE[ARM], "two", 0),
            (16, DISTANCE[ARM], "thumb", 0),
            (20, 42, ".extab", 8),
        ),
    )
    parts = [
        Part(name=".text.one", content=calling, relocations=((at, kind, ".text.two", 0),)),
        function("two"),
        function("thumb"),
        function("other"),
        index,
        Part(name=".extab", content=bytes(16), flags=ALLOC),
    ]
    names = [symbol("one"), symbol("two"), symbol("thumb", at=1), symbol("other")]
    return object_file(parts, names, machine=ARM)


def test_functions_of_32_bit_arm_become_traps() -> None:
    """Thumb code, too. Nothing unwinds through them, and nothing names their tables any more."""
    before = read(of_arm())
    after = read(emptied(of_arm(), "one", "thumb"))

    assert after.sections[".text.one"] == (6, bytes.fromhex("fedeffe7"), 4)
    assert after.sections[".text.thumb"] == (6, bytes.fromhex("fede"), 4)
    assert after.symbols == {"one": 4, "two": 32, "thumb": 2, "other": 32}
    assert after.relocations[".rel.text.one"] == ()
    gone = {1, 2, 5}
    assert after.relocations[".rel.ARM.exidx"] == tuple(
        (at, "" if number in gone else target)
        for number, (at, target) in enumerate(before.relocations[".rel.ARM.exidx"])
    )
    cannot = (1).to_bytes(4, "little")
    content = before.sections[".ARM.exidx"][1]
    expected = content[:4] + cannot + content[8:20] + cannot
    assert after.sections[".ARM.exidx"][1] == expected
    assert read(emptied(of_arm(), unwind_tables=False)).sections[".ARM.exidx"][1] == (
        content[:4] + cannot + content[8:12] + cannot + content[16:20] + cannot
    )


@pytest.mark.parametrize(
    ("branch", "kind", "goes"),
    [
        ("feffffeb", 28, True),  # bl to the beginning
        ("000000ea", 29, False),  # b to 8 bytes behind it
        ("fff7feff", 10, True),  # Thumb's bl
        ("00f002f8", 10, False),  # to 8 bytes behind it
        ("fff7febf", 30, True),  # b.w
        ("f8ffffff", 3, True),  # an address, counted from somewhere
    ],
)
def test_what_a_branch_of_32_bit_arm_enters_behind_its_beginning_stays(
    branch: str, kind: int, *, goes: bool
) -> None:
    data = of_arm(branch=branch, kind=kind)

    assert (emptied(data, "two") != data) == goes


@pytest.mark.parametrize("size", [4, 20, 63, 64, 300, len(TWO) - 1])
def test_an_object_that_is_cut_off(size: int) -> None:
    with pytest.raises(InputError) as caught:
        local_functions.edits(TWO[:size], local_functions.number_names(["two"]), source="lib/x.o")
    assert str(caught.value) == "lib/x.o: a damaged object or archive\n  build it again"


@settings(max_examples=300)
@given(
    st.sampled_from([UNWOUND, of_arm()]),
    st.lists(
        st.tuples(st.integers(0, len(UNWOUND) - 1), st.integers(0, 255)), min_size=1, max_size=12
    ),
)
def test_a_damaged_object_is_refused_or_edited_within_its_bytes(
    whole: bytes,
    damage: list[tuple[int, int]],
) -> None:
    data = bytearray(whole)
    for at, value in damage:
        data[at % len(data)] = value
    for wrapped in (bytes(data), archive({"one.o/": bytes(data)})):
        try:
            numbers = local_functions.number_names(["one", "two"])
            form = StubForm.REPORTING
            edits = local_functions.edits(wrapped, numbers, source="x.o", form=form)
        except InputError:
            continue
        assert all(at >= 0 and at + len(new) <= len(wrapped) for at, new in edits)


NAMES = st.sampled_from(["one", "two", "three", "four"])


@given(
    st.lists(st.tuples(NAMES, NAMES, st.sampled_from([0, 0, 4, 12])), max_size=6),
    st.sets(NAMES),
    st.sampled_from(StubForm),
)
def test_what_stays_is_whole(
    jumps: list[tuple[str, str, int]], given_up: set[str], form: StubForm
) -> None:
    names = ("one", "two", "three", "four")
    parts = [
        function(
            name,
            *(
                (4 * at, CALL[AARCH64], f".text.{target}", offset)
                for at, (source, target, offset) in enumerate(jumps)
                if source == name
            ),
        )
        for name in names
    ]
    data = object_file(parts, [symbol(name) for name in names])
    made = read(emptied(data, *sorted(given_up), form=form))
    stays = {name for name in names if made.symbols[name] == 32}

    assert stays >= {*names} - given_up
    for name in stays:
        assert made.sections[f".text.{name}"][1] == BODY
    entered = {target for source, target, offset in jumps if source in stays and offset}
    assert entered <= stays
    assert stays - ({*names} - given_up) <= entered
    assert all(made.sections[f".text.{name}"][0] == ALLOC | EXECUTE for name in names)


MESSAGE = b"megtrim: function #%d is not kept\n"
REPORTS = {
    # As objdump shows it: bti c; mov x8, #64; mov x0, #2; adr x1, +16; mov x2, #33; svc #0; brk #1
    AARCH64: "5f2403d5 080880d2 400080d2 81000010 220480d2 010000d4 200020d4",
    # endbr64; push 1; pop rax; push 2; pop rdi; lea rsi, [rip + 7]; push 33; pop rdx; syscall; ud2
    X86_64: "f30f1efa 6a01 58 6a02 5f 488d3507000000 6a21 5a 0f05 0f0b",
    # mov r7, #4; mov r0, #2; add r1, pc, #8; mov r2, #33; svc #0; udf #65006
    ARM: "0470a0e3 0200a0e3 08108fe2 2120a0e3 000000ef fedeffe7",
    # movs r7, #4; movs r0, #2; adr r1, #8; movs r2, #33; svc #0; udf #254, and its other half
    THUMB: "0427 0220 02a1 2122 00df fede ffe7 0000",
}


@pytest.mark.parametrize(
    ("machine", "number", "code"),
    [
        (AARCH64, 0, "008020d4"),
        (AARCH64, 0x1234, "80c622d4"),
        (AARCH64, 0xFBFF, "e0ff3fd4"),
        (AARCH64, 0xFC00, "008020d4"),
        (X86_64, 0x12345, "0fb98045230100"),
        (ARM, 0x1234, "f463f1e7"),
        (ARM, 0xF900, "f040f0e7"),
        (THUMB, 0x1234, "f1f734a6"),
        (THUMB, 0xF8FF, "fff7ffac"),
    ],
)
def test_a_trap_with_a_number(machine: int, number: int, code: str) -> None:
    """One without is what compilers write for __builtin_trap."""
    plain = {AARCH64: "200020d4", X86_64: "0f0b", ARM: "fedeffe7", THUMB: "fede"}[machine]
    thumb = machine == THUMB
    real = ARM if thumb else machine
    assert local_functions.trap(real, thumb=thumb).hex() == plain
    assert local_functions.numbered_trap(real, number, thumb=thumb).hex() == code


@pytest.mark.parametrize("machine", [ARM, THUMB])
def test_code_of_32_bit_arm_reports_its_number(machine: int) -> None:
    code = local_functions.report_and_trap(ARM, 7, thumb=machine == THUMB)
    assert code == bytes.fromhex(REPORTS[machine]) + MESSAGE % 7


@pytest.mark.parametrize("machine", [AARCH64, X86_64])
def test_code_that_reports_its_number(machine: int) -> None:
    assert (
        local_functions.report_and_trap(machine, 7) == bytes.fromhex(REPORTS[machine]) + MESSAGE % 7
    )
    longer = local_functions.report_and_trap(machine, 123456789)
    assert longer.endswith(MESSAGE % 123456789)
    assert len(longer) == len(local_functions.report_and_trap(machine, 7)) + 8
    if machine == AARCH64:
        assert int.from_bytes(longer[16:20], "little") >> 5 & 0xFFFF == 41
    else:
        assert longer[18] == 41


def of_sizes(*sizes: int, machine: int = AARCH64) -> bytes:
    parts = [Part(name=f".text.f{size}", content=bytes(size)) for size in sizes]
    return object_file(parts, [symbol(f"f{size}", size=size) for size in sizes], machine=machine)


def places(*sizes: int, numbers: dict[int, int]) -> list[tuple[int, int, bytes]]:
    unit = Object(of_sizes(*sizes))
    assert [unit.sections[at].offset for at in (1, 2)] == [64, 64 + sizes[0] + -sizes[0] % 8]
    return list(local_functions.lay_out_sections(unit, range(1, len(sizes) + 1), numbers))


def test_each_has_a_trap_of_its_own_in_its_place() -> None:
    data = of_sizes(8, 4, machine=X86_64)
    made = read(emptied(data, "f4", "f8", form=StubForm.NUMBERED)).sections

    assert made[".text.f8"][1] == local_functions.numbered_trap(X86_64, 1)
    assert made[".text.f4"][1] == local_functions.trap(X86_64)


TRAP = local_functions.trap(AARCH64)
CODES = [local_functions.report_and_trap(AARCH64, number) for number in range(5)]


@pytest.mark.parametrize(
    ("sizes", "numbers", "expected"),
    [
        # Without a number a trap lies where the function lay.
        ((8, 16), {}, [(1, 64, TRAP), (2, 72, TRAP)]),
        # A function of two instructions is known by its number as well.
        (
            (8, 160),
            {1: 3, 2: 4},
            [(1, 72, CODES[3]), (2, 72 + len(CODES[3]) + -len(CODES[3]) % 4, CODES[4])],
        ),
        # Where no room is left, for the function's own place may be another one's code by now.
        ((100, 8, 24), {1: 0, 2: 1, 3: 2}, [(1, 64, CODES[0]), (2, 88, TRAP), (3, 88, TRAP)]),
        # Where there was no room at all.
        ((8, 16), {1: 0, 2: 1}, [(1, 64, TRAP), (2, 72, TRAP)]),
    ],
    ids=["no numbers", "what the larger ones leave", "the trap of another", "no room"],
)
def test_code_with_a_number_lies_where_there_is_room(
    sizes: tuple[int, ...], numbers: dict[int, int], expected: list[tuple[int, int, bytes]]
) -> None:
    assert places(*sizes, numbers=numbers) == expected
