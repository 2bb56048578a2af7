from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.elf.symbol_table import parse_table
from megtrim.functions.calls import Disassembly, parse_code
from megtrim.util.errors import InputError
from unit.functions.made_links import X86_64, Symbol, linked

STEP = 16
"""Each made function has room for four instructions of four bytes."""
NAMES = ("a", "b", "c", "d", "__throw_e")


def bl(at: int, to: int, *, link: bool = True) -> bytes:
    return struct.pack("<I", (0x94000000 if link else 0x14000000) | ((to - at) // 4 & 0x3FFFFFF))


def code(calls: dict[str, list[str]], *, alias: str = "", jumps: bool = False) -> Disassembly:
    """Return a program in which each function calls those named; ``alias`` is another ``b``."""
    content = b""
    for number, name in enumerate(NAMES):
        at = STEP * number
        words = [
            bl(at + 4 * place, STEP * NAMES.index(to), link=not jumps)
            for place, to in enumerate(calls.get(name, []))
        ]
        content += b"".join(words).ljust(STEP, b"\x1f")
    symbols = [Symbol(name=name, at=STEP * at, size=STEP) for at, name in enumerate(NAMES)]
    symbols += [Symbol(name=alias, at=STEP, size=STEP)] if alias else []
    data = linked(symbols, code=content)
    return parse_code(data, parse_table(data, source="x"), source="x")


@pytest.mark.parametrize("jumps", [False, True])
def test_what_functions_call_is_reached(jumps: bool) -> None:
    made = code({"a": ["c", "b"], "c": ["a"], "d": ["a"]}, jumps=jumps)

    assert made.find_reachable(["a"], ran=()) == ("a", "b", "c")
    assert made.find_reachable(["d"], ran=()) == ("a", "b", "c", "d")
    assert made.find_reachable(["b"], ran=()) == ("b",)
    assert made.find_reachable([], ran=()) == ()


def test_what_ran_is_not_followed() -> None:
    made = code({"a": ["b", "d"], "b": ["c"]})

    assert made.find_reachable(["a"], ran=["b"]) == ("a", "d")
    assert made.find_reachable(["b"], ran=["b"]) == ("b", "c")


def test_containers_that_fail_are_not_followed() -> None:
    assert code({"a": ["__throw_e"], "__throw_e": ["d"]}).find_reachable(["a"], ran=()) == ("a",)


def test_a_function_is_reached_under_all_of_its_names() -> None:
    """A linker that drops one of them drops the body."""
    assert code({"a": ["b"]}, alias="same").find_reachable(["a"], ran=()) == ("a", "b", "same")
    assert code({}, alias="same").find_reachable(["b"], ran=()) == ("b", "same")


def test_who_calls() -> None:
    made = code({"a": ["c"], "b": ["d"], "d": ["c"]})

    assert made.callers(["c"], NAMES) == ("a", "c", "d")
    assert made.callers(["c"], ["b", "d"]) == ("d",)


def test_calls_of_the_other_machine_are_read() -> None:
    call = b"\x90\xe8" + struct.pack("<i", 32 - 6)
    jump = b"\xe9" + struct.pack("<i", 0 - 21)
    condition = b"\x0f\x84" + struct.pack("<i", 48 - 38)
    content = call.ljust(16, b"\xcc") + jump.ljust(16, b"\xcc") + condition.ljust(32, b"\xcc")
    symbols = [Symbol(name=name, at=16 * at, size=16) for at, name in enumerate("abcd")]
    data = linked(symbols, code=content, machine=X86_64)
    made = parse_code(data, parse_table(data, source="x"), source="x")

    assert made.find_reachable(["a"], ran=()) == ("a", "c", "d")
    assert made.find_reachable(["b"], ran=()) == ("a", "b", "c", "d")
    assert made.find_reachable(["d"], ran=()) == ("d",)


@pytest.mark.parametrize("kept", [0, 30, 60, 100])
def test_a_cut_off_file_is_refused(kept: int) -> None:
    data = linked([Symbol(name="a")])

    with pytest.raises(InputError, match="x: a damaged ELF file"):
        parse_code(data[:kept], parse_table(data, source="x"), source="x")


@given(st.binary(min_size=64, max_size=64), st.sampled_from([183, X86_64]))
def test_any_code_is_read(content: bytes, machine: int) -> None:
    symbols = [Symbol(name=name, at=STEP * at, size=STEP) for at, name in enumerate("abcd")]
    data = linked(symbols, code=content, machine=machine)
    made = parse_code(data, parse_table(data, source="x"), source="x")

    assert {"a"} <= {*made.find_reachable(["a"], ran=())} <= {*"abcd"}
