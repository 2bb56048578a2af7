"""Which of many functions one instruction stood for."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from megtrim.crashes.callers import called_from, list_left_out
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
    with_left_out,
    words,
)
from unit.functions.made_links import CODE_AT, X86_64, linked

EVERY = tuple(sorted((FIRST, SECOND, UNUSED)))


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
    alone = replace(program(), left_out=list_left_out(program(), EVERY))
    assert called_from(alone, STUB_AT, [STAYS + 4]) == ()


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
    whole = linked(shorter, code=words(bl(0, 32), *[NOP] * 19))

    assert called_from(with_left_out(program(), whole), STUB_AT, [STAYS + 4]) == ()


def test_what_nothing_refers_to_was_not_reached() -> None:
    """By calls of functions that stay, by addresses that they compute, and by data."""
    assert program().left_out.reachable == (FIRST, SECOND)
    pointed = with_left_out(program(), pointers=frozenset({CODE_AT + 64}))
    assert pointed.left_out.reachable == (FIRST, SECOND, UNUSED)
    adrp, add = 0x90000000, 0x91000000 | 64 << 10
    whole = linked(UNFOLDED, code=words(adrp, add, *[NOP] * 18))
    assert with_left_out(program(), whole).left_out.reachable == (UNUSED,)


def test_where_it_cannot_be_known_all_remain() -> None:
    """Without the link, with packed data, and if nothing seems to refer to any."""
    quiet = linked(UNFOLDED, code=words(*[NOP] * 20))

    assert list_left_out(program(), EVERY).reachable == EVERY
    assert with_left_out(program(), pointers=None).left_out.reachable == EVERY
    assert with_left_out(program(), quiet).left_out.reachable == EVERY


def test_what_ran_calls() -> None:
    """Each function that a scenario ran, with what it called of them."""
    assert program().left_out.callers == {"_Z5staysv": (FIRST, SECOND)}


def test_x86_64() -> None:
    """Call has five bytes; lea computes an address."""

    def call(at: int, to: int) -> bytes:
        return b"\xe8" + struct.pack("<i", to - at - 5)

    lea = b"\x48\x8d\x3d" + struct.pack("<i", 64 - (5 + 7))
    folded = linked((), code=(call(0, 32) + lea).ljust(32, b"\x90") + b"\x0f\x0b", machine=X86_64)
    whole = linked(UNFOLDED, code=(call(0, 48) + lea).ljust(80, b"\x90"), machine=X86_64)
    made = with_left_out(program(shipped=folded), whole)

    assert called_from(made, STUB_AT, [STAYS, STAYS + 1]) == (SECOND,)
    assert made.left_out.reachable == (SECOND, UNUSED)
