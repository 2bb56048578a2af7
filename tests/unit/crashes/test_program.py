from __future__ import annotations

import json
import struct

import pytest

from megtrim.crashes.program import (
    LeftOutFunctions,
    dump_left_out,
    list_left_out,
    parse_left_out,
    read_unfolded,
)
from megtrim.util.errors import InputError
from unit.crashes.made_programs import (
    FIRST,
    ID,
    NOP,
    SECOND,
    STAYS,
    STUB_AT,
    UNFOLDED,
    UNUSED,
    program,
    with_left_out,
    words,
)
from unit.functions.made_links import CODE_AT, X86_64, linked


def test_a_program_knows_its_traps() -> None:
    made = program()

    assert made.traps == (STAYS + 8, STUB_AT)
    assert [made.is_trap(STAYS + at) for at in (0, 4, 8, 12)] == [False, False, True, False]
    assert made.build_id == ID
    assert (made.is_fixed, program(fixed=True).is_fixed) == (False, True)


def test_the_traps_of_x86_64() -> None:
    data = linked((), code=b"\x90\x0f\x0b\x90\x0f\xb9\x80\x01\x00\x00\x00", machine=X86_64)

    assert program(shipped=data).traps == (STAYS + 1, STAYS + 4)


def test_bytes_and_addresses() -> None:
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
    with pytest.raises(InputError, match="app: a damaged ELF file"):
        _ = program(shipped=b"\x7fELF").code


SHA256 = "5e" * 32


def test_what_is_written_is_read() -> None:
    """A lookup by the list is one by the link that it was made of."""
    made = program().left_out
    text = dump_left_out(made, program_sha256=SHA256)

    assert parse_left_out(text, source="s") == (made, SHA256)
    assert dump_left_out(made, program_sha256=SHA256) == text
    empty = dump_left_out(LeftOutFunctions(), program_sha256=SHA256)
    assert parse_left_out(empty, source="s") == (LeftOutFunctions(), SHA256)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"functions": ["b", "a"]}, "functions: found an entry out of order, or twice"),
        ({"functions": ["a", "a"]}, "functions: found an entry out of order, or twice"),
        ({"reachable": [3]}, "reachable: found 3, expected an index of functions"),
        ({"version": 2}, "version: found 2, expected 3"),
        ({"reachable": [1, 0]}, "reachable: found an entry out of order, or twice"),
        ({"more": 1}, "more: found 1, expected no such key"),
        ({"reachable": [-1]}, "reachable[0]: found -1, expected 0 or more"),
    ],
)
def test_a_damaged_list(change: dict[str, object], message: str) -> None:
    text = dump_left_out(program().left_out, program_sha256=SHA256)
    changed = json.dumps(json.loads(text) | change)

    with pytest.raises(InputError) as refused:
        parse_left_out(changed, source="symbols/app.left-out.json")
    assert message in str(refused.value)
    assert "symbols/app.left-out.json" in str(refused.value)


EVERY = tuple(sorted((FIRST, SECOND, UNUSED)))


def test_what_nothing_refers_to_was_not_reached() -> None:
    assert program().left_out.reachable == (FIRST, SECOND)
    pointed = with_left_out(program(), pointers=frozenset({CODE_AT + 64}))
    assert pointed.left_out.reachable == (FIRST, SECOND, UNUSED)
    adrp, add = 0x90000000, 0x91000000 | 64 << 10
    whole = linked(UNFOLDED, code=words(adrp, add, *[NOP] * 18))
    assert with_left_out(program(), whole).left_out.reachable == (UNUSED,)


def test_where_it_cannot_be_known_all_remain() -> None:
    quiet = linked(UNFOLDED, code=words(*[NOP] * 20))

    assert list_left_out(EVERY).reachable == EVERY
    assert with_left_out(program(), pointers=None).left_out.reachable == EVERY
    assert with_left_out(program(), quiet).left_out.reachable == EVERY


def test_x86_64() -> None:
    def call(at: int, to: int) -> bytes:
        return b"\xe8" + struct.pack("<i", to - at - 5)

    lea = b"\x48\x8d\x3d" + struct.pack("<i", 64 - (5 + 7))
    folded = linked((), code=(call(0, 32) + lea).ljust(32, b"\x90") + b"\x0f\x0b", machine=X86_64)
    whole = linked(UNFOLDED, code=(call(0, 48) + lea).ljust(80, b"\x90"), machine=X86_64)
    made = with_left_out(program(shipped=folded), whole)

    assert made.left_out.reachable == (SECOND, UNUSED)
