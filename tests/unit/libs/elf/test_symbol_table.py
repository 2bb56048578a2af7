import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.elf import symbol_table
from megtrim.libs.util.errors import InputError
from unit.core.functions.made_links import (
    ARM,
    CODE_AT,
    DATA,
    FILE,
    FUNCTION,
    IFUNC,
    LOCAL,
    NO_TYPE,
    SECTION,
    THREAD,
    WEAK,
    X86_64,
    Symbol,
    functions,
    linked,
    table,
)


def test_functions_are_listed_by_address_under_all_of_their_names() -> None:
    found = table(
        Symbol(name="second", at=16, size=8),
        Symbol(name="hidden", at=8, binding=LOCAL),
        Symbol(name="alias", at=16, size=8, binding=WEAK),
        Symbol(name="number", kind=DATA),
        Symbol(name="puts", at=None),
        Symbol(name="$x", kind=NO_TYPE, binding=LOCAL),
        Symbol(name="main.cpp", kind=FILE, binding=LOCAL),
        Symbol(name="", kind=SECTION, binding=LOCAL),
        entry=CODE_AT + 16,
    )

    assert found.machine == "aarch64"
    assert found.entry == CODE_AT + 16
    assert found.functions == (
        symbol_table.Function("hidden", CODE_AT + 8, 4, local=True),
        symbol_table.Function("alias", CODE_AT + 16, 8, local=False),
        symbol_table.Function("second", CODE_AT + 16, 8, local=False),
    )


def test_what_a_file_shares_with_others_is_shown() -> None:
    offered = Symbol(name="offered")
    number = Symbol(name="number", kind=DATA)
    puts, environ = (Symbol(name=name, at=None) for name in ("puts", "environ"))
    shared = (offered, number, puts, replace(environ, kind=DATA))
    found = table(Symbol(name="mine"), dynamic=shared, machine=X86_64)

    assert found.machine == "x86_64"
    assert found.exported == {"offered", "number"}
    assert found.imported == {"puts", "environ"}


def test_a_stripped_file_shows_what_it_shares(tmp_path: Path) -> None:
    """Not what linkers define (``_end``, versions), nor variables of threads, which stay."""
    kinds = {"offered": FUNCTION, "number": DATA, "picked": IFUNC, "_end": NO_TYPE, "each": THREAD}
    shared = (Symbol(name=name, kind=kind) for name, kind in kinds.items())
    version = Symbol(name="PNG16_0", kind=DATA, size=0, absolute=True)
    puts = Symbol(name="puts", at=None)
    (tmp_path / "a.so").write_bytes(linked((), dynamic=(*shared, version, puts)))

    found = symbol_table.read_dynamic_names(tmp_path / "a.so")
    assert found.exported == {"offered", "number", "picked"}
    assert found.imported >= {"puts"}


def test_what_is_called_before_main_is_counted(tmp_path: Path) -> None:
    program = tmp_path / "lar"
    program.write_bytes(linked(None, registered=(2, 40)))

    assert symbol_table.read_registrations(program) == 42  # in a stripped file, too
    assert table(Symbol(name="f"), registered=(2, 40)).registrations == 42


def test_functions_that_are_something_else_too_are_shown() -> None:
    """What linkers add is no function of the program."""
    added = ("__CortexA53843419_1552004", "__AArch64ADRPThunk_f", "__AArch64AbsLongThunk_f")
    veneers = ("__f_veneer", "__printf@@GLIBC_2.4_veneer", "__puts@@GLIBC_2.4_from_thumb")
    found = table(
        *(Symbol(name=name, binding=LOCAL) for name in (*added, *veneers, "table")),
        *(Symbol(name=name, kind=DATA) for name in ("table", "number")),
        Symbol(name="chosen", kind=IFUNC),
        Symbol(name="veneer"),
    )

    assert [each.name for each in found.functions] == ["chosen", "table", "veneer"]
    assert found.ifuncs == {"chosen"}
    assert found.data == {"table"}


def test_on_32_bit_arm_a_bit_of_an_address_is_no_part_of_it() -> None:
    """It says that the code is Thumb. What a linker inserts before a call leads to a function."""
    thunk = "__ThumbV7PILongThunk__Z3arm"
    other = "__ARMv7ABSLongThunk_two"
    added = (Symbol(name=thunk, at=17), Symbol(name=other, at=24), Symbol(name="__f_from_arm"))
    found = table(
        Symbol(name="thumb", at=1, size=8),
        Symbol(name="_Z3arm", at=8, size=8),
        *added,
        machine=ARM,
        entry=CODE_AT + 1,
        registered=(1, 2),
    )

    assert (found.machine, found.entry, found.registrations) == ("armv7l", CODE_AT, 3)
    assert found.functions == (
        symbol_table.Function("thumb", CODE_AT, 8, thumb=True),
        symbol_table.Function("_Z3arm", CODE_AT + 8, 8),
    )
    assert found.thunks == {CODE_AT + 16: "_Z3arm", CODE_AT + 24: "two"}


@pytest.mark.parametrize(
    ("address", "names"),
    [
        (99, ()),
        (100, ("around", "first")),
        (107, ("around", "first")),
        (108, ("around",)),
        (120, ("around", "inner")),
        (124, ("around",)),
        (139, ("around",)),
        (140, ("bare",)),
        (141, ()),
        (1000, ()),
    ],
)
def test_functions_at_an_address(address: int, names: tuple[str, ...]) -> None:
    found = functions(("around", 100, 40), ("first", 100, 8), ("inner", 120, 4), ("bare", 140, 0))

    assert tuple(each.name for each in found.at(address)) == names
    assert symbol_table.holding(found, [address]) == names


def test_an_empty_function_did_not_run_with_the_one_behind_it() -> None:
    """It lies wherever the linker put the next; alone it may be code of unknown size."""
    found = functions(("empty", 100, 0), ("f", 100, 8), ("label", 104, 0), ("bare", 108, 0))

    assert symbol_table.holding(found, [100, 104]) == ("f",)
    assert symbol_table.holding(found, [108]) == ("bare",)


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=12)


@given(SPANS, st.lists(st.integers(0, 100), max_size=12))
def test_what_holds_addresses_is_what_holds_each(
    spans: list[tuple[int, int]], addresses: list[int]
) -> None:
    found = functions(*((f"f{number}", *span) for number, span in enumerate(spans)))
    wanted = set()
    for address in addresses:
        there = found.at(address)
        wanted |= {e.name for e in there if e.size_bytes} or {e.name for e in there}

    assert symbol_table.holding(found, addresses) == tuple(sorted(wanted))


def test_a_function_that_holds_all_others_costs_no_time() -> None:
    many = [(f"f{number}", 4 * number, 4) for number in range(30_000)]
    found = functions(("all", 0, 1 << 40), *many)
    started = time.process_time()

    assert len(symbol_table.holding(found, range(0, 4 * 30_000, 4))) == 30_001
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (linked([Symbol(name="f")], machine=243), "a file for riscv64; functions are trimmed on"),
        (linked([Symbol(name="f")]).replace(b"\xb7\0\1", b"\x28\0\1", 1), "a file for armv7l; "),
        (linked([Symbol(name="f")], kind=1), "found an object, expected a linked file"),
        (linked(None), "has no symbol table, so its functions have no names"),
        # A name without an end.
        (linked([Symbol(name="abc")]).replace(b"abc\0", b"abcd"), "a damaged ELF file"),
        (b"", "a damaged ELF file"),
        (b"#!/bin/sh\n", "a damaged ELF file"),
        (linked([Symbol(name="f")])[:4200], "a damaged ELF file"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        symbol_table.parse_table(data, source="out/lar")

    assert caught.value.message.startswith(f"out/lar: {said}")
    assert caught.value.hint


def test_names_that_are_no_text_are_read() -> None:
    data = linked([Symbol(name="fxx")]).replace(b"fxx", b"f\xff\n")

    assert symbol_table.parse_table(data, source="x").functions[0].name == "f\\xff\n"


def test_many_functions_are_read_at_once(tmp_path: Path) -> None:
    count = 100_000
    names = b"\0" + b"".join(b"_ZN3mgb4name%06dEv\0" % number for number in range(count))
    entries = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", 1 + 21 * number, 0x12, 0, 1, CODE_AT + 4 * number, 4)
        for number in range(count)
    )
    few = linked([Symbol(name="f")])
    path = tmp_path / "many"
    path.write_bytes(_with_symbols(few, entries, names))
    started = time.process_time()

    found = symbol_table.read_table(path)

    assert time.process_time() - started < 3
    assert len(found.functions) == count
    assert found.functions[-1] == symbol_table.Function(
        "_ZN3mgb4name099999Ev", CODE_AT + 4 * (count - 1), 4
    )


def _with_symbols(data: bytes, entries: bytes, names: bytes) -> bytes:
    """Return a made program with another symbol table behind its end."""
    changed = bytearray(data)
    (headers,) = struct.unpack_from("<Q", data, 40)
    for number, content in ((4, entries), (5, names)):
        struct.pack_into("<QQ", changed, headers + 64 * number + 24, len(changed), len(content))
        changed += content
    return bytes(changed)


WHOLE = linked(
    [Symbol(name="first", size=8), Symbol(name="second", at=8), Symbol(name="data", kind=DATA)],
    dynamic=[Symbol(name="puts", at=None), Symbol(name="first")],
    registered=(1, 2),
)


@given(st.integers(0, len(WHOLE) - 1))
def test_cut_off_files_are_refused(kept: int) -> None:
    with pytest.raises(InputError):
        symbol_table.parse_table(WHOLE[:kept], source="x")


def test_a_link_is_named_by_its_bytes_its_names_and_what_lists_tell_of() -> None:
    """Lists are by name: equal code under another name, or under one name more, is another link."""
    one = symbol_table.Function("one", 16, 8)
    two = symbol_table.Function("two", 32, 8)

    def identity(
        *each: symbol_table.Function, sha256: str = "a" * 64, groups: Sequence[str] = ()
    ) -> str:
        return symbol_table.link_identity(sha256, replace(functions(), functions=each), groups)

    assert identity(one, two) == identity(one, two)
    reported = (
        identity(one, two),
        identity(one, two, sha256="b" * 64),
        identity(replace(one, name="two"), replace(two, name="one")),
        identity(one, two, symbol_table.Function("zwei", 32, 8)),
        identity(one),
        identity(one, two, groups=["one"]),
        identity(one, two, groups=["one", "two"]),
        identity(one, two, groups=["one two"]),
    )
    assert len({*reported}) == len(reported)
