"""The proof of a link without some functions: what was to go went, and nothing else did.

A linker that cannot override a definition, or that leaves out an archive's member because
nothing refers to it any more, gives a program that seems to work: here it is found out before
anything runs. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from megtrim.errors import ProductFailure
from megtrim.functions.names import is_internal, readable
from megtrim.functions.stubs import STUB, SUBSTITUTES
from megtrim.functions.table import Function, FunctionTable

_TRAP_BYTES = {"aarch64": 4, "x86_64": 2}
"""What an emptied function is: ``brk`` or ``ud2``."""
_SHOWN = 5
_HINT = "this linker cannot leave functions out as megtrim asks it to: trim.level: region"


def prove(
    before: FunctionTable,
    after: FunctionTable,
    *,
    kept: Collection[str],
    dropped: Collection[str],
    source: str,
) -> None:
    """Compare the unfolded link with the one that lacks ``dropped``.

    ``kept`` must still have their names; give none where the link inlines, as it does under
    link-time optimization. Raises ProductFailure naming what was lost, or did not go.
    """
    places = _by_name(after)
    stubs = {each.address for each in places[STUB]}
    ends = {each.address for name in (STUB, *SUBSTITUTES.values()) for each in places[name]}
    if dropped and not stubs:
        msg = f"{source}: the stub for functions that are left out is not in the link"
        raise ProductFailure(msg, hint=_HINT)
    trap = _TRAP_BYTES[after.machine]
    # An assignment cannot reach an internal function: its body may well be there.
    wanted = (name for name in dropped if not is_internal(name))
    stayed = (name for name in wanted if not _is_gone(places[name], ends, trap))
    _none(stayed, f"{source}: functions that were to be left out are still there", _HINT)
    lost = (name for name in kept if name not in places)
    _none(lost, f"{source}: functions that are needed are no longer there", "report a bug")
    # One that does nothing but trap is folded with the stub, and is none the worse for it.
    whole = {each.name for each in before.functions if each.size_bytes > trap}
    stubbed = {each.name for each in after.functions if each.address in stubs}
    wrong = (stubbed & whole) - {*dropped}
    _none(wrong, f"{source}: functions that are needed became stubs", "report a bug")
    _none(before.exported - after.exported, f"{source}: names are no longer exported", _HINT)
    if after.registrations < before.registrations:
        msg = (
            f"{source}: {after.registrations} functions are called before main, expected "
            f"{before.registrations}: something is no longer registered"
        )
        raise ProductFailure(msg, hint=_HINT)


def _by_name(table: FunctionTable) -> defaultdict[str, list[Function]]:
    found = defaultdict(list)
    for each in table.functions:
        found[each.name].append(each)
    return found


def _is_gone(found: list[Function], ends: Collection[int], trap_bytes: int) -> bool:
    """Say whether nothing of the name is left, or it leads to ``ends``, or to a trap.

    An internal function may have the same name, so one that does is enough.
    """
    return not found or any(
        each.address in ends or 0 < each.size_bytes <= trap_bytes for each in found
    )


def _none(names: Iterable[str], said: str, hint: str) -> None:
    """Refuse ``names``, if there are any."""
    found = sorted(names)
    if found:
        shown = ", ".join(readable(name) for name in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        msg = f"{said}: {shown}{more}"
        raise ProductFailure(msg, hint=hint)
