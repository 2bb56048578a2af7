"""What is left of a function, down to its bytes."""

from __future__ import annotations

import pytest

from megtrim.elf.objects import Object
from megtrim.functions import local_functions
from unit.elf.made_objects import AARCH64, X86_64, Named, Part, object_file

MESSAGE = b"megtrim: function #%d is not kept\n"
REPORTS = {
    # As objdump shows it: bti c; mov x8, #64; mov x0, #2; adr x1, +16; mov x2, #33; svc #0; brk #1
    AARCH64: "5f2403d5 080880d2 400080d2 81000010 220480d2 010000d4 200020d4",
    # endbr64; push 1; pop rax; push 2; pop rdi; lea rsi, [rip + 7]; push 33; pop rdx; syscall; ud2
    X86_64: "f30f1efa 6a01 58 6a02 5f 488d3507000000 6a21 5a 0f05 0f0b",
}


@pytest.mark.parametrize(
    ("machine", "code", "alignment"),
    [(AARCH64, "200020d4", 4), (X86_64, "0f0b", 1)],
)
def test_a_trap_is_the_shortest_code_that_stops(machine: int, code: str, alignment: int) -> None:
    """``brk #1`` and ``ud2``, as compilers write them for __builtin_trap."""
    assert local_functions.trap(machine).hex() == code
    assert local_functions.alignment(machine) == alignment


@pytest.mark.parametrize(
    ("machine", "number", "code"),
    [
        (AARCH64, 0, "008020d4"),
        (AARCH64, 0x1234, "80c622d4"),
        (AARCH64, 0xFBFF, "e0ff3fd4"),
        (AARCH64, 0xFC00, "008020d4"),
        (X86_64, 0x12345, "0fb98045230100"),
    ],
)
def test_a_trap_with_a_number(machine: int, number: int, code: str) -> None:
    """``brk #0x400`` and on, whose number has 16 bits, and ``ud1 eax, [rax + NUMBER]``."""
    assert local_functions.numbered_trap(machine, number).hex() == code


@pytest.mark.parametrize("machine", [AARCH64, X86_64])
def test_code_that_reports_its_number(machine: int) -> None:
    """It writes the line that lies behind it to standard error, all of it and no more."""
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


def places(*sizes: int, numbers: dict[int, int]) -> list[tuple[int, int, bytes]]:
    """Empty functions of these sizes in one object, and return where what is left lies."""
    parts = [Part(name=f".text.f{size}", content=bytes(size)) for size in sizes]
    symbols = [Named(name=f"f{size}", part=f".text.f{size}", size=size) for size in sizes]
    unit = Object(memoryview(object_file(parts, symbols)))
    assert [unit.sections[at].start for at in (1, 2)] == [64, 64 + sizes[0] + -sizes[0] % 8]
    return list(local_functions.lay_out_sections(unit, range(1, len(sizes) + 1), numbers))


def test_without_a_number_a_trap_lies_where_the_function_lay() -> None:
    """Each in its own place."""
    trap = local_functions.trap(AARCH64)
    assert places(8, 16, numbers={}) == [(1, 64, trap), (2, 72, trap)]


def test_each_has_a_trap_of_its_own_in_its_place() -> None:
    """One without room for it has the shortest."""
    parts = [Part(name=f".text.f{size}", content=bytes(size)) for size in (8, 4)]
    symbols = [Named(name=f"f{size}", part=f".text.f{size}", size=size) for size in (8, 4)]
    unit = Object(memoryview(object_file(parts, symbols, machine=X86_64)))

    assert list(local_functions.number_sections(unit, {2: 5, 1: 6})) == [
        (1, unit.sections[1].start, local_functions.numbered_trap(X86_64, 6)),
        (2, unit.sections[2].start, local_functions.trap(X86_64)),
    ]


def test_code_with_a_number_lies_in_what_the_larger_ones_leave() -> None:
    """A function of two instructions is known by its number as well."""
    found = places(8, 160, numbers={1: 3, 2: 4})
    three, four = (local_functions.report_and_trap(AARCH64, number) for number in (3, 4))

    assert found == [(1, 72, three), (2, 72 + len(three) + -len(three) % 4, four)]
    assert found[1][1] + len(four) <= 72 + 160


def test_where_no_room_is_left_the_trap_of_another_does() -> None:
    """For the function's own place may be another one's code by now."""
    found = places(100, 8, 8 + 16, numbers={1: 0, 2: 1, 3: 2})

    assert found == [
        (1, 64, local_functions.report_and_trap(AARCH64, 0)),
        (2, 64 + 24, local_functions.trap(AARCH64)),
        (3, 64 + 24, local_functions.trap(AARCH64)),
    ]


def test_where_there_was_no_room_at_all_each_keeps_its_own_trap() -> None:
    """So small functions alone have no numbers."""
    trap = local_functions.trap(AARCH64)
    assert places(8, 16, numbers={1: 0, 2: 1}) == [(1, 64, trap), (2, 72, trap)]
