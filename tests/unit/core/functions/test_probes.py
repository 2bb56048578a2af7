import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.functions import probes
from megtrim.core.functions.qemu_log import ENVIRONMENT, LOG_FILE, ran_in_log
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError, MegtrimError, ProductFailure
from unit.core.functions.made_links import functions

MAGIC = b"megtrim: the table of probes, 1\0"
((_, RUNTIME),) = probes.sources(shared=False)
CONSTANTS = {
    name: int(value) for name, value in re.findall(r"#define ([A-Z_]+) ([0-9]+)\n", RUNTIME)
}
CODE_AT = 0x10200
CODE = 0x200
DATA_AT = 0x31000
DATA = 0x1000
TABLE_BYTES = 32 + 32 + 16 * CONSTANTS["MAX_RANGES"] + CONSTANTS["HEAD_BYTES"]
STACK = 0xA9BF7BFD  # stp x29, x30, [sp, #-16]!
RETURN = 0xD65F03C0
BRK = 0xD4200020


def _at(word: int, *names: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((name, CODE_AT + 4 * word, 4) for name in names)


def _program(words: Sequence[int], *, loader: bool = False, tables: int = 1) -> bytes:
    content = b"pad\0" + tables * (MAGIC + bytes(TABLE_BYTES - 32))
    content += bytes(8 * CONSTANTS["CAPACITY"])
    code = struct.pack(f"<{len(words)}I", *words)
    headers = [
        struct.pack("<2I6Q", 1, 5, CODE, CODE_AT, CODE_AT, len(code), len(code), 4096),
        struct.pack("<2I6Q", 1, 6, DATA, DATA_AT, DATA_AT, len(content), len(content), 4096),
    ]
    headers += [struct.pack("<2I6Q", 3, 4, CODE, CODE_AT, CODE_AT, 4, 4, 1)] * loader
    head = struct.pack("<16s2HI3QI6H", b"\x7fELF\2\1\1", 3, 183, 1, 0, 64, 0, 0, 64, 56,
                       len(headers), 64, 0, 0)  # fmt: skip
    return (head + b"".join(headers)).ljust(CODE, b"\0") + code.ljust(DATA - CODE, b"\0") + content


def _words(data: bytes, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}I", data, CODE)


def _entries(data: bytes, count: int) -> list[tuple[int, int]]:
    at = DATA + 4 + TABLE_BYTES
    return [struct.unpack_from("<2I", data, at + 8 * number) for number in range(count)]


def _patched(data: bytes, table: FunctionTable) -> bytes:
    return probes.patch(data, table, {each.name for each in table.functions})


def _record(table: FunctionTable, marks: bytes) -> bytes:
    twin = _patched(_program([STACK] * 8), table)
    return twin[DATA + 4 + TABLE_BYTES - CONSTANTS["HEAD_BYTES"] :][:64] + marks


def test_the_runtime_and_the_patch_have_the_same_numbers() -> None:
    assert MAGIC[:-1].decode() in RUNTIME
    assert probes.ENVIRONMENT == {"MEGTRIM_FUNCTIONS": "functions.bin"}
    wrapped = {each.removeprefix("-Wl,--wrap=") for each in probes.flags(shared=False)}
    assert wrapped == set(re.findall(r"__wrap_(\w+)\(", RUNTIME))


def test_the_patch_exchanges_first_instructions_for_traps() -> None:
    program = _program([STACK, RETURN, 1, 2, 3])
    table = functions(*_at(0, "f", "g"), *_at(2, "megtrim_begin"), *_at(3, "h"))
    twin = probes.patch(program, table, {"f", "g", "h"})

    assert _words(twin, 5) == (BRK, RETURN, 1, BRK, 3)
    assert _entries(twin, 4) == [(0, STACK), (8, 0), (12, 2), (0, 0)]
    # Where the table lies, what offsets count from, how many functions, how many pieces of code.
    assert struct.unpack_from("<4Q", twin, DATA + 4 + 32) == (DATA_AT + 4, CODE_AT, 3, 1)
    assert struct.unpack_from("<4Q", twin, DATA + 4 + 64) == (CODE_AT, 16, 0, 0)
    assert twin[: CODE - 1] == program[: CODE - 1]
    assert len(twin) == len(program)


def test_a_trap_of_thumb_code_is_half_a_word() -> None:
    """Only those that Linux makes a SIGTRAP are met by the handler: compilers' are probed."""
    table = functions(*_at(0, "arm"), *_at(2, "own"), *_at(3, "compilers"), machine="armv7l")
    thumb = Function("thumb", CODE_AT + 6, 2, thumb=True)
    both = replace(table, functions=tuple(sorted((*table.functions, thumb), key=_address)))
    twin = _patched(_program([STACK, 0x4770BF00, 0xE7F001F0, 0xE7FFDEFE]), both)

    assert _words(twin, 4) == (0xE7F001F0, 0xDE01BF00, 0xE7F001F0, 0xE7F001F0)
    assert [first for _, first in _entries(twin, 4)] == [STACK, 0x4770, 0, 0xE7FFDEFE]
    assert probes.unprobeable(_program([0, 0]), both) == {"arm", "compilers", "own", "thumb"}


def _address(function: Function) -> int:
    return function.address


def test_a_trap_of_x86_64_is_one_byte() -> None:
    table = functions(*_at(0, "f"), ("g", CODE_AT + 1, 1), machine="x86_64")
    twin = _patched(_program([0x90C35590]), table)

    assert _words(twin, 1) == (0x90C3CCCC,)
    assert _entries(twin, 2) == [(0, 0x90), (1, 0x55)]


def test_each_piece_of_code_is_made_writable_by_itself() -> None:
    program = bytearray(_program([1, 2, 3, 4], loader=True))
    # The last header becomes a second piece: the last two words, at another address.
    far = CODE_AT + 0x10000
    struct.pack_into("<2I6Q", program, 64 + 2 * 56, 1, 5, CODE + 8, far, far, 8, 8, 4096)
    table = functions(*_at(0, "f"), *_at(1, "g"), ("far", far + 4, 4))
    twin = _patched(bytes(program), table)

    assert _words(twin, 4) == (BRK, BRK, 3, BRK)
    assert struct.unpack_from("<Q", twin, DATA + 4 + 56) == (2,)
    assert struct.unpack_from("<4Q", twin, DATA + 4 + 64) == (CODE_AT, 8, far + 4, 4)


@pytest.mark.parametrize(("machine", "first"), [("aarch64", 0xD4207D00), ("x86_64", 0xCC)])
def test_a_function_that_begins_with_a_trap_keeps_it(machine: str, first: int) -> None:
    table = functions(*_at(0, "trap"), *_at(1, "f"), *_at(2, "nothing"), machine=machine)
    twin = _patched(_program([first, 0x55, 0]), table)

    assert _words(twin, 3)[0] == first
    assert _words(twin, 3)[2] == 0
    assert _entries(twin, 3) == [(0, 0), (4, 0x55), (8, 0)]


def test_what_is_no_whole_instruction_cannot_be_probed() -> None:
    table = functions(
        *_at(0, "f"),
        *_at(1, "trap"),
        *_at(2, "nothing"),
        *_at(900, "far"),
        ("within", CODE_AT + 2, 2),
        ("data", DATA_AT, 4),
    )

    assert probes.unprobeable(_program([STACK, BRK, 0]), table) == {
        "nothing",
        "far",
        "within",
        "data",
    }


def test_a_twin_without_a_function_is_refused() -> None:
    with pytest.raises(InputError, match="the probed link misses 2 functions, such as g"):
        probes.patch(_program([STACK]), functions(*_at(0, "f")), {"f", "h", "g"})


@pytest.mark.parametrize("tables", [0, 2])
def test_a_program_without_the_one_runtime_is_refused(tables: int) -> None:
    with pytest.raises(InputError, match="no table of probes, or more"):
        _patched(_program([1], tables=tables), functions(*_at(0, "f")))


def test_more_functions_than_the_table_holds_are_refused() -> None:
    every = [("f", CODE_AT + number, 1) for number in range(CONSTANTS["CAPACITY"] + 1)]
    program = _program([1])

    _patched(program, functions(*every[:-1]))
    with pytest.raises(InputError, match="262145 functions, expected 1 to 262144"):
        _patched(program, functions(*every))
    with pytest.raises(InputError, match="no function can be left out"):
        _patched(program, functions())


def test_a_library_of_which_all_is_exported_has_nothing_to_leave_out() -> None:
    with pytest.raises(InputError, match="other files use each of them by its name"):
        probes.patch(_program([STACK]), functions(*_at(0, "f")), ())


def test_functions_outside_of_the_code_are_refused() -> None:
    for address in (CODE_AT + 4096, CODE_AT + 2):
        with pytest.raises(InputError, match="its functions are outside of its loaded segments"):
            _patched(_program([1, 2]), functions(("f", address, 4)))


@given(st.integers(0, DATA + 200))
def test_a_program_that_is_cut_off_is_refused(size: int) -> None:
    with pytest.raises(InputError):
        _patched(_program([1, 2])[:size], functions(*_at(0, "f")))


RECORDED = functions(
    *_at(0, "_start"),
    *_at(1, "f", "alias_of_f"),
    *_at(2, "f.cold"),
    *_at(3, "g"),
    ("around", CODE_AT + 16, 12),
    *_at(5, "within"),
)


def test_a_record_names_what_ran() -> None:
    assert probes.parse_record(_record(RECORDED, b"\0\1\0\0\0\0"), RECORDED, source="r") == (
        "alias_of_f",
        "f",
    )
    assert probes.parse_record(_record(RECORDED, b"\0\0\0\1\0\1"), RECORDED, source="r") == (
        "around",
        "g",
        "within",
    )


WHOLE_RECORD = _record(RECORDED, b"\0\1\0\0\0\0")


@pytest.mark.parametrize(
    ("record", "reported"),
    [
        (b"", "r: the record is empty"),
        (_record(RECORDED, bytes(6)), "r: none of the program's 7 functions ran"),
        # A function too few would be a function that is left out.
        *(
            (WHOLE_RECORD[:size], f"r: the record has {size} bytes, expected 70: it is truncated")
            for size in (24, 40, 69)
        ),
        (WHOLE_RECORD + b"\0", "expected 70"),
        (_record(RECORDED, b"\0\1\xff\0\0\0"), "a function is marked with 255"),
    ],
)
def test_what_is_no_whole_record_is_refused(record: bytes, reported: str) -> None:
    with pytest.raises((InputError, ProductFailure), match=reported):
        probes.parse_record(record, RECORDED, source="r")


@pytest.mark.parametrize(
    ("exported", "hint"),
    [((), "did the program start at all?"), (("f",), "trim.exports: ['@applications']")],
)
def test_where_nothing_ran_a_library_may_export_all_that_did(
    exported: tuple[str, ...], hint: str
) -> None:
    table = replace(RECORDED, exported=frozenset(exported))
    with pytest.raises(ProductFailure) as caught:
        probes.parse_record(_record(table, bytes(6)), table, source="r")
    assert caught.value.hint.endswith(hint)


def test_a_record_of_another_link_is_refused() -> None:
    first, *rest = RECORDED.functions
    for other in (
        replace(RECORDED, functions=(replace(first, name="start"), *rest)),
        replace(RECORDED, functions=(replace(first, address=first.address - 4), *rest)),
        replace(RECORDED, machine="x86_64"),
    ):
        with pytest.raises(InputError, match="r: the record is from another program"):
            probes.parse_record(WHOLE_RECORD, other, source="r")


@given(st.binary(max_size=80))
def test_other_bytes_are_no_record(data: bytes) -> None:
    with pytest.raises(MegtrimError, match="r: "):
        probes.parse_record(data, RECORDED, source="r")


def test_a_twin_that_cannot_record_says_why() -> None:
    said = "WARNING: linker: x\nmegtrim: functions cannot be recorded: its file is full\nmore\n"

    assert probes.refusal(said) == "its file is full"
    assert probes.refusal("functions cannot be recorded: no\n") is None


PROGRAM = functions(
    ("_start", 0x1000, 16),
    ("main", 0x1010, 32),
    ("_ZN3mgb3runEv", 0x1030, 64),
    ("_ZN3mgb4stopEv", 0x1070, 16),
    ("alias", 0x1070, 16),
    ("never", 0x1080, 16),
)
BASE = 0x5500000000


def block(name: str, *addresses: int, base: int = BASE) -> str:
    lines = "".join(f"0x{base + each:x}:  d503201f  nop      \n" for each in addresses)
    return f"----------------\nIN: {name}\n{lines}\n"


def ran(*blocks: str, program: FunctionTable = PROGRAM) -> tuple[str, ...]:
    return ran_in_log("".join(blocks).encode(), program, source="log")


@pytest.mark.parametrize(
    ("blocks", "names"),
    [
        # Wherever the program lies in memory; what ran of its libraries is no part of it.
        (
            [
                block("__dl__start", 0x79D0, base=0x5502000000),
                block("_start", 0x1000, 0x1004),
                block("main", 0x1010),
                block("", 0x1080, base=0x7F00000000),
                block("_ZN3mgb3runEv", 0x1048, 0x104C),
            ],
            ("_ZN3mgb3runEv", "_start", "main"),
        ),
        # Under all of its names.
        ([block("main", 0x1010), block("alias", 0x1070)], ("_ZN3mgb4stopEv", "alias", "main")),
        # Each instruction counts: a block may run on into the next function.
        ([block("main", 0x1010), block("main", 0x102C, 0x1030)], ("_ZN3mgb3runEv", "main")),
        # Where it was linked.
        ([block("_start", 0x1000, base=0), block("main", 0x1010, base=0)], ("_start", "main")),
        # Most blocks decide where it lies: a loader may have functions of the same names.
        (
            [
                block("_start", 0x1000, base=0x4000000000),
                block("_start", 0x1000),
                block("main", 0x1010),
            ],
            ("_start", "main"),
        ),
        # Addresses of older and newer logs differ in length, and some tell the processor's mode.
        (["IN: main\n0x0000005500001010:  48 89 e7   movq %rsp, %rdi\n"], ("main",)),
    ],
)
def test_functions_of_translated_blocks_ran(blocks: list[str], names: tuple[str, ...]) -> None:
    assert ran(*blocks) == names


def test_a_log_of_another_program_is_a_named_failure() -> None:
    with pytest.raises(ProductFailure) as caught:
        ran(block("other", 0x1010), block("main", 0x1234))

    assert caught.value.message == "log: none of the program's 6 functions ran"


@pytest.mark.parametrize("data", [b"", b"hello\n", b"IN: main\n", b"0x1000: nop\n", bytes(100)])
def test_what_is_no_log_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="log: contains no block of translated code"):
        ran_in_log(data, PROGRAM, source="log")


def test_a_log_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("megtrim.core.functions.qemu_log.MAX_LOG_BYTES", 10)
    with pytest.raises(InputError, match="larger than 10 bytes"):
        ran(block("main", 0x1010))


WHOLE = "".join((block("_start", 0x1000), block("main", 0x1010, 0x1014))).encode()


@given(st.integers(0, len(WHOLE)), st.binary(max_size=12))
def test_a_damaged_log_is_read_or_refused(at: int, noise: bytes) -> None:
    try:
        found = ran_in_log(WHOLE[:at] + noise + WHOLE[at + len(noise) :], PROGRAM, source="log")
    except (InputError, ProductFailure):
        return

    assert {*found} <= {each.name for each in PROGRAM.functions}


REAL = Path(__file__).parents[3] / "data" / "functions" / "blocks.log"


def test_a_real_log_is_read() -> None:
    handler = ("__atexit_handler_wrapper", 0xBA310, 0xC)
    program = functions(("_start", 0xBA2C4, 0xC), ("_start_main", 0xBA2D0, 0x40), handler)

    assert ran_in_log(REAL.read_bytes(), program, source="log") == ("_start", "_start_main")


def test_qemu_is_shown_by_its_environment() -> None:
    assert ENVIRONMENT == {"QEMU_LOG": "in_asm", "QEMU_LOG_FILENAME": LOG_FILE}
