import struct
from collections.abc import Callable

import pytest

from megtrim.libs.elf.loaded import find_difference, find_foreign, find_other_code
from support.made_programs import ID, folded, numbered_file

WHOLE = folded()
_SEGMENT = struct.Struct("<2I6Q")


def put(at: int, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + new + data[at + len(new) :]


def put_field(field: int, value: int) -> Callable[[bytes], bytes]:
    """Change a field of the first segment."""

    def change(data: bytes) -> bytes:
        fields = [*_SEGMENT.unpack_from(data, 64)]
        fields[field] = value
        return put(64, _SEGMENT.pack(*fields))(data)

    return change


@pytest.mark.parametrize(
    "change",
    [
        put(40, bytes(8)),  # where the headers of sections are
        put(58, bytes(6)),  # how many
        put(7, b"\x03"),  # the system, which GNU's strip writes anew
        lambda data: data + b"more",
        put_field(4, 0x123),  # a physical address
    ],
)
def test_a_strip_is_no_difference(change: Callable[[bytes], bytes]) -> None:
    assert change(WHOLE) != WHOLE
    assert find_difference(WHOLE, change(WHOLE)) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: b"", "it is not an intact ELF file"),
        (lambda data: data[:70], "it is not an intact ELF file"),
        (put(18, b"\x3e"), "it is for another machine, or another kind of file"),
        (put(16, b"\x02"), "it is for another machine, or another kind of file"),
        (put(7, b"\x09"), "it is for another machine, or another kind of file"),
        (put(24, b"\x01"), "its header has another entry point or other flags"),
        (put(48, b"\x01"), "its header has another entry point or other flags"),
        (put_field(1, 7), "its segment 1, LOAD, has the flags 0x7, expected "),
        (put_field(3, 0x20000), "its segment 1, LOAD, lies at 0x20000, expected "),
        (put_field(5, 1), "its segment 1, LOAD, takes bytes of the file: 0x1, expected "),
        (put_field(6, 1), "its segment 1, LOAD, takes bytes of memory: 0x1, expected "),
        (put_field(7, 2), "its segment 1, LOAD, is aligned to 0x2, expected "),
        (put_field(2, 0x1010), "its segment 1, LOAD, is at another place of its page"),
        (put(56, b"\x01"), "its build id is not there, expected "),
        (lambda data: data.replace(bytes.fromhex(ID), bytes(20)), "its build id is 0000"),
    ],
)
def test_all_else_is_one(change: Callable[[bytes], bytes], said: str) -> None:
    assert find_difference(WHOLE, change(WHOLE)).startswith(said)


def test_a_byte_that_is_loaded_is_named_with_its_address() -> None:
    segment = _SEGMENT.unpack_from(WHOLE, 64)
    at = segment[2] + 8
    changed = put(at, bytes([WHOLE[at] ^ 1]))(WHOLE)
    said = find_difference(WHOLE, changed)

    assert said == f"its segment 1, LOAD, has other bytes from {segment[3] + 8:#x} on"
    assert find_other_code(WHOLE, changed) == "it contains other code"


def test_a_twin_may_have_another_build_id_and_no_other_code() -> None:
    twin = WHOLE.replace(bytes.fromhex(ID), b"\x11" * 20)

    assert find_other_code(WHOLE, twin) == ""
    assert find_other_code(WHOLE, numbered_file()) == "it contains other code"
    assert find_other_code(WHOLE, b"") == "it is not an intact ELF file"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("aarch64-linux-gnu", ""),
        ("aarch64-linux-android23", ""),
        ("x86_64-linux-gnu", "it is for aarch64, expected x86_64"),
        ("armv7a-linux-androideabi21", "it is for aarch64, expected armv7l"),
        ("arm-linux-gnueabihf", "it is for aarch64, expected armv7l"),
        ("i686-pc-linux-gnu", "it is for aarch64, expected i686"),
        ("riscv64gc-linux-gnu", "it is for aarch64, expected riscv64"),
        ("", "'' is no target of which the machine is known"),
        ("armada-linux", "'armada-linux' is no target of which the machine is known"),
    ],
)
def test_a_file_is_for_its_target(target: str, said: str) -> None:
    assert find_foreign(WHOLE, target) == said


@pytest.mark.parametrize("damaged", [b"", b"#!/bin/sh\n", WHOLE[:80]])
def test_what_is_no_file_is_for_no_target(damaged: bytes) -> None:
    assert find_foreign(damaged, "aarch64-linux-gnu") == "it is not an intact ELF file"


def test_an_object_is_for_no_target() -> None:
    said = find_foreign(put(16, b"\1")(WHOLE), "aarch64-linux-gnu")

    assert said == "it is an ELF file that was not linked"
