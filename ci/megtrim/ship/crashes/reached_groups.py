"""Deferred functions that were called, grouped by the code that called them. Pure."""

from collections.abc import Mapping, Sequence

from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.value import Value
from megtrim.ship.crashes.finding import read_name

RecordedFunction = tuple[str, int]
"""A build id and an address."""
OUTSIDE = "code of another file"
_UNNAMED = "code that has no name"
_NOT_SAID = "callers that the record does not name"


class FieldCall(Value):
    place: str
    """``FILE:LINE``."""
    caller: int | None = None
    """The address that the call returns to; 0 if that is in another file, None in old records."""
    run: str = ""
    """What was run, by whoever started it; empty: nobody says so."""


class ReachedGroup(Value):
    caller: str
    """The function in the program that called the first ones of these."""
    runs: tuple[str, ...]
    """Those that reached one of the functions; one is empty if nobody says what was run."""
    functions: Mapping[tuple[str, ...], int]
    """The bytes of each, in the order of the record."""

    @property
    def size_bytes(self) -> int:
        return sum(self.functions.values())


def group_by_callers(
    calls: Mapping[RecordedFunction, Sequence[FieldCall]],
    fitting: Mapping[RecordedFunction, tuple[str, ...]],
    tables: Mapping[str, FunctionTable],
    sizes: Mapping[tuple[str, ...], int],
) -> tuple[ReachedGroup, ...]:
    """Return the groups, the largest first; ``fitting``: the names of each deferred function.

    A function that another deferred one called is in the group of that one.
    """
    functions: dict[str, dict[tuple[str, ...], int]] = {}
    runs: dict[str, dict[str, None]] = {}
    callers: dict[tuple[str, ...], str] = {}
    for function, names in fitting.items():
        caller = callers.setdefault(names, _find_caller(function, calls, tables))
        functions.setdefault(caller, {})[names] = sizes[names]
        runs.setdefault(caller, {}).update((each.run, None) for each in calls[function])
    groups = [
        ReachedGroup(caller=caller, runs=tuple(runs[caller]), functions=its)
        for caller, its in functions.items()
    ]
    return tuple(sorted(groups, key=lambda each: (-each.size_bytes, each.caller)))


def _find_caller(
    function: RecordedFunction,
    calls: Mapping[RecordedFunction, Sequence[FieldCall]],
    tables: Mapping[str, FunctionTable],
) -> str:
    """Return the first caller on the way back that is not itself a recorded function."""
    build_id, address = function
    seen: set[int] = set()
    while True:
        seen.add(address)
        back = calls[build_id, address][0].caller
        if back is None:
            return _NOT_SAID
        if back == 0:
            return OUTSIDE
        # It returns behind the call, which may be the last instruction of its function.
        here = tables[build_id].at(back - 1)
        if not here:
            return _UNNAMED
        recorded = [each.address for each in here if (build_id, each.address) in calls]
        if not recorded or recorded[0] in seen:
            return min(read_name(each.name) for each in here)
        address = recorded[0]
