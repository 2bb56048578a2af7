"""Looks a crash up in what a trim left out.

A name is certain only if the report is of exactly this program, by its build id, its address
belongs to one function or region that was left out, and the line that says so was understood whole.
In all other cases the answer is a set that holds the truth, that trimming is not at fault, or that
it cannot be known. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from megtrim.core.config.own_tests import is_test
from megtrim.core.functions import guards
from megtrim.core.functions.linker_script import is_stub
from megtrim.core.keep.keepset import KeepSet, ScenarioRecord, model_of
from megtrim.core.keep.marks import find_trap_reader
from megtrim.core.keep.region import Region
from megtrim.ship.crashes.build_ids import FEWEST_DIGITS, is_part
from megtrim.ship.crashes.deferred import find_deferred, look_up_in_memory
from megtrim.ship.crashes.finding import (
    FOLDED,
    NO_BUILD_ID,
    SHARED,
    CandidateKind,
    CrashCandidate,
    CrashCause,
    CrashFinding,
    list_callers,
    make_candidate,
    make_cleared,
    make_unknown,
    read_name,
    sort_unique,
)
from megtrim.ship.crashes.frames import CrashFrame
from megtrim.ship.crashes.places import (
    CrashSite,
    file_name,
    find_memory,
    find_site,
    locate_file,
)
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report_values import NOT_CLEARING, SIGNALS, CrashReport

_TRAPS = (4, 5)
"""SIGILL and SIGTRAP: what a trap is on x86_64 and 32-bit Arm, and on arm64."""
_PART_OF_ID = "the report has only a part of the build id"
_SEVERAL_IDS = "the report has several build ids for the file"
_NOT_WHOLE = "the line of the crash was not understood whole"
RENAMED = "the report has no build id: a program may have another name there"
_NO_FILE = "the report does not name its file"
OTHER_RESULTS = "name that build: its folder of results with --out, or its release with --release"
_NO_SYMBOLS = (
    "trim for arm64, armv7 or x86-64 with a toolchain that does not strip while it links, or with "
    "trim.level: function"
)
_WHY_ONE = "no scenario ran it, and no pattern in trim.keep keeps it"
_WHY_SEVERAL = "no scenario ran any of these, and no pattern in trim.keep keeps one"
_NEXT_TO_TRAP = "a trap is next to the address, and some reporters show a byte before or behind it"
_TRAP_ON_STACK = "a frame is at a trap: what the report shows may have come after it"
_OF_A_FILE = re.compile(r"\.(?:so|apk|dex|odex|oat|jar|exe|dll|dylib)\b|/s?bin/[^/]+$")
"""What a path ends with that was not cut."""
_STEPS = (-3, -2, -1, 1, 2, 3)
_KEPT_ALIKE = "code that was kept is the same instruction, and may have trapped by itself"
_NO_REGION = (
    "without trim.crash_ids an address shows the function and not its region, and an engine error "
    "in a minimum-size build is a trap, too"
)
_NO_GUARD = "calls that pass no guard, as of a thread or through a pointer, trap in one place"
_SPECIAL = re.compile(r"[*?[]")


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
        return make_cleared(
            f"it ended with {what}; what is left out ends with a trap, SIGTRAP or SIGILL",
            doubts=report.doubts,
        )
    frame = report.frames[0]
    not_read = report.unread
    if not not_read and not frame.whole:
        not_read = frame.text or "no file"
    if not_read:
        return make_unknown(f"{_NOT_WHOLE}: {not_read[:200]}")
    memory = find_memory(frame, report)
    if memory:
        return look_up_in_memory(memory, report, programs, nameless)
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
        candidates=sort_unique(one for each in shown for one in each.candidates),
        why_several=tuple(dict.fromkeys((_NO_FILE, *whys))),
        stack=tuple(name for each in shown for name in each.stack),
        hint=shown[0].hint,
    )


def _doubt_stack(
    finding: CrashFinding, report: CrashReport, programs: Sequence[TrimmedProgram]
) -> CrashFinding:
    """Doubt that the crash is another one if a frame is at a trap, as below a signal handler."""
    if finding.cause is not CrashCause.NOT_TRIMMING:
        return finding
    unclear = [each for each in finding.why_several if each in NOT_CLEARING]
    if unclear:
        return make_unknown(unclear[0])
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
        text = f"{unread[0]} was trimmed, and no readable symbols of it were found"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_NO_SYMBOLS)
    if not named and not ids and _OF_A_FILE.search(file) is None:
        return make_unknown(f"{_NOT_WHOLE}: {file[:200]} may be cut, and there is no build id")
    if not named:
        known = ", ".join(program.name for program in programs)
        text = f"it crashed in {name}, but the trimmed program is {known}"
        return make_cleared(text, doubts=doubts if ids else (*doubts, RENAMED))
    if ids:
        shown = ", ".join(sorted(ids))
        known = ", ".join(each.build_id or "none" for each in named)
        what = "another file or build" if anywhere else f"another build of {name}"
        text = f"{what} crashed: its build id is {shown}, here {known}"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=OTHER_RESULTS)
    doubts = (*doubts, NO_BUILD_ID)
    if anywhere and nameless:
        others = ", ".join(nameless)
        return named, (
            *doubts,
            f"it may be of {others}, of which no readable symbols were found",
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
    """Return whether a program's name is, or begins, what a line has as a file."""
    text = frame.text or frame.file
    begins = rf"(?:^|[/!\s]){re.escape(program)}(?!\S*[/!])"
    return name == program or re.search(begins, text) is not None


def _look_up_in(
    program: TrimmedProgram, report: CrashReport, doubts: tuple[str, ...]
) -> CrashFinding:
    site = find_site(report.frames[0], report, program)
    deferred = tuple(each for each in site.addresses if program.is_reserved(each))
    if deferred:
        why = (*doubts, site.why_several) if site.why_several else doubts
        return find_deferred(deferred, program, report, why)
    if not any(program.word(at, 1) for at in site.addresses):
        address = f"{report.frames[0].pc:#x}"
        text = f"the address {address} is nowhere in the code of {program.name}"
        return replace(make_unknown(text), program=program.name)
    if site.why_several:
        doubts = (*doubts, site.why_several)
    stack = list_callers(report, program)
    traps = [each for each in site.addresses if program.is_trap(each)]
    if not traps:
        if _is_next_to_trap(site, program):
            doubts = (*doubts, _NEXT_TO_TRAP)
        return make_cleared(_describe_place(site, program), program.name, stack, doubts)
    candidates: list[CrashCandidate] = []
    for trap in traps:
        found, why = _left_out_at(trap, program, stack)
        candidates += found
        doubts = (*doubts, *why)
    if not candidates:
        text = f"{_describe_place(site, program)}: the program's own trap, such as an engine error"
        return make_cleared(text, program.name, stack, doubts)
    several = sort_unique(candidates)
    certain = len(several) == 1 and not doubts
    return CrashFinding(
        cause=CrashCause.LEFT_OUT if certain else CrashCause.CANDIDATES,
        text=_WHY_ONE if certain else _WHY_SEVERAL,
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
    address: int, program: TrimmedProgram, stack: Collection[str] = ()
) -> tuple[list[CrashCandidate], tuple[str, ...]]:
    here = [each.name for each in program.table.at(address)]
    dropped = {*program.left_out}
    gone = sorted({*here} & dropped)
    read_trap = find_trap_reader()
    regions = [name for name in here if name not in dropped and read_trap(name)]
    if any(map(is_stub, here)) and not gone:
        gone = list(program.left_out)
    if not guards.ENDS.isdisjoint(here):
        # The stub of a function calls the runtime, and the stack may show it.
        gone = sorted(dropped.intersection(stack) or dropped)
    why: tuple[str, ...] = (FOLDED,) if len(gone) + len(regions) > 1 else ()
    if len(gone) > 1 and not program.crash_ids:
        why = (SHARED,) if guards.ENDS.isdisjoint(here) else (_NO_GUARD,)
    found = [make_candidate(name) for name in (*gone, *regions)]
    ends = {*regions, *dropped, *guards.ENDS}
    if found and not all(is_stub(each) or each in ends for each in here):
        why = (*why, _KEPT_ALIKE)
    if not found and program.trims_regions and not program.crash_ids:
        within = CandidateKind.REGION_WITHIN
        found = [make_candidate(name, within) for name in here]
        why = (_NO_REGION,)
    return found, why


def _describe_place(site: CrashSite, program: TrimmedProgram) -> str:
    here = [each.name for at in site.addresses for each in program.table.at(at)]
    if any(map(is_stub, here)):
        return "it crashed next to the beginning of a trap"
    names = {read_name(each) for each in here}
    where = f"in {min(names)}, which was kept" if names else "in code that was kept"
    return f"it crashed {where}"


def nearest_scenario(finding: CrashFinding, keep: KeepSet) -> ScenarioRecord | None:
    """A test of the project is none: it has no command line that could be changed."""
    scenarios = [each for each in keep.scenarios if not is_test(each.id)]
    if len(scenarios) == 1:
        return scenarios[0]
    names = {*finding.stack}
    names |= {e.linkage_name for e in finding.candidates if e.kind is CandidateKind.REGION_WITHIN}
    tags = {
        Region.parse(candidate.name).tag
        for candidate in finding.candidates
        if candidate.kind is CandidateKind.REGION
    }
    best = None
    most = 0
    for record in scenarios:
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
    what = f"a scenario of {model_of(record.id)}" if record.model_sha256 else "a scenario"
    arguments = ", ".join(map(json.dumps, record.arguments))
    inputs = (f"{name}: FILE" for name, _ in record.inputs)
    return (
        f"# {what}, with the arguments and inputs of your user",
        f"- {{name: field, args: [{arguments}], inputs: {{{', '.join(inputs)}}}}}",
    )
