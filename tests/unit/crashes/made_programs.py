"""Trimmed programs, made by hand: two functions that stay, and traps for those that do not.

stays   calls gone twice, at offsets 0 and 4; at offset 8 is a trap of its own
other   calls nothing
stub    what was left out leads here
"""

import struct
from dataclasses import replace

from megtrim.crashes.program import TrimmedProgram
from megtrim.elf.symbol_table import parse_table
from megtrim.functions.linker_script import STUB
from unit.functions.made_links import CODE_AT, Symbol, linked

BRK, NOP = 0xD4200020, 0xD503201F
STAYS, OTHER, STUB_AT = CODE_AT, CODE_AT + 16, CODE_AT + 32
FIRST, SECOND, UNUSED = "_Z5firstv", "_Z6secondi", "_Z6unusedv"
NOTE = struct.pack("<3I4s", 4, 20, 3, b"GNU\0")
ID = bytes(range(20)).hex()


def bl(at: int, to: int) -> int:
    return 0x94000000 | ((to - at) // 4 & 0x3FFFFFF)


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def symbol(name: str, at: int, size: int = 16) -> Symbol:
    return Symbol(name=name, at=at, size=size)


CODE = words(bl(0, 32), bl(4, 32), BRK, NOP, NOP, NOP, NOP, NOP, BRK)
FOLDED = (
    *(symbol("_Z5staysv", 0), symbol("_Z5otherv", 16), symbol(STUB, 32, 4)),
    *(symbol(name, 32, 4) for name in (FIRST, SECOND, UNUSED)),
)


def program(*, name: str = "app", fixed: bool = False, **changes: object) -> TrimmedProgram:
    data = folded(fixed=fixed)
    made = TrimmedProgram(
        name=name,
        shipped=data,
        table=parse_table(data, source=name),
        left_out=(FIRST, SECOND, UNUSED),
        trims_regions=False,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def folded(*, fixed: bool = False) -> bytes:
    return with_build_id(linked(FOLDED, code=CODE, kind=2 if fixed else 3))


def numbered() -> TrimmedProgram:
    """Return one with crash ids: each has a stub of its own, and a region has one, too."""
    code = words(bl(0, 32), bl(4, 36), BRK, *[NOP] * 5, 0xD4200000, 0xD4200020, 0xD4201000)
    region = "_ZN6midout8left_outINS_6RegionINS_4tags4kernEJSt17integral_constantIiLi3EEEEEEEvv"
    symbols = (
        *(symbol("_Z5staysv", 0), symbol("_Z5otherv", 16)),
        *(symbol(f"{STUB}_0", 32, 4), symbol(FIRST, 32, 4)),
        *(symbol(f"{STUB}_1", 36, 4), symbol(SECOND, 36, 4), symbol(region, 40, 4)),
    )
    data = with_build_id(linked(symbols, code=code))
    table = parse_table(data, source="app")
    return program(shipped=data, table=table, crash_ids=True, trims_regions=True)


def with_build_id(data: bytes) -> bytes:
    """Return a linked file of these tests with a second segment: a note that holds the build id."""
    note = NOTE + bytes.fromhex(ID)
    changed = bytearray(data)
    at = 0x800  # nothing of a made file is there
    changed[at : at + len(note)] = note
    struct.pack_into("<H", changed, 56, 2)
    struct.pack_into("<2I6Q", changed, 64 + 56, 4, 4, at, at, at, len(note), len(note), 4)
    return bytes(changed)
