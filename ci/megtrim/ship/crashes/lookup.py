"""Looks a crash up in what a trim left out.

A name is certain only if the report is of exactly this program, by its build id, its address
belongs to one function or region that was left out, and the line that says so was understood whole.
In all other cases the answer is a set that holds the truth, that trimming is not at fault, or that
it cannot be known. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum

from megtrim.core.functions.linker_script import is_stub
from megtrim.engines.megengine.regions.header import LEFT_OUT
from megtrim.engines.megengine.regions.keepset import KeepSet, ScenarioRecord, model_of
from megtrim.engines.megengine.regions.region import GrammarError, Region, parse_demangled
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.ship.crashes.build_ids import FEWEST_DIGITS, SURE_DIGITS, is_part
from megtrim.ship.crashes.frames import CrashFrame
from megtrim.ship.crashes.places import (
    PAGE_BYTES,
    CrashSite,
    file_name,
    find_loads,
    find_memory,
    find_site,
    is_program_of,
    locate_file,
)
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report_values import SENT, SIGNALS, CrashReport

_TRAPS = (4, 5)
"""SIGILL and SIGTRAP: what a trap is on x86_64 and 32-bit Arm, and on arm64."""
_FOLDED = "a linker folds equal code: these share one instruction"
_SHARED = "functions that were left out share one instruction without trim.crash_ids"
_NO_BUILD_ID = "the report has no build id: it may be of another build"
_PART_OF_ID = "the report has only a part of the build id"
_SEVERAL_IDS = "the report has several build ids for the file"
_NOT_WHOLE = "the line of the crash was not understood whole"
_SEVERAL_LOADS = "the report has the program at several places in memory"
_NOT_PLACED = (
    "the report does not say where the program was loaded: these begin at that place in a page"
)
_COPIED = "something may have copied a program's code to memory of no file"
_LOADERS_NAMES = ("[anon:.bss]",)
"""What Android's loader calls memory of a program that has no bytes in its file."""
_RENAMED = "the report has no build id: a program may have another name there"
_NO_FILE = "the report does not name the file that it is of"
_GIVE_ALL = "give the whole report: its frames, such as `#00 pc 1a2b4 FILE`, and its memory map"
OTHER_RESULTS = "name that build: its folder of results with --out, or its release with --release"
_NO_SYMBOLS = (
    "trim for arm64, armv7 or x86-64 with a toolchain that does not strip while it links, or with "
    "trim.level: function"
)
_NEXT_TO_TRAP = "a trap is next to the address, and some reporters show a byte before or behind it"
_TRAP_ON_STACK = "a frame is at a trap: what the report shows may have come after it"
_STEPS = (-3, -2, -1, 1, 2, 3)
_KEPT_ALIKE = "code that was kept is the same instruction, and may have trapped by itself"
_NO_REGION = (
    "without trim.crash_ids an address shows the function and not its region, and an engine error "
    "in a minimum-size build is a trap, too"
)
_SPECIAL = re.compile(r"[*?[]")
_REGION_TRAP = re.compile(r"void midout::left_out<(.*?) ?>\(\)")


class CandidateKind(StrEnum):
    FUNCTION = "function"
    REGION = "region"
    REGION_WITHIN = "region within"
    """A region of this function, which stays itself."""


class CrashCause(StrEnum):
    LEFT_OUT = "left out"
    CANDIDATES = "candidates"
    UNKNOWN = "unknown"
    """Where it was is not known, or not enough is here of that build or program."""
    NOT_TRIMMING = "not trimming"
    """Nothing that was left out, unless there are doubts."""


class CrashCandidate(Value):
    kind: CandidateKind
    name: str
    linkage_name: str = ""
    """Of the function; empty for a region."""


class CrashFinding(Value):
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


def look_up(
    report: CrashReport, programs: Sequence[TrimmedProgram], nameless: Sequence[str] = ()
) -> CrashFinding:
    """Return what the crash was; of several, what was most likely left out.

    ``programs`` are of one trim, at least one; of ``nameless`` others there are no symbols.
    """
    crashes = (report, *report.later)
    findings = [
        _doubt_stack(_look_up_one(crash, programs, nameless), crash, programs) for crash in crashes
    ]
    order = [*CrashCause]
    worst = min(findings, key=lambda each: (order.index(each.cause), not each.why_several))
    if len(crashes) == 1:
        return worst
    number = findings.index(worst) + 1
    return replace(worst, text=f"crash {number} of {len(crashes)} in this report: {worst.text}")


def _look_up_one(
    report: CrashReport, programs: Sequence[TrimmedProgram], nameless: Sequence[str]
) -> CrashFinding:
    if report.signal is not None and report.signal not in _TRAPS:
        name = next((n for n, number in SIGNALS.items() if number == report.signal), "")
        what = f"signal {report.signal} ({name})" if name else f"signal {report.signal}"
        return _make_cleared(
            f"it ended with {what}; what is left out ends with a trap, SIGTRAP or SIGILL",
            doubts=report.doubts,
        )
    frame = report.frames[0]
    not_read = report.unread
    if not not_read and not frame.whole:
        not_read = frame.text
    if not_read:
        return _make_unknown(f"{_NOT_WHOLE}: {not_read[:200]}")
    memory = find_memory(frame, report)
    if memory:
        return _look_up_in_memory(memory, report, programs, nameless)
    found = _choose(report, programs, nameless)
    if isinstance(found, CrashFinding):
        return found
    named, doubts = found
    return _join([_look_up_in(each, report, doubts) for each in named])


def _join(findings: Sequence[CrashFinding]) -> CrashFinding:
    """Return what several programs have at one address, as it is not known which of them it is."""
    left_out = (CrashCause.LEFT_OUT, CrashCause.CANDIDATES)
    causes = [finding for finding in findings if finding.cause in left_out]
    known = [finding for finding in findings if finding.cause is not CrashCause.UNKNOWN]
    shown = causes or known or findings
    if len(shown) == 1:
        return shown[0]
    texts = (f"{each.program}: {each.text}" for each in shown)
    whys = [why for each in shown for why in each.why_several]
    return CrashFinding(
        cause=CrashCause.CANDIDATES if causes else shown[0].cause,
        text="one of these was left out" if causes else "; ".join(texts),
        program=", ".join(each.program for each in shown),
        candidates=_unique(one for each in shown for one in each.candidates),
        why_several=tuple(dict.fromkeys((_NO_FILE, *whys))),
        stack=tuple(name for each in shown for name in each.stack),
        hint=shown[0].hint,
    )


def _look_up_in_memory(
    memory: str,
    report: CrashReport,
    programs: Sequence[TrimmedProgram],
    nameless: Sequence[str],
) -> CrashFinding:
    """Look up code in memory of no file: deferred functions are there while their file is missing.

    Their trap is sent by the program itself: that is no doubt here.
    """
    frame = report.frames[0]
    doubts = tuple(each for each in report.doubts if each != SENT)
    deferring = [program for program in programs if program.reserved]
    not_placed = []
    unsure = []
    for program in deferring:
        loads = find_loads(report, program)
        if not loads or not frame.absolute:
            not_placed.append(program)
            continue
        sure = all(loads.values()) and len(loads) == 1
        its = tuple(frame.pc - load for load in loads if program.is_reserved(frame.pc - load))
        why = doubts if sure else (*doubts, _NO_BUILD_ID if len(loads) == 1 else _SEVERAL_LOADS)
        if its:
            return _find_deferred(its, program, report, why)
        if not sure:
            unsure.append(program)
    for program in not_placed:
        if _is_called_by(program, report) and memory in _LOADERS_NAMES:
            return _guess_deferred(program, report, doubts)
    if not_placed:
        text = f"it crashed in memory of no file, {memory}, and the report does not say where "
        text += f"{not_placed[0].name} was loaded, whose deferred functions are in such memory"
        return _make_unknown(text)
    others = (*doubts, *(f"it may be of {name}, which cannot be read" for name in nameless))
    if unsure:
        others = (*others, _NO_BUILD_ID)
    if not deferring:
        others = (*others, _COPIED)
    text = f"it crashed in memory of no file, {memory}, where no trimmed program has code"
    return _make_cleared(text, doubts=others)


def _is_called_by(program: TrimmedProgram, report: CrashReport) -> bool:
    callers = report.frames[1:2]
    return any(is_program_of(each, report, program) for each in callers)


def _find_deferred(
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
        return _make_unknown(f"no deferred function of {program.name} is at its address {where}")
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
        return _make_unknown(
            f"no deferred function of {program.name} begins at its place in a page"
        )
    return _make_deferred(names, program, report, (*doubts, _NOT_PLACED))


def _make_deferred(
    names: Sequence[str], program: TrimmedProgram, report: CrashReport, doubts: tuple[str, ...]
) -> CrashFinding:
    why = (*doubts, _FOLDED) if len(names) > 1 and _NOT_PLACED not in doubts else doubts
    return CrashFinding(
        cause=CrashCause.CANDIDATES if why else CrashCause.LEFT_OUT,
        text="it is deferred, and the rest could not be used",
        program=program.name,
        candidates=_unique(map(_candidate, names)),
        why_several=tuple(dict.fromkeys(why)),
        stack=_stack(report, program),
    )


def _doubt_stack(
    finding: CrashFinding, report: CrashReport, programs: Sequence[TrimmedProgram]
) -> CrashFinding:
    """Doubt that trimming is not at fault if a frame is at a trap, as below a handler of signals."""
    if finding.cause is not CrashCause.NOT_TRIMMING:
        return finding
    if any(_is_at_trap(each, report, program) for each in report.frames for program in programs):
        doubts = dict.fromkeys((*finding.why_several, _TRAP_ON_STACK))
        return replace(finding, why_several=tuple(doubts))
    return finding


def _is_at_trap(frame: CrashFrame, report: CrashReport, program: TrimmedProgram) -> bool:
    file, ids = locate_file(frame, report)
    if ids:
        its = any(is_part(each, program.build_id, FEWEST_DIGITS) for each in ids)
    else:
        its = not file or _may_be(program.name, frame, file_name(file))
    if not its:
        return False
    traps = filter(program.is_trap, find_site(frame, report, program).addresses)
    return any(_left_out_at(each, program)[0] for each in traps)


def _choose(
    report: CrashReport, programs: Sequence[TrimmedProgram], nameless: Sequence[str]
) -> CrashFinding | tuple[list[TrimmedProgram], tuple[str, ...]]:
    """Return the programs of which the crash may be, and why it is not certain that it is."""
    frame = report.frames[0]
    file, ids = locate_file(frame, report)
    doubts = report.doubts
    if len(ids) > 1:
        doubts = (*doubts, _SEVERAL_IDS)
    whole = [each for each in programs if any(is_part(i, each.build_id) for i in ids)]
    if whole:
        return whole[:1], doubts
    part = [e for e in programs if any(is_part(i, e.build_id, FEWEST_DIGITS) for i in ids)]
    if part:
        return part, (*doubts, _PART_OF_ID)
    name = file_name(file)
    anywhere = not file or file.endswith(".apk")
    named = [program for program in programs if anywhere or _may_be(program.name, frame, name)]
    unread = [each for each in nameless if not anywhere and _may_be(each, frame, name)]
    if unread:
        text = f"{unread[0]} was trimmed, and there are no symbols of it that can be read"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_NO_SYMBOLS)
    if not named:
        known = ", ".join(program.name for program in programs)
        text = f"it crashed in {name}, and what was trimmed is {known}"
        return _make_cleared(text, doubts=doubts if ids else (*doubts, _RENAMED))
    if ids:
        shown = ", ".join(sorted(ids))
        known = ", ".join(each.build_id or "none" for each in named)
        what = "another file or build" if anywhere else f"another build of {name}"
        text = f"{what} crashed: its build id is {shown}, here {known}"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=OTHER_RESULTS)
    doubts = (*doubts, _NO_BUILD_ID)
    if anywhere and nameless:
        others = ", ".join(nameless)
        return named, (
            *doubts,
            f"it may be of {others}, of which there are no symbols that can be read",
        )
    return named, doubts


def list_build_ids(report: CrashReport) -> frozenset[str]:
    """Return the build ids by which the trim of a report is found, of each of its crashes."""
    found: set[str] = set()
    for crash in (report, *report.later):
        own = locate_file(crash.frames[0], crash)[1]
        found |= own or {id_ for each in crash.frames for id_ in locate_file(each, crash)[1]}
    return frozenset(found)


def _may_be(program: str, frame: CrashFrame, name: str) -> bool:
    """Return whether a program's name is, or begins, what a line has as a file, or is cut there."""
    text = frame.text or frame.file
    begins = rf"(?:^|[/!\s]){re.escape(program)}(?!\S*[/!])"
    cut = text == frame.file and program.startswith(name)
    return name == program or cut or re.search(begins, text) is not None


def _look_up_in(
    program: TrimmedProgram, report: CrashReport, doubts: tuple[str, ...]
) -> CrashFinding:
    site = find_site(report.frames[0], report, program)
    deferred = tuple(each for each in site.addresses if program.is_reserved(each))
    if deferred:
        why = (*doubts, site.why_several) if site.why_several else doubts
        return _find_deferred(deferred, program, report, why)
    if not any(program.word(at, 1) for at in site.addresses):
        address = f"{report.frames[0].pc:#x}"
        text = f"the address {address} is nowhere in the code of {program.name}"
        return replace(_make_unknown(text), program=program.name)
    if site.why_several:
        doubts = (*doubts, site.why_several)
    stack = _stack(report, program)
    traps = [each for each in site.addresses if program.is_trap(each)]
    if not traps:
        if _is_next_to_trap(site, program):
            doubts = (*doubts, _NEXT_TO_TRAP)
        return _make_cleared(_describe_place(site, program), program.name, stack, doubts)
    candidates: list[CrashCandidate] = []
    for trap in traps:
        found, why = _left_out_at(trap, program)
        candidates += found
        doubts = (*doubts, *why)
    if not candidates:
        text = f"{_describe_place(site, program)}: the program's own trap, such as an engine error"
        return _make_cleared(text, program.name, stack, doubts)
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


def _is_next_to_trap(site: CrashSite, program: TrimmedProgram) -> bool:
    for address in site.addresses:
        if any(is_stub(each.name) for each in program.table.at(address)):
            return True
        if any(program.is_trap(address + step) for step in _STEPS):
            return True
    return False


def _left_out_at(
    address: int, program: TrimmedProgram
) -> tuple[list[CrashCandidate], tuple[str, ...]]:
    here = [each.name for each in program.table.at(address)]
    dropped = {*program.left_out}
    gone = sorted({*here} & dropped)
    regions = [name for name in here if name not in dropped and _region_of(name)]
    if any(map(is_stub, here)) and not gone:
        gone = list(program.left_out)
    why: tuple[str, ...] = (_FOLDED,) if len(gone) + len(regions) > 1 else ()
    if len(gone) > 1 and not program.crash_ids:
        why = (_SHARED,)
    found = [_candidate(name) for name in (*gone, *regions)]
    if found and not all(is_stub(each) or each in dropped or each in regions for each in here):
        why = (*why, _KEPT_ALIKE)
    if not found and program.trims_regions and not program.crash_ids:
        within = CandidateKind.REGION_WITHIN
        found = [_candidate(name, within) for name in here]
        why = (_NO_REGION,)
    return found, why


def _candidate(name: str, kind: CandidateKind = CandidateKind.FUNCTION) -> CrashCandidate:
    region = _region_of(name)
    if region is not None:
        return CrashCandidate(kind=CandidateKind.REGION, name=str(region))
    return CrashCandidate(kind=kind, name=read_name(name), linkage_name=name)


def _region_of(name: str) -> Region | None:
    if LEFT_OUT not in name:
        return None
    found = _REGION_TRAP.fullmatch(read_name(name))
    try:
        return Region(*parse_demangled(found[1])) if found else None
    except GrammarError:
        return None


def read_name(name: str) -> str:
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
    here = [each.name for at in site.addresses for each in program.table.at(at)]
    if any(map(is_stub, here)):
        return "it crashed next to the beginning of a trap"
    names = {read_name(each) for each in here}
    where = f"in {min(names)}, which was kept" if names else "in code that was kept"
    return f"it crashed {where}"


def _make_cleared(
    text: str, program: str = "", stack: tuple[str, ...] = (), doubts: tuple[str, ...] = ()
) -> CrashFinding:
    return CrashFinding(
        cause=CrashCause.NOT_TRIMMING,
        text=text,
        program=program,
        why_several=tuple(dict.fromkeys(doubts)),
        stack=stack,
    )


def _make_unknown(text: str) -> CrashFinding:
    return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_GIVE_ALL)


def _unique(candidates: Iterable[CrashCandidate]) -> tuple[CrashCandidate, ...]:
    return tuple(sorted({*candidates}, key=lambda each: (each.kind, each.name, each.linkage_name)))


def nearest_scenario(finding: CrashFinding, keep: KeepSet) -> ScenarioRecord | None:
    if len(keep.scenarios) == 1:
        return keep.scenarios[0]
    names = {*finding.stack}
    names |= {e.linkage_name for e in finding.candidates if e.kind is CandidateKind.REGION_WITHIN}
    tags = {
        Region.parse(candidate.name).tag
        for candidate in finding.candidates
        if candidate.kind is CandidateKind.REGION
    }
    best = None
    most = 0
    for record in keep.scenarios:
        shared = sum(name in names for name in record.functions)
        shared += sum(region.tag in tags for region in record.regions)
        if shared > most:
            best = record
            most = shared
    return best


def keep_lines(finding: CrashFinding) -> tuple[str, ...]:
    names = [each.name for each in finding.candidates if each.kind is CandidateKind.FUNCTION]
    return list_lines_to_keep(names) if names else ()


def list_lines_to_keep(names: Iterable[str]) -> tuple[str, ...]:
    """Return lines of the configuration that keep functions, by their names in the source."""
    patterns = (json.dumps(escape(name), ensure_ascii=False) for name in names)
    return ("trim:", "  keep:", *(f"    - {pattern}" for pattern in patterns))


def escape(name: str) -> str:
    """Return the pattern of ``trim.keep`` that matches this name alone."""
    return _SPECIAL.sub(r"[\g<0>]", name)


def scenario_lines(record: ScenarioRecord) -> tuple[str, ...]:
    model = model_of(record.id)
    arguments = ", ".join(map(json.dumps, record.arguments))
    inputs = (f"{name}: FILE" for name, _ in record.inputs)
    return (
        f"# a scenario of {model}, with the arguments and inputs that the field used",
        f"- {{name: field, args: [{arguments}], inputs: {{{', '.join(inputs)}}}}}",
    )
