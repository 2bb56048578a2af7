"""The probed link: a program or shared object whose functions record their own first call.

It is linked with a runtime (``probes.c``). Here a trap replaces each function's first instruction,
which moves to the runtime's table. The record of a run is a header, which identifies the link, and
one byte for each address at which functions begin. Pure: bytes in, bytes and names out.
"""

import hashlib
import re
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.resources import files as package_files

from megtrim.libs.elf.layout import EXECUTABLE, LOADED, Segment, segments
from megtrim.libs.elf.symbol_table import Function, FunctionTable, holding
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.wording import count

RECORD_FILE = "functions.bin"
ENVIRONMENT = {"MEGTRIM_FUNCTIONS": RECORD_FILE}
_RUNTIME = (package_files("megtrim.core.functions") / "probes.c").read_text("utf-8")
_WRAPPED = tuple(
    f"-Wl,--wrap={name}" for name in ("sigaction", "sigprocmask", "pthread_sigmask", "signal")
)
"""Calls that could hide a trap from the runtime go through the runtime."""

_TABLE_MAGIC = b"megtrim: the table of probes, 1\0"
_RECORD_MAGIC = b"megtrim functions ran 1\n"
_NOT_STARTED = "did the program start at all?"
_HIDE = "hide what your programs do not use, such as by trim.exports: ['@applications']"
_OF_EXPORTS = f"does the program call it? If so, {_HIDE}"
_HEAD = struct.Struct("<24sQ32s")
_NUMBERS = struct.Struct("<4Q")
_RANGE = struct.Struct("<2Q")
_ENTRY = struct.Struct("<2I")
_MAX_RANGES = 4
_MAX_ADDRESSES = 262_144
_TABLE_BYTES = (
    32 + _NUMBERS.size + _MAX_RANGES * _RANGE.size + _HEAD.size + (_MAX_ADDRESSES * _ENTRY.size)
)
_TRAPS = {
    ("aarch64", False): bytes.fromhex("200020d4"),  # brk #1
    ("armv7l", False): bytes.fromhex("f001f0e7"),  # udf #16, which Linux makes a SIGTRAP
    ("armv7l", True): bytes.fromhex("01de"),  # udf #1, too
    ("x86_64", False): b"\xcc",  # int3
}
"""By machine, and whether the function's code is Thumb's."""
_MAX_TRAP_BYTES = 4
_NUMBER = {"aarch64": 0x001FFFE0}
"""Bits of a trap that are a number: whichever it is, the signal is the same."""

_REFUSAL = re.compile(r"^megtrim: functions cannot be recorded: (.{1,200})$", re.MULTILINE)
_HINT = "record the functions again"


@dataclass(frozen=True, slots=True)
class _Probe:
    offset: int
    first: int
    trap: bytes
    segment: Segment


def sources(*, shared: bool) -> tuple[tuple[str, str], ...]:
    define = "#define MEGTRIM_SHARED_OBJECT\n" if shared else ""
    return (("megtrim_probes.c", define + _RUNTIME),)


def flags(*, shared: bool) -> tuple[str, ...]:
    """A shared object is never unloaded: its traps need the handler that is in it."""
    return (*_WRAPPED, "-Wl,-z,nodelete") if shared else _WRAPPED


def unprobeable(data: bytes, table: FunctionTable) -> frozenset[str]:
    pieces = _segments(data)
    names = set()
    for function in table.functions:
        place = _place(function, data, pieces, table.machine)
        if place is None or not place.first:
            names.add(function.name)
    return frozenset(names)


def patch(data: bytes, table: FunctionTable, observed: Collection[str]) -> bytes:
    """Return the program with its probes. ``data`` must be linked with sources() and flags().

    Raises InputError if the table or one of ``observed`` is missing, or the table is too small.
    """
    missing = {*observed} - table.names
    if missing:
        msg = f"the probed link misses {count(len(missing), 'function')}, such as {min(missing)}"
        raise InputError(msg, hint="record the functions on an emulator: use one of its classes")
    segments = _segments(data)
    addresses = _addresses(table)
    if not observed:
        msg = "no function can be left out: other files use each of them by its name"
        raise InputError(msg, hint=_HIDE)
    at = _table_at(data, addresses)
    here = next((each for each in segments if 0 <= at - each.offset < each.size_bytes), None)
    probes = {}
    for function in table.functions:
        if function.name not in observed:
            continue
        probe = _place(function, data, segments, table.machine)
        if probe is not None and probe.first and not _is_trap(probe, table.machine):
            probes[function.address] = probe
    ranges = _ranges(probes)
    if here is None or not 0 < len(ranges) <= _MAX_RANGES:
        raise _make_damage_error()
    image = bytearray(data)
    for probe in probes.values():
        image[probe.offset : probe.offset + len(probe.trap)] = probe.trap
    table_address = at - here.offset + here.address
    base = addresses[0]
    content = _TABLE_MAGIC
    content += _NUMBERS.pack(table_address, base, len(addresses), len(ranges))
    content += b"".join(ranges).ljust(_MAX_RANGES * _RANGE.size, b"\0")
    content += _head(table)
    firsts = [probes[address].first if address in probes else 0 for address in addresses]
    entries = zip(addresses, firsts, strict=True)
    content += b"".join(_ENTRY.pack(address - base, first) for address, first in entries)
    image[at : at + len(content)] = content
    return bytes(image)


def parse_record(data: bytes, table: FunctionTable, *, source: str) -> tuple[str, ...]:
    """Return the functions that ran, sorted. ``table`` is the probed link's.

    Raises InputError for a damaged record or another program's, ProductFailure if nothing ran.
    """
    ran = find_marked(data, table, source=source)
    if not ran:
        msg = f"{source}: none of the program's {len(table.functions)} functions ran"
        if table.exported:
            msg += ", and those that it exports are not recorded"
        raise ProductFailure(msg, hint=_OF_EXPORTS if table.exported else _NOT_STARTED)
    return ran


def find_marked(data: bytes, table: FunctionTable, *, source: str) -> tuple[str, ...]:
    """As parse_record, of a file that may have been loaded without a call."""
    marks = _marks(data, table, source)
    pairs = zip(_addresses(table), marks, strict=True)
    return holding(table, [address for address, mark in pairs if mark])


def refusal(stderr: str) -> str | None:
    found = _REFUSAL.search(stderr)
    return found[1] if found else None


def _marks(data: bytes, table: FunctionTable, source: str) -> bytes:
    if not data:
        msg = f"{source}: the record is empty: the program ended before its first function"
        raise ProductFailure(msg, hint="does the unprobed program run there?")
    if not data.startswith(_RECORD_MAGIC):
        msg = f"{source}: begins with {data[:24]!r}, expected a record of functions"
        raise InputError(msg, hint=_HINT)
    head = _head(table)
    if len(data) >= len(head) and not data.startswith(head):
        msg = f"{source}: the record is from another program than this link"
        raise InputError(msg, hint=_HINT)
    expected = len(head) + len(_addresses(table))
    if len(data) != expected:
        msg = f"{source}: the record has {len(data)} bytes, expected {expected}: it is truncated"
        raise InputError(msg, hint=_HINT)
    marks = data[len(head) :]
    if max(marks, default=0) > 1:
        msg = f"{source}: the record is damaged: a function is marked with {max(marks)}"
        raise InputError(msg, hint=_HINT)
    return marks


def _addresses(table: FunctionTable) -> tuple[int, ...]:
    return tuple(sorted({function.address for function in table.functions}))


def _head(table: FunctionTable) -> bytes:
    names = "".join(f"{function.address:x} {function.name}\n" for function in table.functions)
    digest = hashlib.sha256(f"{table.machine}\n{names}".encode()).digest()
    return _HEAD.pack(_RECORD_MAGIC, len(_addresses(table)), digest)


def _table_at(data: bytes, addresses: tuple[int, ...]) -> int:
    if not 0 < len(addresses) <= _MAX_ADDRESSES:
        msg = f"the program has {len(addresses)} functions, expected 1 to {_MAX_ADDRESSES}"
        raise InputError(msg, hint="use trim.level: region for it")
    at = data.find(_TABLE_MAGIC)
    if at < 0 or data.find(_TABLE_MAGIC, at + 1) >= 0:
        msg = "the program contains no table of probes, or more than one"
        raise InputError(msg, hint="link it once with the runtime that records functions")
    if addresses[-1] - addresses[0] >= 1 << 32 or at + _TABLE_BYTES > len(data):
        raise _make_damage_error()
    return at


def _segments(data: bytes) -> tuple[Segment, ...]:
    return tuple(
        segment
        for segment in segments(data, source="a probed program")
        if segment.kind == LOADED and segment.offset + segment.size_bytes <= len(data)
    )


def _place(
    function: Function, data: bytes, segments: tuple[Segment, ...], machine: str
) -> _Probe | None:
    """None if a trap would not replace a whole instruction."""
    trap = _TRAPS[machine, function.thumb]
    address = function.address
    width = len(trap)
    for each in segments if address % width == 0 else ():
        if each.flags & EXECUTABLE and 0 <= address - each.address <= each.size_bytes - width:
            offset = address - each.address + each.offset
            first = int.from_bytes(data[offset : offset + width], "little")
            return _Probe(offset, first, trap, each)
    return None


def _is_trap(probe: _Probe, machine: str) -> bool:
    """A function that begins with a trap of its own is recorded by that."""
    differing = probe.first ^ int.from_bytes(probe.trap, "little")
    return not differing & ~_NUMBER.get(machine, 0)


def _ranges(probes: Mapping[int, _Probe]) -> list[bytes]:
    by_segment: dict[Segment, list[int]] = {}
    for address, probe in probes.items():
        by_segment.setdefault(probe.segment, []).append(address)
    ranges = []
    for addresses in by_segment.values():
        start = min(addresses)
        end = max(addresses) + _MAX_TRAP_BYTES
        ranges.append(_RANGE.pack(start, end - start))
    return ranges


def _make_damage_error() -> InputError:
    msg = "the program is damaged: its functions are outside of its loaded segments"
    return InputError(msg, hint="link it again")
