"""Empties local functions, which no linker script reaches, in a copy of an object or archive.

Such a function has no name that a script could replace, and the unwind tables of the others would
stay. So its own section is emptied in place: its code becomes a trap, its relocations and its
unwind entry are removed. Nothing moves, so an archive's index stays valid. Pure.
"""

import struct
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping

from megtrim.core.build_spec import StubForm
from megtrim.libs.elf.layout import (
    AARCH64,
    ALLOCATED,
    ARM,
    EXECUTED,
    PROGBITS,
    X86_64,
    PlacedSection,
)
from megtrim.libs.elf.objects import BEHIND_THE_PLACE, Object, Symbol, read_each, remove_functions

_AARCH64_TRAP = bytes.fromhex("200020d4")  # brk #1
_X86_64_TRAP = bytes.fromhex("0f0b")  # ud2
_AARCH64_BRK = 0xD4200000  # brk, with its number in bits 5 to 20
_FIRST_BRK = 0x400
_BRKS = 0xFC00
"""First number of ``brk``, and how many: compilers trap with 1 and 1000, which must not fold."""
_ARM_TRAP = bytes.fromhex("fedeffe7")  # udf #65006; half of it is Thumb's udf #254
_UDFS = 0xF900
"""How many numbers of ``udf`` follow those of ``brk``: 65,006 is the compilers'."""
_X86_64_UD1 = bytes.fromhex("0fb980")  # ud1 eax, [rax + 4 bytes]
_MESSAGE = "megtrim: function #{number} is not kept\n"


def trap(machine: int, *, thumb: bool = False) -> bytes:
    """4 bytes on Arm, 2 in Thumb code and on x86-64."""
    if machine == ARM:
        return _ARM_TRAP[:2] if thumb else _ARM_TRAP
    return _AARCH64_TRAP if machine == AARCH64 else _X86_64_TRAP


def numbered_trap(machine: int, number: int, *, thumb: bool = False) -> bytes:
    """4 bytes on Arm, where numbers from about 64,000 on share those of others; 7 on x86-64."""
    if machine == AARCH64:
        return (_AARCH64_BRK | (_FIRST_BRK + number % _BRKS) << 5).to_bytes(4, "little")
    if machine == ARM:
        udf = _FIRST_BRK + number % _UDFS
        if thumb:
            return struct.pack("<HH", 0xF7F0 | udf >> 12, 0xA000 | udf & 0xFFF)
        return struct.pack("<I", 0xE7F000F0 | udf >> 4 << 8 | udf & 15)
    return _X86_64_UD1 + number.to_bytes(4, "little")


def report_and_trap(machine: int, number: int, *, thumb: bool = False) -> bytes:
    message = _MESSAGE.format(number=number).encode()
    if machine == ARM:
        shown = (
            f"04270220 02a1 {len(message):02x}22 00df"  # write; 2; adr r1, message; length; svc
            if thumb
            else f"0470a0e3 0200a0e3 08108fe2 {len(message):02x}20a0e3 000000ef"
        )
        # A whole trap in Thumb code, too: Arm functions may share it.
        return bytes.fromhex(shown) + _ARM_TRAP + bytes(2 if thumb else 0) + message
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


_X86_64_CALL = b"\xe8"
_X86_64_JUMP = b"\xe9"
_AARCH64_CALL = 0x94000000  # bl, with the distance in 26 bits
_AARCH64_JUMP = 0x14000000  # b
_CALL_BYTES = {AARCH64: 4, X86_64: 5}
_BTI = bytes.fromhex("5f2403d5")  # bti c
_CALL_AT = {AARCH64: len(_BTI), X86_64: 0}


def named_trap(machine: int, name: str) -> bytes:
    """Return a trap with room for a call, and the name that the call would leave behind it."""
    call_bytes = _CALL_BYTES[machine]
    code = trap(machine).ljust(call_bytes, b"\x90")
    text = name.encode() + b"\0"
    if machine == AARCH64:
        return _BTI + code + text.ljust(len(text) + -len(text) % 4, b"\0")
    return code + text


def lead_to(machine: int, name: str, distance: int, *, jumps: bool = False) -> bytes:
    """Return :func:`named_trap` with the call of what is ``distance`` bytes from its beginning.

    ``jumps``: it takes the function's place, and finds its arguments on the stack.
    """
    start = _CALL_AT[machine]
    end = start + _CALL_BYTES[machine]
    if machine == AARCH64:
        words = (distance - start) // 4
        branch = _AARCH64_JUMP if jumps else _AARCH64_CALL
        call = struct.pack("<I", branch | words & (1 << 26) - 1)
    else:
        call = (_X86_64_JUMP if jumps else _X86_64_CALL) + struct.pack("<i", distance - end)
    code = named_trap(machine, name)
    return code[:start] + call + code[end:]


def lay_out_sections(
    unit: Object, emptied: Iterable[int], numbers: Mapping[int, int], thumb: Container[int] = ()
) -> Iterator[tuple[int, int, bytes]]:
    """Yield section, offset and code for each of the sections to empty; ``thumb``: of Thumb code.

    One with a number gets code that reports it, where the freed bytes have room; else a trap.
    """
    sections = sorted(emptied)
    room = _CodeBuffer(
        [unit.sections[number] for at in sections for number in (at, *unit.relocated.get(at, ()))]
    )
    shared: int | None = None
    for at in sections:
        shortest = trap(unit.machine, thumb=at in thumb)
        if at in numbers:
            code = report_and_trap(unit.machine, numbers[at], thumb=at in thumb)
            if (start := room.take(len(code))) is not None:
                shared = start + code.index(shortest)
                yield at, start, code
                continue
        # This function's own bytes may contain other code by now.
        yield at, unit.sections[at].offset if shared is None else shared, shortest


class _CodeBuffer:
    def __init__(self, free: Iterable[PlacedSection]) -> None:
        self._free = [(each.offset, each.offset + each.size_bytes) for each in free]

    def take(self, size_bytes: int) -> int | None:
        while self._free:
            start, end = self._free.pop()
            start += -start % 4
            if start + size_bytes <= end:
                self._free.append((start + size_bytes, end))
                return start
        return None


_ALIGNMENT = {X86_64: 2}
"""An odd address in a pointer to a member function means a virtual one."""
_NO_TYPE = 0
_FUNCTION = 2
_SECTION = 3
_PADDING_BYTES = 16
_COLD = ".cold"


def number_names(names: Iterable[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(names)}


def edits(
    data: bytes,
    names: Mapping[str, int],
    *,
    source: str,
    form: StubForm = StubForm.SHARED,
    unwind_tables: bool = True,
) -> list[tuple[int, bytes]]:
    """Return the edits, offset and bytes, that empty the functions in a copy of ``data``.

    A section is emptied if it belongs to one function, all whose names are among ``names``, and no
    code that stays enters it except at its beginning. Files that are no objects for aarch64, armv7
    or x86-64 stay. Without ``unwind_tables``, those of functions that stay go, too. Raises
    InputError for a damaged object or archive.
    """

    def find(_: str, unit: Object) -> Iterator[tuple[int, bytes]]:
        return _edits(unit, names, form, unwind_tables)

    return [(start + at, code) for start, (at, code) in read_each(data, find, source=source)]


def _edits(
    unit: Object, names: Mapping[str, int], form: StubForm, unwind_tables: bool
) -> Iterator[tuple[int, bytes]]:
    # GCC may compile an object again at the link, from its intermediate code.
    if any(section.name.startswith(".gnu.lto_") for section in unit.sections):
        return
    symbols = unit.find_symbols()
    emptied = _own_sections(unit, symbols, names)
    _spare_entered(unit, symbols, emptied)
    named = _lay_out_named(unit, symbols, emptied) if form is StubForm.NAMED else []
    numbers = {at: names[each[0].name] for at, each in emptied.items()}
    thumb = {at for at, each in emptied.items() if each[0].thumb}
    if form is StubForm.NAMED:
        places = named
    elif form is StubForm.NUMBERED:
        places = [
            (at, unit.sections[at].offset, _fit_trap(unit, at, numbers[at], thumb=at in thumb))
            for at in sorted(numbers)
        ]
    else:
        reporting = numbers if form is StubForm.REPORTING else {}
        places = [*lay_out_sections(unit, emptied, reporting, thumb)]
    fields = unit.fields
    for at, start, code in places:
        header = unit.header_at(at)
        yield start, code
        yield header + fields.start_at, fields.place.pack(start, len(code))
        yield header + fields.alignment_at, fields.word.pack(_ALIGNMENT.get(unit.machine, 4))
        for symbol in emptied[at]:
            yield symbol.entry + fields.symbol_size_at, fields.word.pack(len(code))
        for number in unit.relocated.get(at, ()):
            yield unit.header_at(number) + fields.size_at, fields.word.pack(0)
    yield from remove_functions(unit, symbols, emptied if unwind_tables else None)


def _lay_out_named(
    unit: Object, symbols: Mapping[int, Symbol], emptied: dict[int, list[Symbol]]
) -> list[tuple[int, int, bytes]]:
    """Return what :func:`lay_out_sections` yields. Functions stay if there is no room for the name
    of one of them: they are removed from ``emptied``.
    """
    while True:
        room = _CodeBuffer(
            [unit.sections[each] for at in emptied for each in (at, *unit.relocated.get(at, ()))]
        )
        places = []
        for at in sorted(emptied):
            code = named_trap(unit.machine, emptied[at][0].name)
            start = room.take(len(code))
            if start is not None:
                places.append((at, start, code))
        if len(places) == len(emptied):
            return places
        for at in {*emptied} - {at for at, _, _ in places}:
            del emptied[at]
        _spare_entered(unit, symbols, emptied)


def _fit_trap(unit: Object, at: int, number: int, *, thumb: bool) -> bytes:
    code = numbered_trap(unit.machine, number, thumb=thumb)
    return code if len(code) <= unit.sections[at].size_bytes else trap(unit.machine, thumb=thumb)


def _own_sections(
    unit: Object, symbols: Mapping[int, Symbol], names: Mapping[str, int]
) -> dict[int, list[Symbol]]:
    found = defaultdict(list)
    others = set()
    for symbol in symbols.values():
        if symbol.kind == _SECTION or (symbol.kind == _NO_TYPE and symbol.name.startswith("$")):
            continue
        if _goes(symbol.name, names) and _fills(symbol, unit):
            found[symbol.section].append(symbol)
        else:
            others.add(symbol.section)
    return {at: functions for at, functions in found.items() if at not in others}


def _goes(name: str, names: Mapping[str, int]) -> bool:
    """GCC's cold part is entered at any place, so it is removed with its function only."""
    whole, cold, _ = name.partition(_COLD)
    return name in names and (not cold or whole in names)


def _fills(function: Symbol, unit: Object) -> bool:
    section = unit.sections[function.section]
    code = ALLOCATED | EXECUTED
    starts_it = function.kind == _FUNCTION and function.address == 0
    is_code = section.kind == PROGBITS and section.flags & code == code
    if not (starts_it and is_code and f"{section.name}.".startswith(".text.")):
        return False
    fills_it = 0 < function.size_bytes <= section.size_bytes
    padding = section.size_bytes - function.size_bytes
    has_room = section.size_bytes >= len(trap(unit.machine, thumb=function.thumb))
    return fills_it and padding < _PADDING_BYTES and has_room


def _spare_entered(
    unit: Object, symbols: Mapping[int, Symbol], emptied: dict[int, list[Symbol]]
) -> None:
    """Remove sections from ``emptied`` that remaining code enters after their beginning.

    Data that points into them (tables of a ``switch``) is used only by the function itself.
    """
    waiting = [
        at for at in unit.relocated if unit.sections[at].flags & EXECUTED and at not in emptied
    ]
    while emptied and waiting:
        for number in unit.relocated.get(waiting.pop(), ()):
            for relocation in unit.relocations(unit.sections[number]):
                target = symbols.get(relocation.symbol)
                if target is None or target.section not in emptied:
                    continue
                offset = target.address + relocation.addend
                if unit.machine == X86_64 and relocation.kind in BEHIND_THE_PLACE:
                    offset += 4
                if offset:
                    del emptied[target.section]
                    waiting.append(target.section)
