"""Proves that a link leaves out exactly the functions that it should.

If a linker does not override a definition, or drops an archive's member because nothing refers to
it any more, the program seems to work. This module finds that out before anything runs. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from megtrim.elf.symbol_names import brief, is_local_name
from megtrim.elf.symbol_table import Function, FunctionTable
from megtrim.functions.calls import Disassembly
from megtrim.functions.linker_script import SUBSTITUTES, is_stub
from megtrim.util.errors import ACCEPT, ProductFailure

_TRAP_BYTES = {"aarch64": 4, "x86_64": 2}
"""Size of an emptied function: ``brk`` or ``ud2``."""
_NUMBERED_TRAP_BYTES = {"aarch64": 4, "x86_64": 7}
"""The same with crash ids: ``brk`` or ``ud1``."""
_SHOWN = 3
_AGAIN = "a function that runs is not on the list: record them again"
_UNKNOWN = "the list was changed after it was recorded: record it again"
_HINT = "this linker cannot leave functions out as megtrim needs it: trim.level: region"


def prove(
    before: FunctionTable,
    after: FunctionTable,
    *,
    kept: Collection[str],
    dropped: Collection[str],
    source: str,
    code: Disassembly | None = None,
    registrations: int | None = None,
    numbered: bool = False,
) -> None:
    """Compare the unfolded link with the one without the functions ``dropped``.

    ``kept`` is empty if the link inlines. With the ``code`` of the unfolded link, messages name the
    callers of lost functions. ``registrations``: the expected number if it differs, for link-time
    optimisation may evaluate one in advance. Raises ProductFailure.
    """
    places = _by_name(after)
    stubs = {each.address for each in after.functions if is_stub(each.name)}
    others = {each.address for name in SUBSTITUTES.values() for each in places.get(name, ())}
    ends = stubs | others
    if dropped and not stubs and not numbered:
        msg = f"{source}: the stub for functions that are left out is not in the link"
        raise ProductFailure(msg, hint=_HINT)
    trap = (_NUMBERED_TRAP_BYTES if numbered else _TRAP_BYTES)[after.machine]
    # An assignment cannot reach a local function: its body may well be there.
    reachable = (name for name in dropped if not is_local_name(name))
    stayed = (name for name in reachable if not _is_gone(places.get(name, []), ends, trap))
    _none(stayed, f"{source}: functions that were to be left out are still there", _HINT)
    _none_lost([name for name in kept if name not in places], dropped, source, code)
    # A function that only traps is folded with the stub, which changes nothing.
    whole = {each.name for each in before.functions if each.size_bytes > trap}
    stubbed = {each.name for each in after.functions if each.address in stubs}
    wrong = (stubbed & whole) - {*dropped}
    _none(wrong, f"{source}: functions that are needed became stubs", _AGAIN)
    _none(before.exported - after.exported, f"{source}: names are no longer exported", _HINT)
    # An exported stub would replace another file's function.
    _none(after.exported - before.exported, f"{source}: names became exported", _HINT)
    expected = before.registrations if registrations is None else registrations
    if after.registrations < expected:
        msg = (
            f"{source}: {after.registrations} functions are called before main, expected "
            f"{expected}: something is no longer registered"
        )
        raise ProductFailure(msg, hint=_HINT)


def expect_known(unfolded: FunctionTable, listed: Iterable[str], *, source: str) -> None:
    known = {each.name for each in unfolded.functions}
    problem = f"{source}: functions on the list are not in the link that it belongs to"
    _none((name for name in listed if name not in known), problem, _UNKNOWN)


def _by_name(table: FunctionTable) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for each in table.functions:
        found.setdefault(each.name, []).append(each)
    return found


def _is_gone(found: list[Function], ends: Collection[int], trap_bytes: int) -> bool:
    """One that leads to ``ends`` or a trap is enough: a local function may have the same name."""
    return not found or any(
        each.address in ends or 0 < each.size_bytes <= trap_bytes for each in found
    )


def _none_lost(
    lost: Collection[str], dropped: Collection[str], source: str, code: Disassembly | None
) -> None:
    callers = code.callers(lost, dropped) if lost and code else ()
    called = f"; called by {_format_names(callers)}" if callers else ""
    _none(lost, f"{source}: functions that are needed are no longer there", _AGAIN, called)


def _none(names: Iterable[str], problem: str, hint: str, more: str = "") -> None:
    found = sorted(names)
    if found:
        msg = f"{problem}: {_format_names(found)}{more}"
        command = () if hint == _HINT else ACCEPT
        raise ProductFailure(msg, hint=hint, command=command)


def _format_names(names: Sequence[str]) -> str:
    shown = ", ".join(brief(name) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
