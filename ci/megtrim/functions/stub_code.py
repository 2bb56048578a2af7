"""Replaces the code of an emptied function by a trap, or by code that shows which one it was.

The reporting code depends on nothing else: it writes a line to standard error by a system call, and
traps. Machine code is spelt out here, because there is no assembler. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from megtrim.elf.objects import AARCH64, Object, Section

_AARCH64_TRAP = bytes.fromhex("200020d4")  # brk #1
_X86_64_TRAP = bytes.fromhex("0f0b")  # ud2
_AARCH64_BRK = 0xD4200000  # brk, with its number in bits 5 to 20
_FIRST_BRK, _BRKS = 0x400, 0xFC00
"""First number of ``brk``, and how many: compilers trap with 1 and 1000, which must not fold."""
_X86_64_UD1 = bytes.fromhex("0fb980")  # ud1 eax, [rax + 4 bytes]
_MESSAGE = "megtrim: function #{number} is not kept\n"


def trap(machine: int) -> bytes:
    """Return the shortest code that stops the program: 4 bytes on aarch64, 2 on x86-64."""
    return _AARCH64_TRAP if machine == AARCH64 else _X86_64_TRAP


def numbered_trap(machine: int, number: int) -> bytes:
    """Return a trap that no other number has: 4 bytes on aarch64, 7 on x86-64.

    On aarch64 it has 16 bits: the numbers from 64,512 on share those of others.
    """
    if machine == AARCH64:
        return (_AARCH64_BRK | (_FIRST_BRK + number % _BRKS) << 5).to_bytes(4, "little")
    return _X86_64_UD1 + number.to_bytes(4, "little")


def alignment(machine: int) -> int:
    """Return the bytes that code must be aligned to."""
    return 4 if machine == AARCH64 else 1


def report_and_trap(machine: int, number: int) -> bytes:
    """Return code that prints ``megtrim: function #NUMBER is not kept`` and stops the program."""
    message = _MESSAGE.format(number=number).encode()
    if machine == AARCH64:
        words = (
            0xD503245F,  # bti c
            0xD2800808,  # mov x8, #64 (write)
            0xD2800040,  # mov x0, #2
            0x10000081,  # adr x1, message: 16 bytes on
            0xD2800002 | len(message) << 5,  # mov x2, #length
            0xD4000001,  # svc #0
        )
        return b"".join(word.to_bytes(4, "little") for word in words) + _AARCH64_TRAP + message
    code = bytes.fromhex(
        "f30f1efa"  # endbr64
        "6a01 58"  # push 1 (write); pop rax
        "6a02 5f"  # push 2; pop rdi
        "488d3507000000"  # lea rsi, [rip + 7]: the message
        f"6a{len(message):02x} 5a"  # push length; pop rdx
        "0f05"  # syscall
    )
    return code + _X86_64_TRAP + message


def number_sections(unit: Object, numbers: Mapping[int, int]) -> Iterator[tuple[int, int, bytes]]:
    """Yield section, offset and a trap of its own for each section to empty.

    One that has no room for it gets the shortest trap.
    """
    for at in sorted(numbers):
        section, code = unit.sections[at], numbered_trap(unit.machine, numbers[at])
        fits = len(code) <= section.size_bytes
        yield at, section.start, code if fits else trap(unit.machine)


def lay_out_sections(
    unit: Object, emptied: Iterable[int], numbers: Mapping[int, int]
) -> Iterator[tuple[int, int, bytes]]:
    """Yield section, offset and code for each of the sections to empty.

    A section with a number gets code that reports it, in any of the bytes that the sections free.
    If that does not fit, or there is no number, it gets a trap.
    """
    sections = sorted(emptied)
    room = _CodeBuffer(
        [each for at in sections for each in (unit.sections[at], *unit.relocated.get(at, ()))]
    )
    shortest = trap(unit.machine)
    shared: int | None = None
    for at in sections:
        if at in numbers:
            code = report_and_trap(unit.machine, numbers[at])
            if (start := room.take(len(code))) is not None:
                shared = start + code.index(shortest)
                yield at, start, code
                continue
        # This function's own bytes may contain other code by now.
        yield at, unit.sections[at].start if shared is None else shared, shortest


class _CodeBuffer:
    """Bytes of an object that are free for other code."""

    def __init__(self, free: Iterable[Section]) -> None:
        self._free = [(each.start, each.start + each.size_bytes) for each in free]

    def take(self, size_bytes: int) -> int | None:
        """Return the offset of ``size_bytes`` free bytes, or None if too few are left."""
        while self._free:
            start, end = self._free.pop()
            start += -start % 4
            if start + size_bytes <= end:
                self._free.append((start + size_bytes, end))
                return start
        return None
