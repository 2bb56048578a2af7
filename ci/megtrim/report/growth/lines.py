"""Why files grew, for the comment: a line at each file, and what to do about each cause.

Pure; part of the report room.
"""

from __future__ import annotations

from collections.abc import Sequence

from megtrim.config.units import format_growth
from megtrim.report.formatting import list_trimmed
from megtrim.report.markup import prose
from megtrim.size.growth.causes import Cause
from megtrim.verdict.model import VariantSize, Verdict


def explain(size: VariantSize, causes: Sequence[Cause], *, committed: bool) -> str:
    """Return the line that names the causes; empty if there is nothing to say.

    A keep set that was traced follows from the other causes, and models change it: then it is not
    said to be unchanged.
    """
    names = name_causes(size, causes)
    if not names:
        return ""
    noun = "Cause" if len(causes) == 1 else "Causes"
    follows = not committed or Cause.MODELS in causes
    left_out = (*causes, Cause.KEEP_SET) if follows else causes
    same = [cause for cause in Cause if cause not in left_out]
    unchanged = f" Unchanged: {', '.join(same)}." if same else ""
    return f"{noun}: {names}.{unchanged}"


def name_causes(size: VariantSize, causes: Sequence[Cause]) -> str:
    """Return the causes with the bytes that they have, together if they are several.

    Empty if nothing grew or nothing is known to differ.
    """
    if not size.growth_bytes or not causes:
        return ""
    together = " together" if len(causes) > 1 else ""
    return f"{_join(causes)} {format_growth(size.growth_bytes)}{together}"


def advise(verdict: Verdict) -> str:
    """Return what differs of each cause and what to do, if a file changed; empty if none did."""
    growth = [size.growth_bytes for _, size in list_trimmed(verdict) if size.growth_bytes]
    if not growth or not verdict.notes:
        return ""
    alone = f" {format_growth(sum(growth))}" if len(verdict.notes) == 1 else ""
    advised = sum(growth) > 0 or not alone
    lines = (
        f"- **{note.cause}**{alone}: {prose(note.seen)}."
        + (f" What to do: {prose(note.advice)}." if advised else "")
        for note in verdict.notes
    )
    return "\n".join(("### Why sizes changed", "", *lines))


def _join(causes: Sequence[Cause]) -> str:
    *others, last = causes
    return f"{', '.join(others)} and {last}" if others else str(last)
