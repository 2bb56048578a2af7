"""Looks up a crash in memory of no file, where deferred functions are while their file is missing.

Their addresses are in a segment of the program without bytes in its file. Where that is in memory
follows from what the report says of the rest of the program: its mappings, addresses of its frames,
the register with the caller. Code that someone generates is in such memory, too: without the place
of the program, an address in it is not known to be of one. Pure.
"""

from collections.abc import Mapping, Sequence

from megtrim.ship.crashes.finding import (
    FOLDED,
    NO_BUILD_ID,
    CrashCause,
    CrashFinding,
    list_callers,
    make_candidate,
    make_cleared,
    make_unknown,
    sort_unique,
)
from megtrim.ship.crashes.places import NO_NAME, PAGE_BYTES, find_loads, is_program_of
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report_values import OUTSIDE, SENT, CrashReport

_SEVERAL_LOADS = "the report has the program at several places in memory"
_NOT_PLACED = (
    "the report does not say where the program was loaded: these begin at that place in a page"
)
_COPIED = "something may have copied a program's code to memory of no file"
_NO_FILE_KNOWN = frozenset({"<unknown>", "<anonymous>", "n/a", NO_NAME, OUTSIDE})
"""The report does not say that it is memory of no file."""
_LOADERS_NAMES = ("[anon:.bss]",)
"""What Android's loader calls memory of a program that has no bytes in its file."""


def look_up_in_memory(
    memory: str,
    report: CrashReport,
    programs: Sequence[TrimmedProgram],
    nameless: Sequence[str],
) -> CrashFinding:
    """Return what a crash in memory of no file was. Its trap is sent by the program itself."""
    doubts = tuple(each for each in report.doubts if each != SENT)
    loads = {}
    if report.frames[0].absolute:
        loads = {each.name: find_loads(report, each) for each in programs}
    for program in programs:
        found = _look_up_at(loads.get(program.name, {}), program, report, doubts)
        if found is not None:
            return found
    not_placed = [each for each in programs if not loads.get(each.name)]
    for program in not_placed:
        if program.reserved and memory in _LOADERS_NAMES and _is_called_by(program, report):
            return _guess_deferred(program, report, doubts)
    deferring = [each.name for each in not_placed if each.reserved]
    if deferring and not _is_named(memory):
        text = f"it crashed in memory of no file, {memory}, and the report does not say where "
        text += f"{deferring[0]} was loaded, whose deferred functions are in such memory"
        return make_unknown(text)
    if memory in _NO_FILE_KNOWN and (nameless or not_placed):
        return make_unknown(f"the report names no file where it crashed ({memory})")
    others = [*doubts, *(f"it may be of {name}, which cannot be read" for name in nameless)]
    if not_placed:
        others.append(_COPIED)
    elif not all(sure for each in loads.values() for sure in each.values()):
        others.append(NO_BUILD_ID)
    text = f"it crashed in memory of no file, {memory}, where no trimmed program has code"
    return make_cleared(text, doubts=tuple(others))


def _look_up_at(
    loads: Mapping[int, bool],
    program: TrimmedProgram,
    report: CrashReport,
    doubts: tuple[str, ...],
) -> CrashFinding | None:
    """Return what is there if the address is one of the program, by where it was loaded."""
    pc = report.frames[0].pc
    if len(loads) > 1:
        doubts = (*doubts, _SEVERAL_LOADS)
    if not all(loads.values()):
        doubts = (*doubts, NO_BUILD_ID)
    its = tuple(pc - load for load in loads if program.is_reserved(pc - load))
    if its:
        return find_deferred(its, program, report, doubts)
    if any(program.word(pc - load, 1) for load in loads):
        return make_unknown(f"the report names no file at {pc:#x}, which is in {program.name}")
    return None


def _is_named(memory: str) -> bool:
    """Return whether someone gave it a name, such as a virtual machine to the code it generates."""
    return memory.startswith(("[", "/")) and memory not in _LOADERS_NAMES


def _is_called_by(program: TrimmedProgram, report: CrashReport) -> bool:
    callers = report.frames[1:2]
    return any(is_program_of(each, report, program) for each in callers)


def find_deferred(
    addresses: tuple[int, ...],
    program: TrimmedProgram,
    report: CrashReport,
    doubts: tuple[str, ...],
) -> CrashFinding:
    left_out = {*program.left_out}
    here = [each for address in addresses for each in program.table.at(address)]
    names = sorted({each.name for each in here if each.name in left_out})
    if not names:
        where = ", ".join(f"{each:#x}" for each in addresses)
        return make_unknown(f"no deferred function of {program.name} is at its address {where}")
    return _make_deferred(names, program, report, doubts)


def _guess_deferred(
    program: TrimmedProgram, report: CrashReport, doubts: tuple[str, ...]
) -> CrashFinding:
    """Return what may begin there: a function that is called first has its place in a page."""
    left_out = {*program.left_out}
    pc = report.frames[0].pc
    names = [
        each.name
        for each in program.table.functions
        if each.name in left_out
        and program.is_reserved(each.address)
        and not (each.address - pc) % PAGE_BYTES
    ]
    if not names:
        return make_unknown(f"no deferred function of {program.name} begins at its place in a page")
    return _make_deferred(names, program, report, (*doubts, _NOT_PLACED))


def _make_deferred(
    names: Sequence[str], program: TrimmedProgram, report: CrashReport, doubts: tuple[str, ...]
) -> CrashFinding:
    why = (*doubts, FOLDED) if len(names) > 1 and _NOT_PLACED not in doubts else doubts
    return CrashFinding(
        cause=CrashCause.CANDIDATES if why else CrashCause.LEFT_OUT,
        text="it is deferred, and the companion file could not be used",
        program=program.name,
        candidates=sort_unique(map(make_candidate, names)),
        why_several=tuple(dict.fromkeys(why)),
        stack=list_callers(report, program),
    )
