"""What looking up a crash finds: its cause, what was left out, why it is not certain. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from megtrim.core.keep.marks import find_trap_reader
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.elf.symbol_table import find_whole
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.ship.crashes.places import find_site
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report_values import CrashReport

FOLDED = "a linker folds equal code: these share one instruction"
SHARED = "functions that were left out share one instruction without trim.crash_ids"
NO_BUILD_ID = "the report has no build id: it may be of another build"
_WHICH_OF_SEVERAL = frozenset({FOLDED, SHARED})
_GIVE_ALL = "give the whole report: its frames, such as `#00 pc 1a2b4 FILE`, and its memory map"


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

    @property
    def is_doubtful(self) -> bool:
        """Whether it may be something else; not only which of several it is."""
        if self.cause is CrashCause.NOT_TRIMMING:
            return bool(self.why_several)
        return not _WHICH_OF_SEVERAL.issuperset(self.why_several)


def make_candidate(name: str, kind: CandidateKind = CandidateKind.FUNCTION) -> CrashCandidate:
    region = find_trap_reader()(name)
    if region is not None:
        return CrashCandidate(kind=CandidateKind.REGION, name=str(region))
    return CrashCandidate(kind=kind, name=read_name(name), linkage_name=name)


def read_name(name: str) -> str:
    """Return it as people read it; a part of a function has the name of the whole."""
    try:
        return readable(find_whole(name))
    except InputError:
        return name  # a crash is looked up, whatever the machine has to make names readable


def list_callers(report: CrashReport, program: TrimmedProgram) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for frame in report.frames[1:]:
        for address in find_site(frame, report, program).addresses[:1]:
            found.update((each.name, None) for each in program.table.at(address - 1))
    return tuple(found)


def make_cleared(
    text: str, program: str = "", stack: tuple[str, ...] = (), doubts: tuple[str, ...] = ()
) -> CrashFinding:
    return CrashFinding(
        cause=CrashCause.NOT_TRIMMING,
        text=text,
        program=program,
        why_several=tuple(dict.fromkeys(doubts)),
        stack=stack,
    )


def make_unknown(text: str) -> CrashFinding:
    return CrashFinding(cause=CrashCause.UNKNOWN, text=text, hint=_GIVE_ALL)


def sort_unique(candidates: Iterable[CrashCandidate]) -> tuple[CrashCandidate, ...]:
    return tuple(sorted({*candidates}, key=lambda each: (each.kind, each.name, each.linkage_name)))
