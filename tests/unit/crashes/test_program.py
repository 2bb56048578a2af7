"""A trimmed program: where it traps, and what its code is."""

from __future__ import annotations

import struct

import pytest

from megtrim.crashes.program import read_unfolded
from megtrim.util.errors import InputError
from unit.crashes.made_programs import ID, STAYS, STUB_AT, UNFOLDED, program
from unit.functions.made_links import X86_64, linked


def test_a_program_knows_its_traps() -> None:
    """The stub, and the trap of its own that a function has."""
    made = program()

    assert made.traps == (STAYS + 8, STUB_AT)
    assert [made.is_trap(STAYS + at) for at in (0, 4, 8, 12)] == [False, False, True, False]
    assert made.build_id == ID
    assert (made.is_fixed, program(fixed=True).is_fixed) == (False, True)


def test_the_traps_of_x86_64() -> None:
    """ud2 and ud1, at any byte."""
    data = linked((), code=b"\x90\x0f\x0b\x90\x0f\xb9\x80\x01\x00\x00\x00", machine=X86_64)

    assert program(shipped=data).traps == (STAYS + 1, STAYS + 4)


def test_bytes_and_addresses() -> None:
    """Of the code alone; the file begins a page before it."""
    made = program()

    assert made.word(STUB_AT, 4).hex() == "200020d4"
    assert made.word(STUB_AT + 2, 9).hex() == "20d4"
    assert made.word(STAYS - 1, 4) == made.word(STUB_AT + 4, 4) == b""
    assert made.address_of(0x1000) == STAYS
    assert (made.address_of(0xFFF), made.address_of(0x1000 + 36)) == (None, None)


def test_words_of_an_unfolded_link() -> None:
    """Addresses of functions in its data; packed ones cannot be read."""
    data = linked(UNFOLDED, code=bytes(80))
    pointing = linked(UNFOLDED, code=struct.pack("<Q", STUB_AT).rjust(80, b"\0"))

    assert read_unfolded(data, source="u")[1] == frozenset()
    assert read_unfolded(pointing, source="u")[1] == frozenset({STUB_AT})
    assert read_unfolded(pointing + b"APS2", source="u")[1] is None
    later = bytearray(pointing)
    struct.pack_into("<Q", later, 64 + 8, 0x1004)  # a segment may begin between two words
    assert read_unfolded(bytes(later), source="u")[1] == frozenset({STUB_AT})


def test_a_damaged_file_is_refused() -> None:
    """It names the file."""
    with pytest.raises(InputError, match="app: a damaged ELF file"):
        _ = program(shipped=b"\x7fELF").code
