"""A trace: the regions that one run of a profile build executed.

    midout_trace v1
    N6midout6RegionINS_4tags13megbrain_miscEJSt17integral_constantIiLi1425917426EEEEE
    ...

One mangled type name a line, written when the program exits, and not trusted. Pure.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from megtrim.core.keep.region import Region, order
from megtrim.core.keep.trace import Trace, TraceFailure, TraceProblem
from megtrim.engines.midout.spelling import PREFIX, demangle, parse_demangled, problem
from megtrim.libs.elf.type_names import MAX_NAME, GrammarError
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value

MAGIC = "midout_trace v1"
MAX_TRACE_BYTES = 64 * 1024 * 1024
MAX_REGIONS = 100_000
"""Most distinct regions in one trace; the engine has some five thousand."""

_ANNOUNCED = re.compile(r"^midout: ([0-9]{1,9}) items written to ", re.MULTILINE)
_IN_BINARY = re.compile(rb"%s[A-Za-z0-9_]{1,%d}\0" % (PREFIX.encode(), MAX_NAME))
_MARK = re.compile(rf"_ZT[IS]({PREFIX}\w+)|_Z({PREFIX}\w+)7on_usedEv", re.ASCII)
"""Descriptions of a region's type, texts of its name, and functions that report it."""
_HINT = "expected a trace as midout's profile build writes it"


class _Lines(Value):
    mangled: tuple[str, ...]
    """In the file's order, without the first line and without line ends."""
    finished: bool
    sha256: str


def parse_trace(data: bytes, *, source: str) -> Trace:
    lines = _split(data, source)
    if not lines.mangled:
        msg = f"{source}:1: the trace contains no region"
        raise InputError(msg, hint="did the traced program run the model, and exit by itself?")
    if not lines.finished:
        msg = (
            f"{source}:{len(lines.mangled) + 1}: the last line may be truncated: it has no newline"
        )
        raise InputError(msg, hint="copy or record the trace again")
    return _trace(lines, source)


def read_trace(path: Path) -> Trace:
    data = read_bytes(path, most_bytes=MAX_TRACE_BYTES, expected="a trace", hint=_HINT)
    return parse_trace(data, source=str(path))


def parse_announced_count(stderr: str) -> int | None:
    """Return the count in the last ``midout: 149 items written to FILE``."""
    counts = _ANNOUNCED.findall(stderr)
    return int(counts[-1]) if counts else None


def check_trace(data: bytes | None, *, announced: int | None, source: str) -> Trace:
    """Parse the trace of a run, and compare it with the count that the run announced.

    Raises TraceFailure for one that is missing, empty, truncated or of another run.
    """
    if data is None:
        hint = "a program that is killed or crashes writes none"
        raise TraceFailure(TraceProblem.MISSING, f"{source}: the run left no trace", hint=hint)
    if not data.strip():
        hint = "is the disk of the device full?"
        raise TraceFailure(TraceProblem.EMPTY, f"{source}: the file is empty", hint=hint)
    lines = _split(data, source)
    found = len(lines.mangled)
    if announced is None:
        msg = f"{source}: there is a trace, but the run did not report that it wrote one"
        hint = "it may be of an earlier run; a program that is killed or crashes writes none"
        raise TraceFailure(TraceProblem.STALE, msg, hint=hint)
    if not found:
        hint = "was the program built with midout's profiling?"
        raise TraceFailure(TraceProblem.EMPTY, f"{source}: contains no region", hint=hint)
    if found != announced:
        kind = TraceProblem.TRUNCATED if found < announced else TraceProblem.STALE
        msg = f"{source}: contains {found} items, but the run wrote {announced}"
        raise TraceFailure(kind, msg, hint="record the trace again")
    if not lines.finished:
        msg = f"{source}: ends in the middle of a line"
        raise TraceFailure(TraceProblem.TRUNCATED, msg, hint="record the trace again")
    return _trace(lines, source)


def regions_in_binary(data: bytes) -> tuple[Region, ...]:
    """Return the regions in a profile build, which holds their types' names, NUL-terminated."""
    found = {match[0][:-1].decode("ascii") for match in _IN_BINARY.finditer(data)}
    return tuple(sorted({*_find_regions(found).values()}, key=order))


def find_marked(names: Iterable[str]) -> dict[str, Region]:
    """Return the regions that are marked with these linkage names."""
    types = {name: mark[1] or f"{mark[2]}E" for name in names if (mark := _MARK.fullmatch(name))}
    regions = _find_regions(types.values())
    return {name: regions[kind] for name, kind in types.items() if kind in regions}


def _find_regions(names: Iterable[str]) -> dict[str, Region]:
    regions = {}
    for mangled, name in demangle(name for name in names if not problem(name)).items():
        try:
            regions[mangled] = _region(name)
        except GrammarError:
            continue
    return regions


# Most runs of an engine share most of their regions.
@lru_cache(maxsize=16384)
def _region(name: str) -> Region:
    return Region(*parse_demangled(name))


def _split(data: bytes, source: str) -> _Lines:
    if len(data) > MAX_TRACE_BYTES:
        msg = (
            f"{source}: found a larger file, expected a trace of at most {MAX_TRACE_BYTES:,} bytes"
        )
        raise InputError(msg, hint=_HINT)
    # Latin-1 keeps every byte, so that messages can show unexpected ones.
    text = data.decode("latin-1")
    first, *rest = text.split("\n")
    if first.removesuffix("\r") != MAGIC:
        msg = f"{source}:1: found {first[:60]!r}, expected {MAGIC!r}"
        raise InputError(msg, hint=_HINT)
    finished = bool(rest) and rest[-1] == ""
    lines = rest[:-1] if finished else rest
    return _Lines(
        mangled=tuple(line.removesuffix("\r") for line in lines),
        finished=finished,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _trace(lines: _Lines, source: str) -> Trace:
    first_line: dict[str, int] = {}
    for number, mangled in enumerate(lines.mangled, start=2):
        first_line.setdefault(mangled, number)
    if len(first_line) > MAX_REGIONS:
        msg = f"{source}: {len(first_line)} regions, expected at most {MAX_REGIONS}"
        raise InputError(msg, hint=_HINT)
    for mangled, number in first_line.items():
        if found := problem(mangled):
            msg = f"{source}:{number}: {found}"
            raise InputError(msg, hint=_HINT)
    regions = set()
    for mangled, name in demangle(first_line).items():
        try:
            regions.add(_region(name))
        except GrammarError as error:
            shown = repr(name[:120]) if name else f"{mangled[:80]!r}, which is not a type,"
            msg = f"{source}:{first_line[mangled]}: {shown} is not a region: {error}"
            raise InputError(msg, hint=_HINT) from None
    return Trace(regions=tuple(sorted(regions, key=order)), sha256=lines.sha256)
