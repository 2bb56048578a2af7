"""Deferred functions that were called in the field, as ``MEGTRIM_REACHED`` records them. Pure."""

import re
from collections.abc import Mapping, Sequence

from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.finding import read_name
from megtrim.ship.crashes.lookup import OTHER_RESULTS
from megtrim.ship.crashes.program import TrimmedProgram

MAX_RECORD_BYTES = 2**21
"""Twice what a program writes."""
_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{8,16})\n")
_HINT = "record it again, with MEGTRIM_REACHED=FILE"


def parse_record(data: bytes, *, source: str) -> dict[tuple[str, int], str]:
    """Return build ids with addresses, each with the ``FILE:LINE`` that says so first."""
    found: dict[tuple[str, int], str] = {}
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            msg = f"{source}:{number}: found {line[:60]!r}, expected a build id and an address"
            raise InputError(msg, hint=_HINT)
        found.setdefault((match[1].decode(), int(match[2], 16)), f"{source}:{number}")
    return found


def price(
    record: Mapping[tuple[str, int], str], programs: Sequence[TrimmedProgram]
) -> dict[tuple[str, ...], int]:
    """Return the bytes of each function, the largest first, by its names in the source.

    It has several if a linker folded equal code. Raises InputError for what is of no program.
    """
    known = {each.build_id: (each, frozenset(each.left_out)) for each in programs}
    found: dict[tuple[str, ...], int] = {}
    for (build_id, address), where in record.items():
        if build_id not in known:
            msg = f"{where}: of the build {build_id}, and here is {', '.join(sorted(known))}"
            raise InputError(msg, hint=OTHER_RESULTS)
        program, left_out = known[build_id]
        here = [each for each in program.table.at(address) if each.name in left_out]
        if not any(each.address == address for each in here):
            msg = f"{where}: no deferred function of {program.name} begins at that address"
            raise InputError(msg, hint=_HINT)
        names = tuple(sorted({read_name(each.name) for each in here}))
        found[names] = max(each.size_bytes for each in here)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
