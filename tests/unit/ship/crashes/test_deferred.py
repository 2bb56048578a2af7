"""A deferred function was called, and its file was not there: a trap in memory of no file."""

import struct
from dataclasses import replace

import pytest

from megtrim.ship.crashes.finding import CrashCause, CrashFinding
from megtrim.ship.crashes.lookup import look_up
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report import parse_report
from support.crash_documents import Fields, encode
from unit.ship.crashes.made_programs import ID, STAYS, folded, program

RESERVED = 0x30000
RESERVED_BYTES = 0x4000
LATER = RESERVED + 0x40
LAST = RESERVED + 0x1080
FILE = "/data/app/com.example/lib/arm64/app"
BASE = 0x7B00000000
OTHER_ID = "ff" * 20
NOT_KNOWN = "does not say where app was loaded"


def deferring() -> TrimmedProgram:
    """Return a program that has a segment without bytes in its file, and two functions there."""
    data = bytearray(folded())
    struct.pack_into("<H", data, 56, 3)
    third = (1, 0, 0, RESERVED, RESERVED, 0, RESERVED_BYTES, 0x1000)
    struct.pack_into("<2I6Q", data, 64 + 2 * 56, *third)
    made = program(shipped=bytes(data))
    like = made.table.functions[-1]
    functions = (
        *made.table.functions,
        replace(like, name="_Z5laterv", address=LATER, size_bytes=64),
        replace(like, name="_Z4lastv", address=LAST, size_bytes=64),
    )
    return replace(
        made,
        table=replace(made.table, functions=functions),
        left_out=("_Z4lastv", "_Z5laterv"),
        crash_ids=True,
    )


DEFERRING = deferring()
CODE = DEFERRING.code[0]


def told(
    frame: str,
    *,
    pc: int | None = None,
    caller: int | None = None,
    called_from: str = f"{FILE} (BuildId: {ID})",
    maps: tuple[str, ...] = (),
) -> str:
    registers = "    x0  0000000000000001"
    registers += f"  lr  {caller:016x}" if caller is not None else ""
    registers += f"  pc  {pc:016x}" if pc is not None else ""
    return "\n".join(
        [
            "pid: 4711, tid: 4720, name: worker  >>> com.example <<<",
            "signal 5 (SIGTRAP), code -6 (SI_TKILL), fault addr --------",
            registers,
            "backtrace:",
            f"      #00 pc {frame}",
            f"      #01 pc {STAYS + 4:016x}  {called_from}",
            "memory map:" if maps else "",
            *maps,
        ]
    )


def mapped(start: int, size: int, rights: str, offset: int, name: str) -> str:
    first, last = (
        f"{each >> 32:08x}'{each & 0xFFFFFFFF:08x}" for each in (start, start + size - 1)
    )
    return f"    {first}-{last} {rights} {offset:9x} {size:9x}  {name}"


MAPS = (
    mapped(BASE + CODE.address, 0x1000, "r-x", CODE.offset, f"{FILE} (BuildId: {ID})"),
    mapped(BASE + RESERVED, RESERVED_BYTES, "---", 0, "[anon:.bss]"),
)
BARE_MAPS = (MAPS[0].replace(f" (BuildId: {ID})", ""), MAPS[1])


def find(text: str, *programs: TrimmedProgram) -> CrashFinding:
    return look_up(parse_report(text.encode(), source="t"), programs or (DEFERRING,))


def names(finding: CrashFinding) -> list[str]:
    return [each.name for each in finding.candidates]


@pytest.mark.parametrize(
    "text",
    [
        told(f"{LATER - RESERVED:x}  [anon:.bss]", pc=BASE + LATER, maps=MAPS),
        told(f"{LATER - RESERVED:x}  [anon:.bss]", pc=BASE + LATER, caller=BASE + STAYS + 8),
        told(f"{LATER - RESERVED:x}  <anonymous:{BASE + RESERVED:x}>", maps=MAPS),
        told(f"{BASE + LATER:x}  <anonymous:{BASE + RESERVED:x}>", maps=MAPS),
        told(f"{LATER - RESERVED:x}  <anonymous:{BASE + RESERVED:x}>", caller=BASE + STAYS + 8),
    ],
)
def test_where_the_program_was_says_which_function_it_was(text: str) -> None:
    """By its mapping, or by the register that says from where its frame called."""
    finding = find(text)
    assert (finding.cause, names(finding), finding.why_several) == ("left out", ["later()"], ())
    assert finding.text == "it is deferred, and the companion file could not be used"
    assert finding.stack == ("_Z5staysv",)


def test_a_map_without_build_ids_is_not_certain() -> None:
    frame = f"{LATER - RESERVED:x}  [anon:.bss]"
    text = told(frame, pc=BASE + LATER, maps=BARE_MAPS, called_from=FILE)
    finding = find(text)
    assert (finding.cause, names(finding)) == (CrashCause.CANDIDATES, ["later()"])
    assert "no build id" in finding.why_several[0]


def test_without_a_place_what_begins_there_is_a_candidate() -> None:
    """If the memory has the name that the loader gives it, and the program calls it."""
    finding = find(told("0040  [anon:.bss]"))
    assert (finding.cause, names(finding)) == (CrashCause.CANDIDATES, ["later()"])
    assert "these begin at that place in a page" in finding.why_several[0]
    other = find(told("0044  [anon:.bss]"))
    assert (other.cause, other.candidates) == (CrashCause.UNKNOWN, ())


OTHERS = f"/data/app/com.example/lib/arm64/libvm.so (BuildId: {OTHER_ID})"


@pytest.mark.parametrize(
    ("frame", "called_from"),
    [
        ("0040  <anonymous:7c00000000>", OTHERS),
        ("0040  <anonymous:7c00000000>", f"{FILE} (BuildId: {ID})"),
        ("0040  [anon:.bss]", OTHERS),
        ("0040  <unknown>", OTHERS),
    ],
)
def test_generated_code_is_not_blamed_on_what_was_left_out(frame: str, called_from: str) -> None:
    finding = find(told(frame, called_from=called_from))
    assert (finding.cause, finding.candidates) == (CrashCause.UNKNOWN, ())
    assert NOT_KNOWN in finding.text


def test_generated_code_clears_where_the_program_is_known_to_be_elsewhere() -> None:
    jit = mapped(BASE + 0x900000, 0x1000, "r-x", 0, "[anon:jit-code]")
    frame = "0040  [anon:jit-code]"
    text = told(frame, pc=BASE + 0x900040, called_from=OTHERS, maps=(*MAPS, jit))
    finding = find(text)
    assert (finding.cause, finding.why_several) == (CrashCause.NOT_TRIMMING, ())
    assert "it crashed in memory of no file, [anon:jit-code]" in finding.text


@pytest.mark.parametrize("made", [program(), DEFERRING])
@pytest.mark.parametrize(
    "memory",
    [
        "[anon:jit-code]",
        "/memfd:jit-cache (deleted) (com.example.Camera.open+20)",
        "/dev/ashmem/dalvik-jit-code-cache (deleted)",
        "[anon:dalvik-classes.dex extracted in memory from /data/app/base.apk]",
    ],
)
def test_generated_code_that_has_a_name_is_of_another(memory: str, made: TrimmedProgram) -> None:
    finding = find(told(f"0040  {memory}", called_from=OTHERS), made)
    assert finding.cause is CrashCause.NOT_TRIMMING
    assert "may have copied" in finding.why_several[0]


def test_an_address_of_the_reserved_segment_in_protobuf() -> None:
    frame: Fields = ((1, LATER - RESERVED), (2, BASE + LATER), (6, "[anon:.bss]"))
    caller: Fields = ((1, STAYS + 4), (2, BASE + STAYS + 4), (6, FILE), (8, ID))
    register: Fields = ((1, "pc"), (2, BASE + LATER))
    thread: Fields = ((1, 7), (3, register), (4, frame), (4, caller))
    signal: Fields = ((1, 5), (2, "SIGTRAP"), (3, -6))
    data = encode(((1, 1), (6, 7), (10, signal), (16, ((1, 7), (2, thread)))))
    finding = look_up(parse_report(data, source="t"), [DEFERRING])
    assert (finding.cause, names(finding), finding.why_several) == ("left out", ["later()"], ())


def test_a_frame_of_systemd_in_no_module() -> None:
    text = (
        f"Signal: 5 (TRAP)\nModule {FILE} with build-id {ID}\nStack trace of thread 7:\n"
        f"#0  0x{BASE + LATER:016x} n/a (n/a + 0x0)\n"
        f"#1  0x{BASE + STAYS + 4:016x} n/a ({FILE} + 0x{STAYS + 4 - DEFERRING.first_address:x})\n"
    )
    finding = find(text)
    assert (finding.cause, names(finding)) == (CrashCause.LEFT_OUT, ["later()"])
