"""Bytes per object file, from the map that lld writes with ``-Map``.

Shows what the engine's own objects lost, apart from the runtime libraries next to them.
Only what takes room in the stripped file counts. Pure: text in, values out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from megtrim.errors import InputError

_HEADER = re.compile(r"^ *VMA +LMA +Size +Align +Out +In +Symbol *$")
_ROW = re.compile(
    r" *(?P<address>[0-9a-f]{1,16}) +[0-9a-f]{1,16} +(?P<size>[0-9a-f]{1,16}) +\d+ "
    r"(?P<indent> {16}| {8}|)(?P<name>.*)"
)
_SECTION_INDENT = 8
_NOT_IN_FILE = (".bss", ".tbss", ".relro_padding")
"""Sections that only take room in memory; those that are not loaded have the address 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMap:
    """What each object file brought into the link."""

    objects: tuple[tuple[str, int], ...]
    """Object file as the linker names it (``libc.a(printf.o)``) and its bytes; sorted.

    What the linker made itself (tables, stubs, merged strings) is the object ``<internal>``.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """A link map split in two."""

    own_bytes: int
    library_bytes: int


def parse_link_map(text: str, *, source: str) -> LinkMap:
    """Read a map of lld. Raises InputError for any other text."""
    lines = text.split("\n")
    if not _HEADER.match(lines[0]):
        msg = f"{source}:1: found {lines[0][:60]!r}, expected the head of a link map of lld"
        raise InputError(msg, hint="link with lld and -Wl,-Map=FILE")
    sizes: Counter[str] = Counter()
    counts = False
    for number, line in enumerate(lines[1:], start=2):
        row = _ROW.fullmatch(line)
        if row:
            indent, name, size = len(row["indent"]), row["name"], int(row["size"], 16)
            if indent == 0:
                counts = int(row["address"], 16) > 0 and not name.startswith(_NOT_IN_FILE)
            elif indent == _SECTION_INDENT and counts:
                sizes[name.rpartition(":(")[0] or name] += size
        elif line.strip():
            msg = f"{source}:{number}: found {line[:60]!r}, expected address, size and name"
            raise InputError(msg, hint="link again: the map may be cut off")
    return LinkMap(objects=tuple(sorted(sizes.items())))


def split(link_map: LinkMap, own: Sequence[str]) -> Shares:
    """Split a map into own objects and libraries; ``own`` holds patterns such as ``*/src/*.o``."""
    own_bytes = sum(
        size
        for name, size in link_map.objects
        if any(fnmatchcase(name, pattern) for pattern in own)
    )
    total_bytes = sum(size for _, size in link_map.objects)
    return Shares(own_bytes=own_bytes, library_bytes=total_bytes - own_bytes)
