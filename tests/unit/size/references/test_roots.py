"""Which parts stay although nothing refers to them."""

from __future__ import annotations

import pytest

from megtrim.elf.layout import ElfLayout
from megtrim.size.references.graph import Part as FilePart
from megtrim.size.references.roots import (
    AT_EXIT,
    BEFORE_MAIN,
    ENTRY,
    LOADER,
    NAMED_SECTION,
    find_roots,
)
from unit.elf.made_objects import ALLOC, Part, object_file


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (".init_array", BEFORE_MAIN),
        (".ctors", BEFORE_MAIN),
        (".fini_array", AT_EXIT),
        (".got.plt", LOADER),
        (".eh_frame_hdr", LOADER),
        ("registered", NAMED_SECTION),
        (".rodata", None),
        (".gcc_except_table", None),
    ],
)
def test_a_section_may_be_a_reason(section: str, why: str | None) -> None:
    """Data that a linker keeps for the loader or for start-up code."""
    parts = (Part(name=section, content=bytes(8), flags=ALLOC, address=0x1000),)
    part = FilePart(names=("x",), section=section, source="", size_bytes=8)

    found = find_roots(ElfLayout(object_file(parts, (), kind=2)), (part,), lambda _: -1)

    assert found.get(0) == why


def test_the_entry_point_is_a_root() -> None:
    """Whatever else it is."""
    parts = (Part(name=".init", content=bytes(8), address=0x1000),)
    part = FilePart(names=("_init",), section=".init", source="", size_bytes=8)
    layout = ElfLayout(object_file(parts, (), kind=2, entry=0x1000))

    assert find_roots(layout, (part,), lambda address: address - 0x1000) == {0: ENTRY}
