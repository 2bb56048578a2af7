"""Deferred functions that were called in the field, as ``MEGTRIM_REACHED`` records them. Pure.

A record comes a long way: programs of several builds append to it, a machine stops in the middle of
a write, a log puts its own words before each line, other systems end lines otherwise. What fits is
used; what does not is counted by kind.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence

from megtrim.core.functions.record_lines import MAX_RUN_CHARACTERS, RUN_MARK
from megtrim.libs.elf.symbol_table import find_whole
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.ship.crashes.finding import read_name
from megtrim.ship.crashes.lookup import OTHER_RESULTS
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.reached_groups import (
    FieldCall,
    ReachedGroup,
    RecordedFunction,
    group_by_callers,
)

MAX_RECORD_BYTES = 2**24
"""Several times what a program writes: a log's words and UTF-16 make it larger."""
_SHOWN = r"[^\x00-\x08\x0a-\x1f]"
_LINE = re.compile(
    rf"(?:{_SHOWN}{{0,200}}(?![0-9A-Za-z]){_SHOWN})?"
    r"([0-9a-f]{40}) ([0-9a-f]{8,16})(?: ([0-9a-f]{8,16}))?"
)
"""A log's words end with a mark or a blank, as in ``I/app(4711): `` or ``stderr F ``."""
_RUN = re.compile(rf"{RUN_MARK}(\S.{{0,{MAX_RUN_CHARACTERS - 1}}})")
"""Written by whoever starts the programs; a program never writes its command line itself."""
_CUT = re.compile(r"[0-9a-f]{1,39}|[0-9a-f]{40} ?(?:[0-9a-f]{0,7}|[0-9a-f]{8,16} [0-9a-f]{1,7})")
_ZEROS = re.compile("\0+")
_CUT_OFF = "cut off in the middle"
_HOLE = "of zeros, from a write that was torn"
_OTHER = "without a build id and an address"
_MOST_PLACES = 3
_MOST_BUILDS = 5
_HINT = "record it again, with MEGTRIM_REACHED=FILE"

PassedOver = dict[str, list[str]]
"""By kind, such as ``cut off in the middle``, each ``FILE:LINE``."""


class FieldRecord(Value):
    calls: Mapping[RecordedFunction, Sequence[FieldCall]]
    """Each with every line that says so."""
    passed_over: PassedOver


class ReachedFunctions(Value):
    prices: Mapping[tuple[str, ...], int]
    """The bytes of each function, the largest first, by its names in the source.

    It has several if a linker folded equal code.
    """
    groups: tuple[ReachedGroup, ...]
    passed_over: PassedOver


def parse_record(data: bytes, *, source: str) -> FieldRecord:
    calls: dict[RecordedFunction, list[FieldCall]] = {}
    passed_over: PassedOver = {}
    run = ""
    for number, part in _split(_decode(data)):
        place = f"{source}:{number}"
        match = _LINE.fullmatch(part)
        named = _RUN.fullmatch(part)
        if match is not None:
            caller = None if match[3] is None else int(match[3], 16)
            call = FieldCall(place=place, caller=caller, run=run)
            calls.setdefault((match[1], int(match[2], 16)), []).append(call)
        elif named is not None and part.isprintable():
            run = named[1]
        else:
            passed_over.setdefault(_name_kind(part), []).append(place)
    return FieldRecord(calls=calls, passed_over=passed_over)


def join_records(records: Sequence[FieldRecord]) -> FieldRecord:
    calls: dict[RecordedFunction, list[FieldCall]] = {}
    passed_over: PassedOver = {}
    for record in records:
        for function, said in record.calls.items():
            calls.setdefault(function, []).extend(said)
        passed_over = _join(passed_over, record.passed_over)
    return FieldRecord(calls=calls, passed_over=passed_over)


def expect_calls(record: FieldRecord) -> None:
    """Raises InputError if a record says something, and none of it is a call."""
    if record.passed_over and not record.calls:
        said = "; ".join(describe_passed_over(record.passed_over))
        msg = f"no line of the record is a build id and an address: {said}"
        raise InputError(msg, hint=_HINT)


def price(record: FieldRecord, programs: Sequence[TrimmedProgram]) -> ReachedFunctions:
    """Raises InputError if a record says something, and nothing of it is of these programs."""
    known = {each.build_id: (each, frozenset(each.left_out)) for each in programs}
    found: dict[tuple[str, ...], int] = {}
    fitting: dict[RecordedFunction, tuple[str, ...]] = {}
    passed_over: PassedOver = {}
    for (build_id, address), calls in record.calls.items():
        places = [each.place for each in calls]
        if build_id not in known:
            passed_over.setdefault(f"of the build {build_id}", []).extend(places)
            continue
        program, left_out = known[build_id]
        here = [each for each in program.table.at(address) if each.name in left_out]
        if not any(each.address == address or _is_part(each.name) for each in here):
            kind = f"with an address where no deferred function of {program.name} begins"
            passed_over.setdefault(kind, []).extend(places)
            continue
        names = tuple(sorted({read_name(each.name) for each in here}))
        fitting[build_id, address] = names
        found[names] = max(found.get(names, 0), *(each.size_bytes for each in here))
    passed_over = _join(record.passed_over, _fold_builds(passed_over))
    if passed_over and not found:
        said = "; ".join(describe_passed_over(passed_over))
        here_is = ", ".join(sorted(known))
        msg = f"no line of the record belongs to the build {here_is}: {said}"
        raise InputError(msg, hint=f"{OTHER_RESULTS}; or {_HINT}")
    ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    tables = {each.build_id: each.table for each in programs}
    return ReachedFunctions(
        prices=dict(ordered),
        groups=group_by_callers(record.calls, fitting, tables, found),
        passed_over=passed_over,
    )


def _is_part(name: str) -> bool:
    """A part of a function is entered at any of its blocks."""
    return find_whole(name) != name


def describe_passed_over(passed_over: PassedOver) -> Iterator[str]:
    """Yield a line for each kind, with the places of the first."""
    for kind, places in passed_over.items():
        first = ", ".join(places[:_MOST_PLACES])
        more = ", …" if len(places) > _MOST_PLACES else ""
        yield f"{count(len(places), 'line')} {kind}: {first}{more}"


def _decode(data: bytes) -> str:
    """Return the text, which a shell may have written as UTF-16."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line, or each part of one between zeros, with its number."""
    end = "\n" if "\n" in text else "\r"
    for number, line in enumerate(text.split(end), 1):
        for each in _ZEROS.finditer(line):
            yield number, each[0]
        for part in _ZEROS.split(line):
            if part.strip():
                yield number, part.strip()


def _name_kind(part: str) -> str:
    if _ZEROS.fullmatch(part):
        return _HOLE
    return _CUT_OFF if _CUT.fullmatch(part) else _OTHER


def _join(one: PassedOver, other: PassedOver) -> PassedOver:
    kinds = dict.fromkeys((*one, *other))
    return {kind: [*one.get(kind, ()), *other.get(kind, ())] for kind in kinds}


def _fold_builds(passed_over: PassedOver) -> PassedOver:
    """A record may name any number of builds; the first ones are told apart."""
    folded: PassedOver = {}
    for number, (kind, places) in enumerate(passed_over.items()):
        named = kind if number < _MOST_BUILDS else "of still other builds"
        folded.setdefault(named, []).extend(places)
    return folded
