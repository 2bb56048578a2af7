"""Pairs of places and targets, from the relocations of a linked file."""

from __future__ import annotations

import struct

import pytest

from megtrim.elf.layout import ElfLayout
from megtrim.elf.references.relocations import iter_dynamic_places, read_dynamic, read_emitted
from unit.elf.made_objects import ALLOC, RELA, X86_64, Named, Part, object_file

_PLT32, _RELATIVE = 4, 8
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

    assert found is not None
    assert found.places.tolist() == [0x1004, 0x100C]
    assert found.targets.tolist() == [0x1010, 0x1000 + 12 + 4]


def test_a_file_without_them_has_none() -> None:
    """That is something else than a file in which nothing refers to anything."""
    part = Part(name=".text", content=bytes(32), address=0x1000)

    assert read_emitted(ElfLayout(object_file((part,), SYMBOLS, kind=2))) is None


def test_pointers_that_the_loader_fills_in_are_references() -> None:
    """Each with the bytes that its entry takes in the file."""
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
    """The table of symbols is shorter than the index."""
    data = object_file((CODE,), SYMBOLS, kind=2, machine=X86_64)
    entry = data.index(struct.pack("<QI", 0x1004, _PLT32))
    damaged = data[: entry + 12] + struct.pack("<I", 99) + data[entry + 16 :]

    with pytest.raises(ValueError, match="a symbol that is not there"):
        read_emitted(ElfLayout(damaged))
