"""Looks a crash up in what a trim left out.

A name is certain only if the report is of exactly this program, by its build id, and its address
belongs to one function or region that was left out. In all other cases the answer is a set that
holds the truth, that trimming is not at fault, or that the crash was of a build that is not here.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from megtrim.crashes.addresses import CrashSite, find_calls, find_site, mapped_file
from megtrim.crashes.callers import called_from
from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.report import SIGNALS, CrashReport
from megtrim.elf.symbol_names import readable
from megtrim.errors import InputError
from megtrim.functions.linker_script import is_stub
from megtrim.midout.grammar import GrammarError, parse_demangled
from megtrim.midout.header import LEFT_OUT
from megtrim.midout.region import Region

_TRAPS = (4, 5)
"""SIGILL and SIGTRAP: what a trap is on x86_64 and on Arm."""
_FOLDED = "a linker folds equal code: these share one instruction"
_NO_BUILD_ID = "the report has no build id: it may be of another build"
_NO_FILE = "the report does not name the file that it is of"
_OTHER_RESULTS = "name that build: its folder of results with --out, or its release with --release"
_NO_SYMBOLS = (
    "trim for arm64 or x86-64 with a toolchain that does not strip while it links, or with "
    "trim.level: function"
)
_KEPT_ALIKE = "code that was kept is the same instruction, and may have trapped by itself"
_NO_REGION = (
    "without trim.crash_ids an address shows the function and not its region, and an engine error "
    "in a minimum-size build is a trap, too"
)
_REGION_TRAP = re.compile(r"void midout::left_out<(.*?) ?>\(\)")


class CandidateKind(StrEnum):
    """What may be missing at the place of a crash."""

    FUNCTION = "function"
    REGION = "region"
    REGION_WITHIN = "region within"
    """A region of this function, which stays itself."""


class CrashCause(StrEnum):
    """What a crash was."""

    LEFT_OUT = "left out"
    """The one candidate was left out: this is certain."""
    CANDIDATES = "candidates"
    """One of the candidates was left out."""
    NOT_TRIMMING = "not trimming"
    """Nothing that was left out, unless there are doubts."""
    UNKNOWN = "unknown"
    """It was in a build or program of which not enough is here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashCandidate:
    """A function or region that may have been left out."""

    kind: CandidateKind
    name: str
    """As people read it."""
    linkage_name: str = ""
    """Of the function; empty for a region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashFinding:
    """What a crash was, as far as a report and a program show it."""

    cause: CrashCause
    text: str
    program: str = ""
    candidates: tuple[CrashCandidate, ...] = ()
    """Sorted; one if the cause is certain."""
    why_several: tuple[str, ...] = ()
    """Why the answer is not certain, or not only one; empty if it is."""
    stack: tuple[str, ...] = ()
    """Linkage names of remaining functions on the stack, innermost first."""
    hint: str = ""
    """What would make it known, if the cause is not."""


def look_up(
    report: CrashReport, programs: Sequence[TrimmedProgram], nameless: Sequence[str] = ()
) -> CrashFinding:
    """Return what the crash was. ``programs`` are those of one trim, at least one.

    ``nameless`` are others of this trim, of which there are no symbols.
    """
    if report.signal is not None and report.signal not in _TRAPS:
        name = next((n for n, number in SIGNALS.items() if number == report.signal), "")
        what = f"signal {report.signal}{f' ({name})' if name else ''}"
        return _innocent(
            f"it ended with {what}; what is left out ends with a trap, SIGTRAP or SIGILL"
        )
    file, build_id = mapped_file(report.frames[0], report)
    found = _choose(file, build_id, programs, nameless)
    if isinstance(found, CrashFinding):
        return found
    named, doubts = found
    findings = [_look_up_in(each, report, doubts) for each in named]
    guilty = [each for each in findings if each.cause is not CrashCause.NOT_TRIMMING]
    shown = guilty or findings
    if len(shown) == 1:
        return shown[0]
    texts = (f"{each.program}: {each.text}" for each in shown)
    return CrashFinding(
        cause=CrashCause.CANDIDATES if guilty else CrashCause.NOT_TRIMMING,
        text="one of these was left out" if guilty else "; ".join(texts),
        program=", ".join(each.program for each in shown),
        candidates=_unique(one for each in shown for one in each.candidates),
        why_several=tuple(
            dict.fromkeys((_NO_FILE, *(why for each in shown for why in each.why_several)))
        ),
        stack=tuple(name for each in shown for name in each.stack),
    )


def _choose(
    file: str, build_id: str, programs: Sequence[TrimmedProgram], nameless: Sequence[str]
) -> CrashFinding | tuple[list[TrimmedProgram], tuple[str, ...]]:
    """Return the programs that the report may be of, with the doubts about that."""
    if build_id:
        same = [each for each in programs if each.build_id == build_id]
        if same:
            return same[:1], ()
    name = re.split(r"[/!]", file)[-1]
    anywhere = not file or file.endswith(".apk")
    named = list(programs) if anywhere else [each for each in programs if each.name == name]
    if name in nameless:
        text = f"{name} was trimmed, and there are no symbols of it that can be read"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_NO_SYMBOLS)
    if not named:
        known = ", ".join(each.name for each in programs)
        return _innocent(f"it crashed in {name}, and what was trimmed is {known}")
    if build_id:
        known = ", ".join(each.build_id or "none" for each in named)
        what = "another file or build" if anywhere else f"another build of {name}"
        text = f"{what} crashed: its build id is {build_id}, here {known}"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_OTHER_RESULTS)
    others = f"it may be of {', '.join(nameless)}, of which there are no symbols that can be read"
    return named, (_NO_BUILD_ID, others) if anywhere and nameless else (_NO_BUILD_ID,)


def _look_up_in(
    program: TrimmedProgram, report: CrashReport, doubts: tuple[str, ...]
) -> CrashFinding:
    site = find_site(report.frames[0], report, program)
    traps = tuple(each for each in site.addresses if program.is_trap(each))
    stack = _stack(report, program)
    if not traps:
        return _innocent(_describe_place(site, program), program.name, stack, doubts)
    if site.why_several and len(site.addresses) > 1:
        doubts = (*doubts, site.why_several)
    candidates: list[CrashCandidate] = []
    for address in traps:
        found, why = _left_out_at(address, report, program)
        candidates += found
        doubts = (*doubts, *why)
    if not candidates:
        text = f"{_describe_place(site, program)}: the program's own trap, such as an engine error"
        return _innocent(text, program.name, stack, doubts)
    several = _unique(candidates)
    certain = len(several) == 1 and not doubts
    return CrashFinding(
        cause=CrashCause.LEFT_OUT if certain else CrashCause.CANDIDATES,
        text="it was left out" if certain else "one of these was left out",
        program=program.name,
        candidates=several,
        why_several=tuple(dict.fromkeys(doubts)),
        stack=stack,
    )


def _left_out_at(
    address: int, report: CrashReport, program: TrimmedProgram
) -> tuple[list[CrashCandidate], tuple[str, ...]]:
    """Return what may have been left out at a trap, and why it is not only one."""
    here = [each.name for each in program.table.at(address)]
    dropped = {*program.left_out.names}
    gone = sorted({*here} & dropped)
    regions = [name for name in here if name not in dropped and _region_of(name)]
    if any(map(is_stub, here)) and not gone:
        gone = list(program.left_out.names)
    if len(gone) > 1 and not program.crash_ids:
        gone, why = _narrow(address, report, program, gone)
    else:
        why = (_FOLDED,) if len(gone) + len(regions) > 1 else ()
    found = [_function(name) for name in (*gone, *regions)]
    if found and not all(is_stub(each) or each in dropped or each in regions for each in here):
        why = (*why, _KEPT_ALIKE)
    if not found and program.trims_regions and not program.crash_ids:
        found = [_within(name) for name in here]
        why = (_NO_REGION,)
    return found, why


def _narrow(
    address: int, report: CrashReport, program: TrimmedProgram, gone: list[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return those that the caller calls, else those that anything refers to."""
    shared = "functions that were left out share one instruction"
    called = [*called_from(program, address, find_calls(report, address, program))]
    if called:
        return called, (f"{shared}: the call before it shows which",)
    reached = {*program.left_out.reachable}
    left = [name for name in gone if name in reached] or gone
    return left, (f"{shared}, and the report does not show a direct call of it",)


def _function(name: str) -> CrashCandidate:
    region = _region_of(name)
    if region is not None:
        return CrashCandidate(kind=CandidateKind.REGION, name=str(region))
    return CrashCandidate(kind=CandidateKind.FUNCTION, name=_readable(name), linkage_name=name)


def _within(name: str) -> CrashCandidate:
    return CrashCandidate(kind=CandidateKind.REGION_WITHIN, name=_readable(name), linkage_name=name)


def _region_of(name: str) -> Region | None:
    """Return the region whose trap a function is, None for any other function."""
    if LEFT_OUT not in name:
        return None
    found = _REGION_TRAP.fullmatch(_readable(name))
    try:
        return Region(*parse_demangled(found[1])) if found else None
    except GrammarError:
        return None


def _readable(name: str) -> str:
    try:
        return readable(name)
    except InputError:
        return name  # a crash is looked up, whatever the machine has to make names readable


def _stack(report: CrashReport, program: TrimmedProgram) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for frame in report.frames[1:]:
        for address in find_site(frame, report, program).addresses[:1]:
            found.update((each.name, None) for each in program.table.at(address - 1))
    return tuple(found)


def _describe_place(site: CrashSite, program: TrimmedProgram) -> str:
    names = {_readable(e.name) for at in site.addresses for e in program.table.at(at)}
    if not site.addresses or not any(program.word(at, 1) for at in site.addresses):
        return f"the address is not in the code of {program.name}"
    where = f"in {min(names)}, which was kept" if names else "in code that was kept"
    return f"it crashed {where}"


def _innocent(
    text: str, program: str = "", stack: tuple[str, ...] = (), doubts: tuple[str, ...] = ()
) -> CrashFinding:
    return CrashFinding(
        cause=CrashCause.NOT_TRIMMING,
        text=text,
        program=program,
        why_several=tuple(dict.fromkeys(doubts)),
        stack=stack,
    )


def _unique(candidates: Iterable[CrashCandidate]) -> tuple[CrashCandidate, ...]:
    return tuple(sorted({*candidates}, key=lambda each: (each.kind, each.name, each.linkage_name)))
