"""What a region's numbers mean, and where it stands, read from the engine's source. Pure.

Many numbers are hashes of names: the low 32 bits of XXH64 (seed 20160701), read as a signed
int, over the name itself in ``dnn/`` (``"NAME"_hash``) and over the name with its terminating
NUL elsewhere (``MGB_HASH_STR("NAME")``). So every text in the source is a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import xxhash

from megtrim.midout.region import Region

SEED = 20160701
_TEXT = re.compile(r'"([^"\\\n]{1,200})"')
_BEGIN = re.compile(r"\bMIDOUT_BEGIN\s*\(")
_DECL = re.compile(r"\bMIDOUT_DECL\s*\(\s*(\w+)")
_MAX_CALL = 2000


def name_hash(name: str, *, terminated: bool) -> int:
    """Return the number that stands for a name; ``terminated`` counts its NUL."""
    data = name.encode() + (b"\0" if terminated else b"")
    low = xxhash.xxh64_intdigest(data, seed=SEED) & 0xFFFFFFFF
    return low - 2**32 if low >= 2**31 else low


class NameTable:
    """Names and places of regions, from ``(relative path, text)`` of the engine's sources."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._names: dict[int, str] = {}
        self._begins: dict[str, list[tuple[str, int, str]]] = {}
        self._declared: dict[str, list[tuple[str, int]]] = {}
        for path, text in texts:
            if "MIDOUT_" not in text and "_hash" not in text and "MGB_HASH_STR" not in text:
                continue
            self._read_names(text)
            self._read_places(path, text)

    def meaning(self, region: Region) -> str:
        """Return the region with its numbers decoded to names; empty where none decodes."""
        known = [self._names.get(arg) if isinstance(arg, int) else None for arg in region.args]
        if not any(known):
            return ""
        shown = [
            f'"{name}"' if name else str(arg) for name, arg in zip(known, region.args, strict=True)
        ]
        return f"{region.tag}<{', '.join(shown)}>"

    def places(self, region: Region) -> tuple[tuple[str, int], ...]:
        """Return file and line of each ``MIDOUT_BEGIN`` that can be this region.

        Those that hold one of its names are the narrower answer; a region that only a macro of
        the engine's own begins is shown where its tag is declared.
        """
        begins = self._begins.get(region.tag, [])
        names = [self._names[a] for a in region.args if isinstance(a, int) and a in self._names]
        exact = [
            (path, line) for path, line, call in begins if any(f'"{n}"' in call for n in names)
        ]
        every = [(path, line) for path, line, _ in begins]
        return tuple(sorted(set(exact or every or self._declared.get(region.tag, []))))

    def _read_names(self, text: str) -> None:
        for name in set(_TEXT.findall(text)):
            for terminated in (False, True):
                self._names.setdefault(name_hash(name, terminated=terminated), name)

    def _read_places(self, path: str, text: str) -> None:
        for match in _BEGIN.finditer(text):
            call = _call(text, match.end())
            tag = call.split(",")[0].strip()
            line = text.count("\n", 0, match.start()) + 1
            self._begins.setdefault(tag, []).append((path, line, call))
        for match in _DECL.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            self._declared.setdefault(match[1], []).append((path, line))


def _call(text: str, start: int) -> str:
    """Return what stands between the parentheses of a macro call, over line ends."""
    depth = 1
    for at in range(start, min(len(text), start + _MAX_CALL)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at].replace("\\\n", " ")
    return text[start : start + _MAX_CALL]
