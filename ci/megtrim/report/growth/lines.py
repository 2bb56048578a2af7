"""Why files grew, for the comment: a line at each file, and what to do about each cause.

Pure; part of the report room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from megtrim.config.units import format_growth
from megtrim.report.formatting import list_trimmed
from megtrim.report.markup import code, prose
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.notes import CauseNote
from megtrim.size.growth.shares import GrowthShare
from megtrim.verdict.model import VariantSize, Verdict

DIVIDE = "megtrim size causes --base BASE"
"""The command that divides what several causes share; BASE is a checkout of the merge base."""


def explain(size: VariantSize, causes: Sequence[Cause]) -> str:
    """Return the line that says which cause has which bytes; empty if there is nothing to say."""
    said = name_causes(size, causes)
    if not said:
        return ""
    noun = "Cause" if len(causes) == 1 else "Causes"
    same = [each for each in Cause if each not in causes]
    unchanged = f" Unchanged: {', '.join(same)}." if same else ""
    return f"{noun}: {said}.{unchanged}"


def name_causes(size: VariantSize, causes: Sequence[Cause]) -> str:
    """Return each cause with its bytes; empty if nothing grew or nothing is known to differ."""
    if not size.growth_bytes or not causes:
        return ""
    if len(causes) == 1:
        return f"{causes[0]} {format_growth(size.growth_bytes)}"
    if size.shares:
        return ", ".join(_name_share(each) for each in size.shares)
    return f"{', '.join(causes)}, which are not divided"


def advise(verdict: Verdict) -> str:
    """Return what differs of each cause and what to do, if a file changed; empty if none did."""
    sizes = [size for _, size in list_trimmed(verdict) if size.growth_bytes]
    if not sizes or not verdict.notes:
        return ""
    lines = [*_list_causes(verdict.notes, sizes), *_list_shared(sizes)]
    return "### Why sizes changed\n\n" + "\n".join(f"- {line}" for line in lines)


def _list_causes(notes: Sequence[CauseNote], sizes: Sequence[VariantSize]) -> Iterator[str]:
    total_bytes = sum(size.growth_bytes or 0 for size in sizes)
    own: dict[Cause, list[GrowthShare]] = defaultdict(list)
    for share in (share for size in sizes for share in size.shares if len(share.causes) == 1):
        own[share.causes[0]].append(share)
    for each in notes:
        growth_bytes = (
            total_bytes if len(notes) == 1 else sum(one.growth_bytes for one in own[each.cause])
        )
        known = len(notes) == 1 or any(size.shares for size in sizes)
        amount = f" {format_growth(growth_bytes)}" if known else ""
        largest = _name_largest(own[each.cause]) if growth_bytes else ""
        advice = f" What to do: {prose(each.advice)}." if growth_bytes > 0 or not known else ""
        yield f"**{each.cause}**{amount}: {prose(each.seen)}.{largest}{advice}"


def _list_shared(sizes: Sequence[VariantSize]) -> Iterator[str]:
    shared: dict[tuple[Cause, ...], list[GrowthShare]] = defaultdict(list)
    for share in (share for size in sizes for share in size.shares if len(share.causes) > 1):
        shared[share.causes].append(share)
    for causes, of in shared.items():
        amount = format_growth(sum(each.growth_bytes for each in of))
        yield (
            f"**shared by {_join(causes)}** {amount}: symbols do not prove which of them it is."
            f"{_name_largest(of)} What to do: {code(DIVIDE)} builds it with one put back at a time."
        )


def _name_share(share: GrowthShare) -> str:
    name = _join(share.causes) if len(share.causes) == 1 else f"shared by {_join(share.causes)}"
    return f"{name} {format_growth(share.growth_bytes)}"


def _name_largest(shares: Sequence[GrowthShare]) -> str:
    names = list(dict.fromkeys(name for each in shares for name in each.largest))[:3]
    return f" Most in {', '.join(map(code, names))}." if names else ""


def _join(causes: Sequence[Cause]) -> str:
    *others, last = causes
    return f"{', '.join(others)} and {last}" if others else str(last)
