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
from megtrim.libs.elf.layout import X86_64
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.ship.crashes.frames import CrashFrame, MappedFile
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report import SIGNALS, CrashReport

_PAGE_BYTES = 4096
"""The smallest page: a loader moves a program by whole ones."""
_PAGES_BYTES = (_PAGE_BYTES, 4 * _PAGE_BYTES, 16 * _PAGE_BYTES)
"""All that kernels use, for files whose segments are aligned to them: a mapping begins with one."""
_APK = (".apk", "!")
_TRAPS = (4, 5)
"""SIGILL and SIGTRAP: what a trap is on x86_64 and 32-bit Arm, and on arm64."""
_FOLDED = "a linker folds equal code: these share one instruction"
_SHARED = "functions that were left out share one instruction without trim.crash_ids"
_NO_BUILD_ID = "the report has no build id: it may be of another build"
_PART_OF_ID = "the report has only a part of the build id"
_SEVERAL_IDS = "the report has several build ids for the file"
_NOT_WHOLE = "the line of the crash was not understood whole"
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
_SURE_DIGITS = 32
_FEWEST_DIGITS = 8
"""Of a build id that is cut short: reporters show 16 bytes of it, from either end."""
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
        what = f"signal {report.signal}{f' ({name})' if name else ''}"
        return _make_cleared(
            f"it ended with {what}; what is left out ends with a trap, SIGTRAP or SIGILL",
            doubts=report.doubts,
        )
    found = _choose(report, programs, nameless)
    if isinstance(found, CrashFinding):
        return found
    named, doubts = found
    findings = [_look_up_in(each, report, doubts) for each in named]
    left_out = (CrashCause.LEFT_OUT, CrashCause.CANDIDATES)
    causes = [finding for finding in findings if finding.cause in left_out]
    known = [finding for finding in findings if finding.cause is not CrashCause.UNKNOWN]
    shown = causes or known or findings
    if len(shown) == 1:
        return shown[0]
    texts = (f"{each.program}: {each.text}" for each in shown)
    return CrashFinding(
        cause=CrashCause.CANDIDATES if causes else shown[0].cause,
        text="one of these was left out" if causes else "; ".join(texts),
        program=", ".join(each.program for each in shown),
        candidates=_unique(one for each in shown for one in each.candidates),
        why_several=tuple(
            dict.fromkeys((_NO_FILE, *(why for each in shown for why in each.why_several)))
        ),
        stack=tuple(name for each in shown for name in each.stack),
        hint=shown[0].hint,
    )


def _doubt_stack(
    finding: CrashFinding, report: CrashReport, programs: Sequence[TrimmedProgram]
) -> CrashFinding:
    if finding.cause is not CrashCause.NOT_TRIMMING:
        return finding
    for frame in report.frames:
        file, ids = locate_file(frame, report)
        for program in programs:
            same = any(_is_part(id_, program.build_id, _FEWEST_DIGITS) for id_ in ids)
            if same or (not ids and (not file or _may_be(program.name, frame, file_name(file)))):
                at = filter(program.is_trap, find_site(frame, report, program).addresses)
                if any(_left_out_at(each, program)[0] for each in at):
                    doubts = dict.fromkeys((*finding.why_several, _TRAP_ON_STACK))
                    return replace(finding, why_several=tuple(doubts))
    return finding


def _choose(
    report: CrashReport, programs: Sequence[TrimmedProgram], nameless: Sequence[str]
) -> CrashFinding | tuple[list[TrimmedProgram], tuple[str, ...]]:
    frame = report.frames[0]
    file, ids = locate_file(frame, report)
    doubts = (*report.doubts, *((_NOT_WHOLE,) if not frame.whole else ()))
    if len(ids) > 1:
        doubts = (*doubts, _SEVERAL_IDS)
    for digits in (_SURE_DIGITS, _FEWEST_DIGITS):
        same = [e for e in programs if any(_is_part(i, e.build_id, digits) for i in ids)]
        if same:
            part = digits == _FEWEST_DIGITS
            return same[: None if part else 1], (*doubts, *((_PART_OF_ID,) if part else ()))
    name = file_name(file)
    anywhere = not file or file.endswith(".apk")
    named = [program for program in programs if anywhere or _may_be(program.name, frame, name)]
    unread = [each for each in nameless if not anywhere and _may_be(each, frame, name)]
    if unread:
        text = f"{unread[0]} was trimmed, and there are no symbols of it that can be read"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_NO_SYMBOLS)
    shown = ", ".join(sorted(ids))
    if not named and not frame.whole:
        text = f"{_NOT_WHOLE}: {frame.text[:200]}"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_GIVE_ALL)
    if not named:
        known = ", ".join(program.name for program in programs)
        text = f"it crashed in {name}, and what was trimmed is {known}"
        return _make_cleared(text, doubts=doubts if ids else (*doubts, _RENAMED))
    if ids:
        known = ", ".join(each.build_id or "none" for each in named)
        what = "another file or build" if anywhere else f"another build of {name}"
        text = f"{what} crashed: its build id is {shown}, here {known}"
        return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=OTHER_RESULTS)
    doubts = (*doubts, _NO_BUILD_ID)
    others = f"it may be of {', '.join(nameless)}, of which there are no symbols that can be read"
    return named, (*doubts, others) if anywhere and nameless else doubts


def _is_part(found: str, build_id: str, digits: int) -> bool:
    if len(found) < min(digits, len(build_id) or digits):
        return False
    raw = bytes.fromhex(build_id[:32])  # as Breakpad writes it, before the age of a file
    debug_id = b"".join((raw[3::-1], raw[5:3:-1], raw[7:5:-1], raw[8:])).hex()
    return found[:32] == debug_id or build_id.startswith(found) or build_id.endswith(found)


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
    stack = _stack(report, program)
    gone = {e.name for at in site.addresses for e in program.table.at(at)} & {*program.left_out}
    if gone and not any(program.word(at, 1) for at in site.addresses):
        return CrashFinding(
            cause=CrashCause.CANDIDATES if doubts or gone - {min(gone)} else CrashCause.LEFT_OUT,
            text="it is deferred, and the rest could not be used",
            program=program.name,
            candidates=_unique(map(_candidate, gone)),
            why_several=doubts,
            stack=stack,
        )
    if not any(program.word(at, 1) for at in site.addresses):
        return CrashFinding(
            cause=CrashCause.UNKNOWN,
            text=f"the address {report.frames[0].pc:#x} is nowhere in the code of {program.name}",
            program=program.name,
            hint=_GIVE_ALL,
        )
    traps = tuple(each for each in site.addresses if program.is_trap(each))
    if site.why_several:
        doubts = (*doubts, site.why_several)
    if not traps:
        stubs = [e for at in site.addresses for e in program.table.at(at) if is_stub(e.name)]
        if stubs or any(program.is_trap(at + step) for at in site.addresses for step in _STEPS):
            doubts = (*doubts, _NEXT_TO_TRAP)
        return _make_cleared(_describe_place(site, program), program.name, stack, doubts)
    candidates: list[CrashCandidate] = []
    for address in traps:
        found, why = _left_out_at(address, program)
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


def _unique(candidates: Iterable[CrashCandidate]) -> tuple[CrashCandidate, ...]:
    return tuple(sorted({*candidates}, key=lambda each: (each.kind, each.name, each.linkage_name)))


class CrashSite(Value):
    addresses: tuple[int, ...]
    """Sorted; more than one if the report does not decide between them."""
    why_several: str = ""


def find_site(frame: CrashFrame, report: CrashReport, program: TrimmedProgram) -> CrashSite:
    if not frame.absolute:
        if not frame.offset or frame.build_id:
            return CrashSite(addresses=(frame.pc,))
        # Older reports count from the mapping, newer ones from the beginning of the ELF file.
        other = program.address_of(frame.pc + frame.offset)
        why = "an older report may count from the mapping, or from the file"
        return _several((frame.pc, *(() if other is None else (other,))), why)
    mapping = _mapping_at(frame, report)
    if mapping is not None:
        return _locate(frame.pc, mapping, program)
    why = "the report does not say where the program was loaded: these have the place in a page"
    if program.is_fixed or program.word(frame.pc, 1) or program.table.at(frame.pc):
        sure = program.is_fixed or not frame.file
        return CrashSite(addresses=(frame.pc,), why_several="" if sure else why)
    same = tuple(trap for trap in program.traps if not (trap - frame.pc) % _PAGE_BYTES)
    return CrashSite(addresses=same, why_several=why)


def locate_file(frame: CrashFrame, report: CrashReport) -> tuple[str, frozenset[str]]:
    """Return file and build ids at a frame: what it says itself, or else lists of the report."""
    mapping = _mapping_at(frame, report) if frame.absolute else None
    file = frame.file or (mapping.file if mapping else "")
    if frame.build_id or not file:
        return file, frozenset({frame.build_id} - {""})
    named = [each for each in report.mappings if each.build_id]
    bare = [e for e in named if "/" not in file or "/" not in e.file]  # others are other files
    found = (
        {mapping.build_id} - {""} if mapping else None,
        {each.build_id for each in named if each.file == file},
        {each.build_id for each in bare if file_name(each.file) == file_name(file)},
    )
    return file, frozenset(next(filter(None, found), ()))


def file_name(path: str) -> str:
    return re.split(r"[/!]", path)[-1]


def _mapping_at(frame: CrashFrame, report: CrashReport) -> MappedFile | None:
    """Return what is mapped at a frame: of files whose end is not known, the nearest one."""
    found = [
        mapping
        for mapping in report.mappings
        if mapping.executable
        and mapping.start <= frame.pc < mapping.end
        and (mapping.offset is not None or file_name(frame.file) in ("", file_name(mapping.file)))
    ]
    return max(found, key=lambda each: (each.offset is not None, each.start), default=None)


def _locate(pc: int, mapping: MappedFile, program: TrimmedProgram) -> CrashSite:
    within = pc - mapping.start
    if mapping.offset is None:
        return CrashSite(addresses=(within + program.first_address,))
    if any(mark in mapping.file for mark in _APK):
        # The file begins somewhere in the APK: a mapping begins with the page of a segment.
        starts = {
            each.address - each.address % page
            for each in program.code
            for page in _PAGES_BYTES[: 1 if program.machine == X86_64 else None]
            if page <= max(each.alignment, _PAGE_BYTES)
        }
        why = "the report does not say which part of the file the mapping has"
        return _several((start + within for start in starts), why)
    address = program.address_of(mapping.offset + within)
    return CrashSite(addresses=() if address is None else (address,))


def _several(addresses: Iterable[int], why: str) -> CrashSite:
    found = tuple(sorted({*addresses}))
    return CrashSite(addresses=found, why_several=why if len(found) > 1 else "")


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
