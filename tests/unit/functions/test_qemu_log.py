from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.elf.symbol_table import FunctionTable
from megtrim.functions.qemu_log import ENVIRONMENT, LOG_FILE, ran_in_log
from megtrim.util.errors import InputError, ProductFailure
from unit.functions.made_links import functions

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
    monkeypatch.setattr("megtrim.functions.qemu_log.MAX_LOG_BYTES", 10)
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


REAL = Path(__file__).parents[2] / "data" / "functions" / "blocks.log"


def test_a_real_log_is_read() -> None:
    program = functions(
        ("_start", 0xBA2C4, 0xC),
        ("_start_main", 0xBA2D0, 0x40),
        ("__atexit_handler_wrapper", 0xBA310, 0xC),
    )

    assert ran_in_log(REAL.read_bytes(), program, source="log") == ("_start", "_start_main")


def test_qemu_is_shown_by_its_environment() -> None:
    assert ENVIRONMENT == {"QEMU_LOG": "in_asm", "QEMU_LOG_FILENAME": LOG_FILE}
