"""Trimmed programs, made by hand, and reports of crashes, as phones and debuggers write them.

Two functions stay, and traps stand for those that do not:

stays   calls gone twice, at offsets 0 and 4; at offset 8 is a trap of its own
other   calls nothing
stub    what was left out leads here
"""

import struct
from collections.abc import Sequence

from megtrim.core.functions.linker_script import STUB
from unit.core.functions.made_links import CODE_AT, Symbol, linked

BRK = 0xD4200020
NOP = 0xD503201F
STAYS = CODE_AT
OTHER = CODE_AT + 16
STUB_AT = CODE_AT + 32
FIRST = "_Z5firstv"
SECOND = "_Z6secondi"
UNUSED = "_Z6unusedv"
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
    symbol("_Z5staysv", 0),
    symbol("_Z5otherv", 16),
    symbol(STUB, 32, 4),
    *(symbol(name, 32, 4) for name in (FIRST, SECOND, UNUSED)),
)


def folded(*, fixed: bool = False) -> bytes:
    return with_build_id(linked(FOLDED, code=CODE, kind=2 if fixed else 3))


def numbered_file() -> bytes:
    """Return one with crash ids: each has a stub of its own, and a region has one, too."""
    code = words(bl(0, 32), bl(4, 36), BRK, *[NOP] * 5, 0xD4200000, 0xD4200020, 0xD4201000)
    region = "_ZN6midout8left_outINS_6RegionINS_4tags4kernEJSt17integral_constantIiLi3EEEEEEEvv"
    symbols = (
        symbol("_Z5staysv", 0),
        symbol("_Z5otherv", 16),
        symbol(f"{STUB}_0", 32, 4),
        symbol(FIRST, 32, 4),
        symbol(f"{STUB}_1", 36, 4),
        symbol(SECOND, 36, 4),
        symbol(region, 40, 4),
    )
    return with_build_id(linked(symbols, code=code))


def with_build_id(data: bytes) -> bytes:
    """Return a linked file of these tests with a second segment: a note that holds the build id."""
    note = NOTE + bytes.fromhex(ID)
    changed = bytearray(data)
    at = 0x800  # nothing of a made file is there
    changed[at : at + len(note)] = note
    struct.pack_into("<H", changed, 56, 2)
    struct.pack_into("<2I6Q", changed, 64 + 56, 4, 4, at, at, at, len(note), len(note), 4)
    return bytes(changed)


LIBRARY = "/data/app/~~Xy==/com.example.app-Zz==/lib/arm64/libengine.so"
MAPS = (
    f"    0000007b'00001000-0000007b'00001fff r-x      1000      1000  {LIBRARY}",
    "7b00002000-7b00003000 rw-p 00002000 fd:01 1311                   /data/local/tmp/app",
)


def tombstone(
    frames: Sequence[tuple[int, str]],
    *,
    build_id: str = "",
    signal: int = 5,
    pc: int = 0,
    caller: int = 0,
    maps: Sequence[str] = (),
    offset: int = 0,
    logcat: bool = False,
) -> bytes:
    """Return a tombstone with a second thread behind; ``logcat``: as lines of the log."""
    pc = pc or frames[0][0]
    name = {4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 11: "SIGSEGV"}[signal]
    tail = f" (offset 0x{offset:x})" if offset else ""
    tail += f" (BuildId: {build_id})" if build_id else ""
    heading = ["memory map (3 entries):"] if maps else []
    lines = [
        "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***",
        "Build fingerprint: 'example/phone/phone:11/AAAA.200000.001/1:user/release-keys'",
        "ABI: 'arm64'",
        "pid: 4711, tid: 4720, name: worker  >>> com.example.app <<<",
        f"signal {signal} ({name}), code 1 (TRAP_BRKPT), fault addr 0x{pc:x}",
        "    x0  0000000000000001  x1  0000007b00000000  x2  0000000000000000",
        f"    lr  {caller:016x}  sp  0000007b12345670  pc  {pc:016x}  pst 0000000060001000",
        "",
        "backtrace:",
        *(f"      #{n:02} pc {at:016x}  {file}{tail}" for n, (at, file) in enumerate(frames)),
        "",
        *heading,
        *maps,
        "--- --- --- --- --- --- --- --- --- --- --- --- --- --- --- ---",
        "pid: 4711, tid: 4711, name: main  >>> com.example.app <<<",
        "backtrace:",
        "      #00 pc 0000000000000bad  /apex/com.android.runtime/lib64/bionic/libc.so",
    ]
    if logcat:
        lines = [f"11-24 03:04:05.678  4800  4800 F DEBUG   : {line}" for line in lines]
    return "\n".join([*lines, ""]).encode()
