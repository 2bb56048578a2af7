"""Which input file each function is from, by the linker's map: lld's or GNU ld's.

Maps contain readable names or none, so functions are looked up by address. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    from megtrim.libs.elf.symbol_table import FunctionTable

_MAX_MAP_BYTES = 2 * 1024**3
_HINT = "expected the map that the linker wrote with -Map"
_LLD = re.compile(
    rb"^ *([0-9a-f]{1,16}) +[0-9a-f]{1,16} +([0-9a-f]{1,16}) +[0-9]+ "
    rb"(?:([^ \n]+)$| {8}(\S.*):\((.*)\)$)",
    re.MULTILINE,
)
_GNU = re.compile(
    rb"^(?:([.\w]\S*)| ([.\w]\S*))\s+0x([0-9a-f]{1,16})[ \t]+0x([0-9a-f]{1,16})(?: (\S.*))?$",
    re.MULTILINE,
)
"""Rows of the program's own sections, and below each those of the inputs' sections in it."""
_IN_NO_PLACE = re.compile(rb"\.tbss\b")
"""Sections that each thread has of its own; their addresses are those of what follows."""
_PLATFORM = re.compile(
    # A C library, the compiler's own runtime, and the start and end of every program.
    r"lib(?:c|zigc|m|pthread|dl|rt|util|resolv|xnet|crypt|mvec|c_nonshared|ssp|ssp_nonshared)\.a"
    r"|libgcc\.a|libcompiler_rt\.a|libclang_rt\..*\.a"
    r"|[A-Za-z]*crt[A-Za-z0-9_]*\.o"
)


_WITH_UNWINDER = re.compile(r"libgcc_real\.a")
"""The NDK's: the compiler's own functions, and the unwinder, which may be left out."""


class LinkMap(Value):
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    files: tuple[str, ...]
    """Object, or archive and its member as ``lib/libx.a(one.cpp.o)``."""

    def of(self, address: int) -> str:
        """Return the input file of what is at ``address``; empty: not in the map."""
        at = bisect_right(self.starts, address) - 1
        return self.files[at] if at >= 0 and address < self.ends[at] else ""


def read_map(path: Path) -> LinkMap:
    data = read_bytes(path, most_bytes=_MAX_MAP_BYTES, expected="a linker map", hint=_HINT)
    return parse_map(data, source=str(path))


def parse_map(data: bytes, *, source: str) -> LinkMap:
    parts = sorted(set(_parts(data)))
    if not parts:
        msg = f"{source}: names no file that a part of the program comes from"
        raise InputError(msg, hint=_HINT)
    files = [file.decode("utf-8", "backslashreplace").strip() for _, _, file in parts]
    return LinkMap(
        starts=tuple(at for at, _, _ in parts),
        ends=tuple(at + size for at, size, _ in parts),
        files=tuple(files),
    )


def parse_placed(data: bytes) -> dict[str, set[tuple[str, str]]]:
    """Return by file the member and the section of each part of it that was not dropped."""
    placed: dict[str, set[tuple[str, str]]] = {}
    for at, _, _, file, section in _rows(data):
        if file and int(at, 16):
            whole, name = (each.decode("utf-8", "backslashreplace") for each in (file, section))
            archive, member = _split(whole.strip())
            placed.setdefault(archive, set()).add((member, name))
    return placed


def _rows(data: bytes) -> list[tuple[bytes, bytes, bytes, bytes, bytes]]:
    """Return address, size, and the program's section or file and section of the input."""
    return _LLD.findall(data) or [
        (at, size, own, file, section) for own, section, at, size, file in _GNU.findall(data)
    ]


def _parts(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    rows = [(at, size, own, file) for at, size, own, file, _ in _rows(data)]
    placed = True
    for at, size, own, file in rows:
        address = int(at, 16)
        size_bytes = int(size, 16)
        if own:
            # Debug information has address 0, and its parts have their places in it as addresses.
            placed = address > 0 and not _IN_NO_PLACE.match(own)
        elif placed and file and address and size_bytes:
            yield address, size_bytes, file


def platform_names(origins: LinkMap, table: FunctionTable) -> frozenset[str]:
    return frozenset(each.name for each in table.functions if is_platform(origins.of(each.address)))


def is_platform(file: str) -> bool:
    archive, member = _split(file)
    if member and _WITH_UNWINDER.fullmatch(archive.rpartition("/")[2]):
        return not member.startswith("unwind-")
    return _PLATFORM.fullmatch(archive.rpartition("/")[2]) is not None


def name_object(file: str) -> str:
    """Return the name of an object, without its folder or its archive."""
    archive, member = _split(file)
    return PurePath(member or archive).name


def _split(file: str) -> tuple[str, str]:
    """Return the file, and which of its members it is if it is an archive."""
    archive, _, member = file[:-1].rpartition("(") if file.endswith(")") else (file, "", "")
    return archive, member
