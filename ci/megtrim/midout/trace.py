"""midout traces: what a profile build writes about the regions that it ran. Pure.

Format: the line ``midout_trace v1``, then one mangled ``midout::Region<…>`` a line. Traces are
hostile until parsed: each line is held to the grammar of :mod:`megtrim.midout.cpptype`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import cxxfilt

from megtrim.errors import InputError, ProductFailure
from megtrim.midout.cpptype import CppType, NotAType, parse
from megtrim.midout.region import Region

MAGIC = "midout_trace v1"
_MAX_BYTES = 64 * 1024 * 1024
_MAX_LINE = 4096
_MANGLED = re.compile(r"N6midout6RegionI[A-Za-z0-9_]{1,4070}E")
_IN_BINARY = re.compile(rb"N6midout6RegionI[A-Za-z0-9_]{1,4070}E(?=\0)")
_PROMISE = re.compile(r"^midout: (\d{1,9}) items written to ", re.MULTILINE)
_TAGS = "midout::tags::"
_HINT = "expected a file that a profile build wrote ($MIDOUT_OUTPUT or midout_trace.PID)"


class TraceProblem(StrEnum):
    """The ways a trace can fail to be one."""

    MISSING = "missing"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    STALE = "stale"
    SHRUNKEN = "shrunken"


class TraceFailure(ProductFailure):
    """A run that should have left a trace did not leave a whole one."""

    def __init__(self, problem: TraceProblem, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The regions that one run executed."""

    regions: tuple[Region, ...]
    """Sorted and unique."""
    sha256: str
    """Of the file's bytes."""


def parse_trace(data: bytes, *, source: str) -> Trace:
    """Read a trace. Anything but its exact form is an InputError naming ``source:line``."""
    if len(data) > _MAX_BYTES:
        msg = f"{source}: {len(data)} bytes are too many for a trace"
        raise InputError(msg, hint=_HINT)
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        msg = f"{source}:{data.count(10, 0, error.start) + 1}: not text, expected a trace"
        raise InputError(msg, hint=_HINT) from None
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0] != MAGIC:
        msg = f"{source}:1: found {lines[0][:60]!r}, expected {MAGIC!r}"
        raise InputError(msg, hint=_HINT)
    if lines[-1] != "":
        msg = f"{source}:{len(lines)}: the file ends within a line"
        raise InputError(msg, hint="the run or the copy was cut off; make the trace again")
    return Trace(regions=_regions(lines[1:-1], source), sha256=hashlib.sha256(data).hexdigest())


def read_trace(path: Path) -> Trace:
    """Read the trace at ``path``."""
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg, hint=_HINT) from None
    return parse_trace(data, source=str(path))


def promised_items(stderr: str) -> int | None:
    """Return how many items the run said it wrote; None where it said nothing."""
    said = _PROMISE.findall(stderr)
    return int(said[-1]) if said else None


def check_trace(data: bytes | None, *, promised: int | None, source: str) -> Trace:
    """Read the trace that a run must have left: missing, empty or cut off is a named failure."""
    again = "a run that crashed or was killed leaves none; look at its log"
    if data is None:
        msg = f"{source}: the run left no trace"
        raise TraceFailure(TraceProblem.MISSING, msg, hint=again)
    items = data.count(b"\n") - 1
    if not data.startswith(MAGIC.encode()) or not data.endswith(b"\n") or promised is None:
        msg = f"{source}: the trace is cut off after {len(data)} bytes"
        raise TraceFailure(TraceProblem.TRUNCATED, msg, hint=again)
    if items != promised:
        problem = TraceProblem.TRUNCATED if items < promised else TraceProblem.STALE
        msg = f"{source}: the run wrote {promised} items, the trace holds {items}"
        raise TraceFailure(problem, msg, hint=again)
    trace = parse_trace(data, source=source)
    if not trace.regions:
        msg = f"{source}: the run executed no region"
        hint = "is this the profile build, and is the engine linked statically into it?"
        raise TraceFailure(TraceProblem.EMPTY, msg, hint=hint)
    return trace


def regions_in_binary(data: bytes) -> tuple[Region, ...]:
    """Return the regions that a profile binary holds: the names in its type information."""
    found = set()
    for name in {match.decode("ascii") for match in _IN_BINARY.findall(data)}:
        try:
            found.add(_region(_demangled([name])[name]))
        except NotAType:
            continue  # bytes that only look like a name
    return tuple(sorted(found))


def _regions(lines: list[str], source: str) -> tuple[Region, ...]:
    for number, line in enumerate(lines, start=2):
        if _MANGLED.fullmatch(line) is None:
            msg = f"{source}:{number}: found {line[:60]!r}, expected a mangled midout::Region"
            raise InputError(msg, hint=_HINT)
    names = _demangled(lines)
    regions = {}
    for number, line in enumerate(lines, start=2):
        if line not in regions:
            regions[line] = _placed(names[line], f"{source}:{number}")
    return tuple(sorted(set(regions.values())))


def _placed(name: str, place: str) -> Region:
    try:
        return _region(name)
    except NotAType as problem:
        msg = f"{place}: no region of numbers and types: {problem}"
        raise InputError(msg, hint=_HINT) from None


def _demangled(lines: Iterable[str]) -> Mapping[str, str]:
    # The characters were checked before: nothing but a mangled name reaches the demangler.
    names = {}
    for line in lines:
        if line not in names:
            try:
                names[line] = cxxfilt.demangle(line, external_only=False)
            except cxxfilt.Error:
                names[line] = ""
    return names


def _region(name: str) -> Region:
    found = parse(name)
    tag = found.args[0] if found.args else None
    named = isinstance(tag, CppType) and not tag.args and tag.name.startswith(_TAGS)
    if found.name != "midout::Region" or not named:
        msg = f"{name[:80]!r} has no tag"
        raise NotAType(msg)
    return Region.of(CppType(str(tag).removeprefix(_TAGS), found.args[1:]))
