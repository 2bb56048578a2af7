"""What sections are for."""

from __future__ import annotations

import pytest

from megtrim.elf.layout import ElfLayout
from megtrim.elf.purposes import Purpose, find_purpose
from unit.elf.made_objects import ALLOC, EXECUTE, PROGBITS, WRITE, Named, Part, object_file


@pytest.mark.parametrize(
    ("name", "flags", "kind", "purpose"),
    [
        (".text.f", ALLOC | EXECUTE, PROGBITS, Purpose.CODE),
        (".rodata", ALLOC, PROGBITS, Purpose.CONSTANTS),
        (".data.rel.ro", ALLOC | WRITE, PROGBITS, Purpose.DATA),
        (".eh_frame", ALLOC, PROGBITS, Purpose.UNWIND),
        (".ARM.exidx", ALLOC, 0x70000001, Purpose.UNWIND),
        (".rela.dyn", ALLOC, 4, Purpose.RELOCATIONS),
        (".relr.dyn", ALLOC, 19, Purpose.RELOCATIONS),
        (".rel.dyn", ALLOC, 0x60000001, Purpose.RELOCATIONS),
        (".got.plt", ALLOC | WRITE, PROGBITS, Purpose.LINKING),
        (".plt", ALLOC | EXECUTE, PROGBITS, Purpose.LINKING),
        (".dynstr", ALLOC, 3, Purpose.LINKING),
        (".gnu.hash", ALLOC, 0x6FFFFFF6, Purpose.LINKING),
        (".note.gnu.build-id", ALLOC, 7, Purpose.NOTES),
        (".comment", 0, PROGBITS, Purpose.NOTES),
        (".debug_info", 0, PROGBITS, Purpose.DEBUG),
        (".strtab", 0, 3, Purpose.SYMBOLS),
        (".symtab", 0, 2, Purpose.SYMBOLS),
        (".shstrtab", 0, 3, Purpose.HEADERS),
    ],
)
def test_a_section_has_a_purpose(name: str, flags: int, kind: int, purpose: Purpose) -> None:
    """By its kind, its name and its flags."""
    parts = [Part(name=".text", content=bytes(4))]
    if name not in {".strtab", ".symtab", ".shstrtab"}:
        parts.append(Part(name=name, content=b"", flags=flags, kind=kind))
    layout = ElfLayout(object_file(parts, [Named(name="f", part=".text", size=4)]))
    section = next(each for each in layout.sections if each.name == name)

    assert find_purpose(section, layout) is purpose
