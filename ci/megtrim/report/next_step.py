"""The second line of a report on which someone has to act: why it is so, and what to do.

Pure; part of the report room.
"""

from __future__ import annotations

from megtrim.errors import EXIT_PASS
from megtrim.report.formatting import list_trimmed, list_urgent
from megtrim.report.growth import lines as growth
from megtrim.report.markup import code, prose
from megtrim.report.text import path_in_repository
from megtrim.size.budget_row import name_subject
from megtrim.verdict.model import Check, Verdict
from megtrim.verdict.statuses import CheckKind, exit_code

_OF_BUDGETS = (CheckKind.SIZE, CheckKind.GROWTH)


def is_of_sizes(check: Check) -> bool:
    """Tell whether a check is about a budget."""
    return check.kind in _OF_BUDGETS


def describe(verdict: Verdict) -> str:
    """Return what to do about the worst that was seen; empty if nothing is to be done."""
    urgent = list_urgent(verdict)
    if not urgent or not urgent[0].hint:
        return ""
    worst = urgent[0]
    parts = [f"**What to do:** {prose(worst.hint)}."]
    if exit_code(verdict.verdict, verdict.unverified) == EXIT_PASS:
        parts.append("Until then, this does not block the merge.")
    if is_of_sizes(worst):
        if causes := _name_causes(worst, verdict):
            parts.insert(0, f"**Cause:** {causes}.")
        file = path_in_repository(worst.file, verdict.invocation.config)
        parts.append(f"The budget is at {code(f'{file}:{worst.line}')}.")
    return " ".join(parts)


def _name_causes(check: Check, verdict: Verdict) -> str:
    """Return why the file of a budget grew; empty if it did not, or if the budget is of a part."""
    found = (
        size
        for artifact, size in list_trimmed(verdict)
        if name_subject(artifact, size.variant, "") == check.subject
    )
    size = next(found, None)
    if size is None or (size.growth_bytes or 0) <= 0:
        return ""
    return growth.name_causes(size, verdict.causes)
