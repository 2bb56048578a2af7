"""What instructions refer to."""

from __future__ import annotations

import struct

import pytest

from megtrim.elf.layout import ElfLayout
from megtrim.elf.references.code import read
from unit.elf.made_objects import AARCH64, X86_64, Part, object_file

_BL = struct.pack("<I", 0x94000000 | 3)  # 12 bytes on
_B_BACK = struct.pack("<I", 0x14000000 | (0x3FFFFFF))  # 4 bytes back
_ADRP_X0 = struct.pack("<I", 0xB0000000)  # the next page
_ADD_X0 = struct.pack("<I", 0x91000000 | 0x123 << 10)
_LDR_X0 = struct.pack("<I", 0xF9400000 | 2 << 10)  # eight bytes at 16
_NOP = struct.pack("<I", 0xD503201F)


@pytest.mark.parametrize(
    ("machine", "code", "expected"),
    [
        pytest.param(AARCH64, _NOP + _BL, [(0x1004, 0x1010)], id="a call"),
        pytest.param(AARCH64, _NOP + _B_BACK, [(0x1004, 0x1000)], id="a jump back"),
        pytest.param(AARCH64, _ADRP_X0 + _NOP + _ADD_X0, [(0x1000, 0x2123)], id="an address"),
        pytest.param(AARCH64, _ADRP_X0 + _LDR_X0, [(0x1000, 0x2010)], id="a value"),
        pytest.param(X86_64, b"\xe8\x05\0\0\0" + b"\x90" * 5, [(0x1000, 0x100A)], id="call"),
        pytest.param(X86_64, b"\x48\x8d\x3d\xf9\xff\xff\xff\x90\x90", [(0x1001, 0x1000)], id="lea"),
        pytest.param(X86_64, b"\xc3", [], id="too short"),
    ],
)
def test_instructions_refer_to_addresses(
    machine: int, code: bytes, expected: list[tuple[int, int]]
) -> None:
    """Relative to their own place, or to their page."""
    part = Part(name=".text", content=code, address=0x1000)

    found = read(ElfLayout(object_file((part,), (), kind=2, machine=machine)))

    assert list(zip(found.places.tolist(), found.targets.tolist(), strict=True)) == expected


def test_another_machine_has_none() -> None:
    """Its instructions are not known."""
    part = Part(name=".text", content=b"\xe8\0\0\0\0" * 4, address=0x1000)

    assert read(ElfLayout(object_file((part,), (), kind=2, machine=243))).places.tolist() == []
