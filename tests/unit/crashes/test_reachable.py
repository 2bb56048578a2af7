"""Which of the functions that were left out can be reached."""

from __future__ import annotations

import struct

from megtrim.crashes.reachable import list_left_out
from unit.crashes.made_programs import (
    FIRST,
    NOP,
    SECOND,
    UNFOLDED,
    UNUSED,
    program,
    with_left_out,
    words,
)
from unit.functions.made_links import CODE_AT, X86_64, linked

EVERY = tuple(sorted((FIRST, SECOND, UNUSED)))


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

    assert list_left_out(EVERY).reachable == EVERY
    assert with_left_out(program(), pointers=None).left_out.reachable == EVERY
    assert with_left_out(program(), quiet).left_out.reachable == EVERY


def test_x86_64() -> None:
    """Call has five bytes; lea computes an address."""

    def call(at: int, to: int) -> bytes:
        return b"\xe8" + struct.pack("<i", to - at - 5)

    lea = b"\x48\x8d\x3d" + struct.pack("<i", 64 - (5 + 7))
    folded = linked((), code=(call(0, 32) + lea).ljust(32, b"\x90") + b"\x0f\x0b", machine=X86_64)
    whole = linked(UNFOLDED, code=(call(0, 48) + lea).ljust(80, b"\x90"), machine=X86_64)
    made = with_left_out(program(shipped=folded), whole)

    assert made.left_out.reachable == (SECOND, UNUSED)
