"""ELF files, made section by section."""

import struct

PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, NOTE, REL, RELR, ANDROID_RELA = (
    *(1, 2, 3, 4, 8, 7, 9, 19, 0x60000002),
)
INIT_ARRAY = 14
W, A, X = 1, 2, 4
ENTRY_BYTES = {SYMTAB: 24, RELA: 24, REL: 16, RELR: 8, ANDROID_RELA: 1}
Section = tuple[str, int, int, int]
"""Name, type, flags, bytes."""


def elf(*sections: Section, machine: int = 183, tail: int = 0) -> bytes:
    named = [("", 0, 0, 0), *sections, (".shstrtab", STRTAB, 0, 0)]
    names = b"\0"
    entries: list[tuple[int, int, int, int, int]] = []
    body = b""
    for name, kind, flags, size in named[:-1]:
        entries.append((len(names) if name else 0, kind, flags, 64 + len(body), size))
        names += name.encode() + b"\0" if name else b""
        body += bytes(0 if kind == NOBITS else size)
    entries.append((len(names), STRTAB, 0, 64 + len(body), len(names) + 10))
    body += names + b".shstrtab\0"
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64,
                        len(entries), len(entries) - 1)  # fmt: skip
    table = b"".join(
        struct.pack(
            *("<IIQQQQIIQQ", name, kind, flags, 0, at, size, int(kind == SYMTAB), 0, 1),
            ENTRY_BYTES.get(kind, 0),
        )
        for name, kind, flags, at, size in entries
    )
    return head + body + table + bytes(tail)
