"""Which of many functions one instruction stood for."""

from __future__ import annotations

import struct

import pytest

from megtrim.crashes.callers import called_from, reachable
from megtrim.crashes.program import read_unfolded
from unit.crashes.made_programs import (
    BRK,
    FIRST,
    NOP,
    SECOND,
    STAYS,
    STUB_AT,
    UNFOLDED,
    UNUSED,
    bl,
    program,
    symbol,
    words,
)
from unit.functions.made_links import CODE_AT, X86_64, linked


@pytest.mark.parametrize(
    ("back", "names"),
    [(0, (FIRST,)), (4, (FIRST, SECOND)), (8, (SECOND,)), (12, ()), (16, ())],
)
def test_the_call_shows_what_was_called(back: int, names: tuple[str, ...]) -> None:
    """At one of two places that follow each other: at 4 it may be either."""
    assert called_from(program(), STUB_AT, [STAYS + back - 4, STAYS + back]) == names


def test_a_call_of_something_else_shows_nothing() -> None:
    """The stub was jumped to, or called by a pointer."""
    assert called_from(program(), STAYS + 8, [STAYS, STAYS + 4]) == ()
    assert called_from(program(unfolded=None), STUB_AT, [STAYS + 4]) == ()


@pytest.mark.parametrize("other", [bl(0, 16), 0xD63F0100, 0xD73F0901])
def test_a_call_of_another_function_may_have_led_there(other: int) -> None:
    """It may have ended with a jump to the stub: the call behind it did not run."""
    code = words(other, bl(4, 32), *[NOP] * 6, BRK)
    made = program(shipped=linked((), code=code))

    assert called_from(made, STUB_AT, [STAYS, STAYS + 4]) == ()
    assert called_from(made, STUB_AT, [STAYS + 4]) == (SECOND,)


def test_a_caller_that_is_another_there_shows_nothing() -> None:
    """Of another size, it is not the same code."""
    shorter = (symbol("_Z5staysv", 0, 12), *UNFOLDED[1:])
    code, _ = read_unfolded(linked(shorter, code=words(bl(0, 32), *[NOP] * 19)), source="u")

    assert called_from(program(unfolded=code), STUB_AT, [STAYS + 4]) == ()


def test_what_nothing_refers_to_was_not_reached() -> None:
    """By calls of functions that stay, by addresses that they compute, and by data."""
    assert reachable(program()) == (FIRST, SECOND)
    pointed = program(pointers=frozenset({CODE_AT + 64}))
    assert reachable(pointed) == (FIRST, SECOND, UNUSED)
    adrp, add = 0x90000000, 0x91000000 | 64 << 10
    code, _ = read_unfolded(linked(UNFOLDED, code=words(adrp, add, *[NOP] * 18)), source="u")
    assert reachable(program(unfolded=code)) == (UNUSED,)


def test_where_it_cannot_be_known_all_remain() -> None:
    """Without the link, with packed data, and if nothing seems to refer to any."""
    every = tuple(sorted((FIRST, SECOND, UNUSED)))
    quiet, _ = read_unfolded(linked(UNFOLDED, code=words(*[NOP] * 20)), source="u")

    assert reachable(program(unfolded=None)) == every
    assert reachable(program(pointers=None)) == every
    assert reachable(program(unfolded=quiet)) == every


def test_x86_64() -> None:
    """Call has five bytes; lea computes an address."""

    def call(at: int, to: int) -> bytes:
        return b"\xe8" + struct.pack("<i", to - at - 5)

    lea = b"\x48\x8d\x3d" + struct.pack("<i", 64 - (5 + 7))
    folded = linked((), code=(call(0, 32) + lea).ljust(32, b"\x90") + b"\x0f\x0b", machine=X86_64)
    whole = linked(UNFOLDED, code=(call(0, 48) + lea).ljust(80, b"\x90"), machine=X86_64)
    code, _ = read_unfolded(whole, source="u")
    made = program(shipped=folded, unfolded=code)

    assert called_from(made, STUB_AT, [STAYS, STAYS + 1]) == (SECOND,)
    assert reachable(made) == (SECOND, UNUSED)
