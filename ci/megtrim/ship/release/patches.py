"""What a crash changes in a release: the functions that it proves to be missing. Pure.

A report may come from anyone. So it only ever names functions that this very build left out, and
only where nothing in it is doubtful: what is linked can grow by them, and by nothing else.
"""

from collections.abc import Mapping, Sequence

from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.ship.crashes.finding import FOLDED, CandidateKind, CrashCause, CrashFinding
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.release.contents import ReleaseContents, ReleasePatch

_LOOK = "`megtrim explain --crash FILE --release RELEASE` shows what is known about it"
_BY_HAND = f"{_LOOK}; name what you want to keep in trim.keep, and build a release"


def choose_functions(finding: CrashFinding) -> tuple[str, ...]:
    """Return the names of what is missing; several if a linker folded equal code.

    Raises InputError unless it is certain.
    """
    if finding.cause not in (CrashCause.LEFT_OUT, CrashCause.CANDIDATES):
        msg = f"there is nothing to patch: {finding.text}"
        raise InputError(msg, hint=_LOOK)
    doubts = [each for each in finding.why_several if each != FOLDED]
    if doubts:
        msg = f"it is not certain what is missing: {'; '.join(doubts)}"
        raise InputError(msg, hint=_BY_HAND)
    regions = [each for each in finding.candidates if each.kind is not CandidateKind.FUNCTION]
    if regions or not finding.candidates:
        what = f"the region {regions[0].name}" if regions else "no function"
        msg = f"a patch keeps functions, and the crash needs {what}"
        raise InputError(msg, hint="add a scenario that needs it, and build a release")
    return tuple(sorted({each.name for each in finding.candidates}))


def make_patch(
    finding: CrashFinding,
    programs: Sequence[TrimmedProgram],
    contents: ReleaseContents,
    *,
    of: str,
    report_sha256: str,
) -> ReleasePatch:
    """``of``: the digest of the release. Raises InputError unless all is certain."""
    added = choose_functions(finding)
    program = next(each for each in programs if each.name == finding.program)
    earlier = contents.patch.kept if contents.patch else ()
    return ReleasePatch(
        of=of,
        program=program.name,
        build_id=program.build_id,
        report_sha256=report_sha256,
        added=added,
        kept=tuple(sorted({*added, *earlier})),
    )


def expect_kept(finding: CrashFinding, left_out: Mapping[str, Sequence[str]]) -> None:
    """``left_out``: by program, in the new build. Raises ProductFailure."""
    missing = {*left_out.get(finding.program, ())}
    still = sorted({e.name for e in finding.candidates if e.linkage_name in missing})
    if still:
        msg = f"{finding.program} was linked again, and still leaves out {', '.join(still)}"
        raise ProductFailure(msg, hint="add a scenario that calls it, and build a release")
