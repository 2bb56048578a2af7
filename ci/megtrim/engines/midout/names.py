"""Decodes a region's numbers, and finds its place in the engine's source. Pure.

Many numbers are hashes of names: the low 32 bits of XXH64 (seed 20160701), as a signed int, of the
name itself in ``dnn/`` (``"NAME"_hash``), and of the name with its terminating NUL in ``src/``
(``MGB_HASH_STR("NAME")``). Names that macros assemble from parts are not decoded.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable

import xxhash

from megtrim.core.keep.region import Region
from megtrim.libs.util.value import Value

SEED = 20160701
_TEXT = re.compile(r'"([^"\\\n]{1,200})"')
_BEGIN = re.compile(r"\bMIDOUT_BEGIN[\s\\]*\(")
_DECL = re.compile(r"\bMIDOUT_DECL\s*\(\s*(\w+)")
_PARENTHESIS = re.compile(r"[()]")
_MAX_CALL = 2000

Place = tuple[str, int]
"""File, relative to the engine's root, and line."""


def name_hash(name: str, *, terminated: bool) -> int:
    data = name.encode() + (b"\0" if terminated else b"")
    low = xxhash.xxh64_intdigest(data, seed=SEED) & 0xFFFFFFFF
    return low - 2**32 if low >= 2**31 else low


class _Begin(Value):
    place: Place
    names: frozenset[str]


class NameTable:
    """Names and places of regions, from ``(relative path, text)`` of the engine's sources."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._names: dict[int, str] = {}
        self._named: dict[str, list[Place]] = {}
        self._begins: dict[str, list[_Begin]] = {}
        self._declared: dict[str, list[Place]] = {}
        for path, text in texts:
            if "MIDOUT_" in text:
                self._read(path, text)

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self._declared)

    def meaning(self, region: Region) -> str:
        names = [self._name(arg) for arg in region.args]
        if not any(names):
            return ""
        shown = (
            f'"{name}"' if name else str(arg) for name, arg in zip(names, region.args, strict=True)
        )
        return f"{region.tag}<{', '.join(shown)}>"

    def places(self, region: Region) -> tuple[Place, ...]:
        """Return the region's places, as precisely as the source allows.

        That is each ``MIDOUT_BEGIN`` with one of its names; else, if the engine has a macro around
        it, each place of such a name in the macro's file; else each ``MIDOUT_BEGIN`` of its tag
        without another name; else the declaration of its tag.
        """
        begins = self._begins.get(region.tag, [])
        names = {name for arg in region.args if (name := self._name(arg))}
        open_ones = [begin.place for begin in begins if not begin.names]
        files = {file for file, _ in open_ones}
        with_a_name = [begin.place for begin in begins if begin.names & names]
        in_the_file = [place for name in names for place in self._named[name] if place[0] in files]
        begun = [begin.place for begin in begins]
        declared = self._declared.get(region.tag, [])
        places = with_a_name or in_the_file or open_ones or begun or declared
        return tuple(sorted(set(places)))

    def _name(self, arg: int | str) -> str:
        return self._names.get(arg, "") if isinstance(arg, int) else ""

    def _read(self, path: str, text: str) -> None:
        starts = [match.end() for match in re.finditer("\n", text)]

        def place(match: re.Match[str]) -> Place:
            return path, bisect_right(starts, match.start()) + 1

        for match in _TEXT.finditer(text):
            name = match[1]
            if name not in self._named:
                for terminated in (False, True):
                    self._names.setdefault(name_hash(name, terminated=terminated), name)
            self._named.setdefault(name, []).append(place(match))
        for match in _BEGIN.finditer(text):
            call = _call(text, match.end())
            tag = call.replace("\\\n", " ").split(",")[0].strip()
            begin = _Begin(place=place(match), names=frozenset(_TEXT.findall(call)))
            self._begins.setdefault(tag, []).append(begin)
        for match in _DECL.finditer(text):
            self._declared.setdefault(match[1], []).append(place(match))


def _call(text: str, start: int) -> str:
    depth = 1
    end = start + _MAX_CALL
    for match in _PARENTHESIS.finditer(text, start, end):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return text[start : match.start()]
    return text[start:end]
