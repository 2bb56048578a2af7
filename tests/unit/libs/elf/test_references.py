import struct
from dataclasses import replace

import pytest

from megtrim.libs.elf.layout import ElfLayout
from megtrim.libs.elf.references import (
    UnwindEntry,
    iter_dynamic_places,
    iter_entries,
    read_code,
    read_dynamic,
    read_emitted,
)
from unit.libs.elf.made_objects import (
    AARCH64,
    ALLOC,
    ARM,
    EXIDX,
    RELA,
    X86_64,
    Named,
    Part,
    object_file,
)

_PLT32 = 4
_RELATIVE = 8
CODE = Part(
    name=".text",
    content=bytes(32),
    address=0x1000,
    relocations=((0x1004, _PLT32, "f", -4), (0x100C, _PLT32, ".text", 12)),
)
SYMBOLS = (Named(name="f", part=".text", at=16, size=8),)


def test_a_symbol_and_a_place_in_a_section_are_targets() -> None:
    """On x86-64, a distance counts from the end of its own four bytes."""
    found = read_emitted(ElfLayout(object_file((CODE,), SYMBOLS, kind=2, machine=X86_64)))

    # A file without them is something else than one in which nothing refers to anything.
    bare = replace(CODE, relocations=())
    assert read_emitted(ElfLayout(object_file((bare,), SYMBOLS, kind=2))) is None
    assert found is not None
    assert found.places.tolist() == [0x1004, 0x100C]
    assert found.targets.tolist() == [0x1010, 0x1000 + 12 + 4]


def test_pointers_that_the_loader_fills_in_are_references() -> None:
    table = Part(
        name=".rela.dyn",
        content=struct.pack("<QQq", 0x2000, _RELATIVE, 0x1010),
        flags=ALLOC,
        kind=RELA,
        address=0x3000,
    )
    layout = ElfLayout(object_file((CODE, table), SYMBOLS, kind=2, machine=X86_64))

    found = read_dynamic(layout)
    (sizes,) = ((each, places.tolist()) for _, each, places in iter_dynamic_places(layout))

    assert (found.places.tolist(), found.targets.tolist()) == ([0x2000], [0x1010])
    assert sizes == (24, [0x2000])


def test_a_symbol_that_is_not_there_is_damage() -> None:
    data = object_file((CODE,), SYMBOLS, kind=2, machine=X86_64)
    entry = data.index(struct.pack("<QI", 0x1004, _PLT32))
    damaged = data[: entry + 12] + struct.pack("<I", 99) + data[entry + 16 :]

    with pytest.raises(ValueError, match="a symbol that is not there"):
        read_emitted(ElfLayout(damaged))


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
        pytest.param(243, b"\xe8\0\0\0\0" * 4, [], id="another machine"),
    ],
)
def test_instructions_refer_to_addresses(
    machine: int, code: bytes, expected: list[tuple[int, int]]
) -> None:
    part = Part(name=".text", content=code, address=0x1000)

    found = read_code(ElfLayout(object_file((part,), (), kind=2, machine=machine)))

    assert list(zip(found.places.tolist(), found.targets.tolist(), strict=True)) == expected


AT = 0x4000
_FUNCTION = 0x1000
_EXCEPTIONS = 0x5000
_ROUTINE = 0x6000


def _common(letters: bytes, data: bytes) -> bytes:
    body = b"\1" + letters + b"\0" + b"\1\x78\x1e" + bytes([len(data)]) + data
    body += bytes(-len(body) % 4)
    return struct.pack("<II", 4 + len(body), 0) + body


def _entry(table: bytes, exceptions: int | None) -> bytes:
    at = len(table)
    body = struct.pack("<iI", _FUNCTION - (AT + at + 8), 16)
    if exceptions is None:
        body += b"\0"
    else:
        body += b"\4" + struct.pack("<i", exceptions - (AT + at + 17) if exceptions else 0)
    body += bytes(-len(body) % 4)
    return table + struct.pack("<II", 4 + len(body), at + 4) + body


def _read_table(content: bytes) -> list[UnwindEntry]:
    part = Part(name=".eh_frame", content=content, flags=ALLOC, address=AT)
    return list(iter_entries(ElfLayout(object_file((part,), (), kind=2))))


def _with_exceptions() -> bytes:
    routine = struct.pack("<Bi", 0x9B, _ROUTINE - (AT + 19))
    return _common(b"zPLR", routine + b"\x1b\x1b")


def test_an_entry_refers_to_its_exceptions_and_their_routine() -> None:
    (entry,) = _read_table(_entry(_with_exceptions(), _EXCEPTIONS))
    (other,) = _read_table(_entry(_with_exceptions(), 0))

    assert entry.refers_to == (_EXCEPTIONS, _ROUTINE)
    assert other.refers_to == (_ROUTINE,)


def test_the_index_of_32_bit_arm_leads_to_tables_of_exceptions() -> None:
    """But not where the entry itself says how to unwind, or that nothing does."""
    content = struct.pack("<iIiIiI", 0x101, 0x80B0B0B0, -0x8 + (1 << 31), 1, 0x20, 0x7FFFFFE0)
    part = Part(name=".ARM.exidx", content=content, flags=ALLOC, address=AT, kind=EXIDX)
    found = list(iter_entries(ElfLayout(object_file((part,), (), kind=2, machine=ARM))))

    assert found == [
        UnwindEntry(AT + 0x100, 8, ()),
        UnwindEntry(AT, 8, ()),
        UnwindEntry(AT + 0x30, 8, (AT + 20 - 0x20,)),
    ]


def test_damage_hides_an_entry_and_no_other() -> None:
    """Tables of several objects may follow each other."""
    content = _entry(_common(b"zR", b"\x1b"), None)

    for more in (b"", bytes(4), struct.pack("<II", 4000, 8)):
        assert _read_table(content + more) == [UnwindEntry(_FUNCTION, 20, ())]
    assert _read_table(struct.pack("<IIQ", 12, 9999, 0) + content) != []
    assert _read_table(bytes(8)) == []
