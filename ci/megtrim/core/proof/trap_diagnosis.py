"""Explains a bad end of a trimmed build, without a device: whoever asks makes the runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import Link, Variant
from megtrim.core.chain.filenames import DROPPED_FILE
from megtrim.core.chain.graph import NAMED, REDUCED, splits_functions, trims_functions
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.scenarios import Scenario
from megtrim.core.functions import linker_script
from megtrim.core.functions.refusals import OF_HEADER
from megtrim.core.functions.runtime_lines import RuntimeLine
from megtrim.core.keep.keepset import KeepSet, missing
from megtrim.core.keep.marks import RegionTraces
from megtrim.core.keep.region import Region
from megtrim.core.own_program import read_error
from megtrim.core.trim.builds import applications, links
from megtrim.core.trim.runs.execution import RunResult, RunSpec
from megtrim.core.trim.runs.tracing import leave_trace
from megtrim.libs.elf.layout import LOADED, segments
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.elf.symbol_table import (
    find_whole,
    holding,
    parse_table,
    read_linked,
    read_table,
)
from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending
from megtrim.libs.util.errors import InputError, MegtrimError
from megtrim.libs.util.limits import read_text
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

UNLISTED_OPERATOR = (
    "; it may lack an operator that the engine itself puts into the graph, which no model lists: "
    "with `trim.operators: all` it would run"
)
UNNAMED = "in which function is not known: a short one that was left out may hold no name"
_HOW_TO_NAME = "to verify it where the engine can be built names it"
_NOT_LISTED = "the keep set does not list it"
_NOT_RUN = "no scenario ran it"
_NOT_ITS_BLOCKS = "no scenario ran these of its blocks"
_NOT_COMMITTED = "the committed keep set does not list it"

Again = Callable[[str, RunSpec], RunResult]
"""Makes the same run of another program: the build's name, and the run."""


class SymbolizingLink(Value):
    program: Path
    dropped: tuple[str, ...]
    """Linkage names, by the number that is said."""
    shipped: Path | None = None
    """The program that ships, with symbols, where functions of it are cut."""

    def find_part(self, said: RuntimeLine) -> str | None:
        """Return the function of which a part was called that is not there."""
        if self.shipped is None or said.address is None:
            return None
        names = holding(read_table(self.shipped), (said.address,))
        return next((find_whole(name) for name in names if find_whole(name) != name), None)

    def missing(self, run: ProgramRun) -> str | None:
        return linker_script.not_kept(run.stderr, self.dropped)

    def locate(self, offset: int, number: int) -> str | None:
        """Return what is lacking at a trap: ``offset`` in the file, ``number`` in a register."""
        data = read_linked(self.program)
        source = str(self.program)
        parts = segments(data, source=source)
        held = (
            each.address + offset - each.offset
            for each in parts
            if each.kind == LOADED and 0 <= offset - each.offset < each.size_bytes
        )
        names = holding(parse_table(data, source=source), held)
        if linker_script.REPORTING in names:
            return self.dropped[number] if number < len(self.dropped) else None
        # What is local and short has a bare trap in its own place.
        return next((name for name in names if name in self.dropped), None)


def read_named(program: Path, listed: Path) -> SymbolizingLink:
    text = read_text(listed, hint="use the list that was made together with this link")
    return SymbolizingLink(program=program, dropped=tuple(text.split()))


class Diagnosis(Value):
    status: ScenarioStatus
    text: str
    log: str
    missing: tuple[str, ...] = ()
    function: str = ""
    """The one that was called and is not kept, as people read it."""
    unexplained: bool = False
    lacking_operators: tuple[str, ...] = ()


class ProfileProgram(Value):
    program: Path
    traces: RegionTraces

    def lead(self, spec: RunSpec) -> RunSpec:
        return leave_trace(spec.with_program(self.program), self.traces)

    def list_lacking(self, left: bytes | None, keep: KeepSet) -> tuple[Region, ...]:
        # A profile build that crashed leaves no trace, or half of one: then nothing can be
        # subtracted. Nor can it where no region is trimmed: none is on the list.
        if left is None or not keep.regions():
            return ()
        try:
            trace = self.traces.parse(left, source="trace of the failing run")
        except MegtrimError:
            return ()
        return missing(keep, trace.regions)


def diagnose(
    reduced: ProgramRun,
    spec: RunSpec,
    again: Again,
    keep: KeepSet,
    *,
    named: SymbolizingLink | None,
    profile: Callable[[], ProfileProgram | None],
    lacking_operators: tuple[str, ...] = (),
    why: str = _NOT_LISTED,
) -> Diagnosis:
    """Ask the named link; where it names no function, tell by difference.

    ``spec`` is the run of the reduced program or of the plain one. ``named`` is None where no
    function is trimmed; ``profile`` is called only where it is needed, for it may have to build.
    ``why`` a function is not kept: a committed keep set may lack what a scenario runs, and a quick
    look has none that a person knows.

    What the runtime of deferred functions says of a program that cannot start, or of a second file
    that it cannot use, is the cause, and no keep set is.
    """
    said = RuntimeLine.find(reduced.stderr)
    if said and not said.starts:
        return _explain_by_runtime(reduced, said)
    name = named.missing(again(Link.NAMED, spec.with_program(named.program)).run) if named else None
    if name and name not in OF_HEADER:
        return _not_kept(reduced, name, why)
    if said and not said.is_missing:
        return _explain_by_runtime(reduced, said)
    if named and said and (name := named.find_part(said)):
        return _not_kept(reduced, name, _NOT_ITS_BLOCKS, part="a part of ")
    if named and not keep.regions() and keep.operators is None:
        return _explain_without_regions(reduced)
    profiled = profile()
    if profiled is None:
        return diagnose_without_profile(reduced)
    seen = again(Variant.PROFILE, profiled.lead(spec))
    lacking = profiled.list_lacking(seen.recorded, keep)
    return explain(reduced, seen.run, keep, lacking=lacking, lacking_operators=lacking_operators)


def why_not_kept(*, committed: bool, quick: bool = False) -> str:
    if quick:
        return _NOT_RUN  # there is no keep set to look into
    return _NOT_COMMITTED if committed else _NOT_LISTED


def explain(
    reduced: ProgramRun,
    profile: ProgramRun,
    keep: KeepSet,
    *,
    lacking: tuple[Region, ...],
    lacking_operators: tuple[str, ...] = (),
) -> Diagnosis:
    """Name what the same run needs and the keep set does not hold.

    What the profile build cannot run either is the engine's own error, whatever is missing.
    """
    how = _how(reduced)
    if ending(profile) is not RunOutcome.PASSED:
        return explain_by_whole(reduced, profile, "profile build")
    if lacking or lacking_operators:
        needed = ((lacking, "region"), (lacking_operators, "operator"))
        counts = " and ".join(count(len(things), noun) for things, noun in needed if things)
        verb = "is" if len(lacking) + len(lacking_operators) == 1 else "are"
        text = f"{how}: {counts} it needs {verb} not in the keep set"
        return Diagnosis(
            status=ScenarioStatus.TRAP,
            text=text,
            log=profile.stderr,
            missing=tuple(str(region) for region in lacking),
            lacking_operators=lacking_operators,
        )
    if line := RuntimeLine.find(reduced.stderr):
        text = f"{how}: {line.blame()}, or keep what is called there; no region is missing"
        return Diagnosis(status=ScenarioStatus.TRAP, text=text, log=reduced.stderr)
    if ending(reduced) is RunOutcome.TRAP and keep.functions():
        text = (
            f"{how}: a function that the keep set does not list was left out; no region is missing"
        )
        return Diagnosis(status=ScenarioStatus.TRAP, text=text, log=reduced.stderr)
    text = f"{how}; the profile build runs it, and nothing is missing from the keep set"
    if keep.regions() and keep.operators is not None:
        text += UNLISTED_OPERATOR
    return Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text=text, log=reduced.stderr)


def explain_by_whole(reduced: ProgramRun, whole: ProgramRun, what: str) -> Diagnosis:
    """Tell that a program of which nothing was left out fails in the same run."""
    said = read_error(whole.stderr) or _how(whole)
    text = f"{_how(reduced)}, and the {what} fails too: {said}"
    return Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text=text, log=whole.stderr)


def diagnose_without_profile(reduced: ProgramRun) -> Diagnosis:
    trapped = ending(reduced) is RunOutcome.TRAP
    said = RuntimeLine.find(reduced.stderr)
    how = f'{_how(reduced)}: "{said.text}"' if said else _how(reduced)
    text = f"{how}; no profile build is at hand to name what it needs: {_HOW_TO_NAME}"
    status = ScenarioStatus.TRAP if trapped else ScenarioStatus.ENGINE_ERROR
    return Diagnosis(status=status, text=text, log=reduced.stderr, unexplained=True)


def _explain_without_regions(reduced: ProgramRun) -> Diagnosis:
    """Nothing but functions was left out, and the named link named none."""
    if line := RuntimeLine.find(reduced.stderr):
        text = f"{_how(reduced)}: {line.blame()}, or keep what is called there"
        return Diagnosis(status=ScenarioStatus.TRAP, text=text, log=reduced.stderr)
    if ending(reduced) is RunOutcome.TRAP:
        # What is local and very short has no room for its name in its place.
        text = f"{_how(reduced)}; {UNNAMED}"
        return Diagnosis(status=ScenarioStatus.TRAP, text=text, log=reduced.stderr)
    text = f"{_how(reduced)}, and called no function that was left out"
    return Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text=text, log=reduced.stderr)


def _explain_by_runtime(reduced: ProgramRun, said: RuntimeLine) -> Diagnosis:
    text = f"{_how(reduced)}, and not for the keep set: {said.blame()}"
    return Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text=text, log=reduced.stderr)


def describe_with_rest(whole: ProgramRun) -> str:
    """How a program ended that had its second file: no function was missing."""
    said = RuntimeLine.find(whole.stderr)
    return f"it ended with {whole.rc}{f': {said.blame()}' if said else ''}"


def describe_missing(name: str, why: str, part: str = "") -> str:
    if name in OF_HEADER:
        return "a region is not kept, or a check of the engine failed"
    return f"{part}the function {read_function(name)} is not kept, because {why}"


def _not_kept(reduced: ProgramRun, name: str, why: str, part: str = "") -> Diagnosis:
    function = read_function(name)
    text = f"{_how(reduced)}: {describe_missing(name, why, part)}"
    return Diagnosis(status=ScenarioStatus.TRAP, text=text, log=reduced.stderr, function=function)


def read_function(name: str) -> str:
    """Return a linkage name as people read it, whatever the machine has to make it so."""
    try:
        return readable(name)
    except InputError:
        return name


def _how(run: ProgramRun) -> str:
    match ending(run):
        case RunOutcome.TRAP:
            return "it trapped"
        case RunOutcome.TIMEOUT:
            return f"it did not end within {run.wall_s:.0f} s"
        case RunOutcome.CRASHED:
            return f"it crashed (exit status {run.status})"
        case _:
            return f"it ended with {run.status}"


def find_profile(
    scenario: Scenario, session: Session, made: StageFolder | None
) -> ProfileProgram | None:
    """``made``: the profile build; None: there is none."""
    if made is None:
        return None
    program = applications.program(scenario, session.request, made)
    return ProfileProgram(program=program, traces=session.services.marks.traces)


def ensure_named_program(scenario: Scenario, session: Session) -> SymbolizingLink | None:
    """Link the named program now if need be; None: no function is trimmed."""
    return named_program(applications.name_of(scenario, session.request), session)


def named_program(name: str, session: Session) -> SymbolizingLink | None:
    """``name`` is the program's; its functions may be a shared object's, which is next to it."""
    files = named_files(name, session)
    if files is None:
        return None
    named = read_named(*files)
    if not splits_functions(session.config):
        return named
    holder = applications.find_holder(name, session)
    twin = session.done[REDUCED].file(links.locate_unstripped(Link.SHIPPED, holder))
    return replace(named, shipped=twin)


def named_files(name: str, session: Session) -> tuple[Path, Path] | None:
    listed = DROPPED_FILE.format(target=applications.find_holder(name, session))
    made = session.results.obtain(NAMED) if trims_functions(session.config) else None
    if made is None or listed not in made.files:
        return None
    return made.file(links.locate_unstripped(Link.NAMED, name)), made.file(listed)
