"""What came in and what it costs, for the comment: a line for each model, a fold for the rest.

Pure; part of the report room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from megtrim.config.units import format_bytes, format_growth
from megtrim.render.formatting import group_digits
from megtrim.render.markup import bounded_table, code, code_in_title, fold, prose
from megtrim.size.artifact_sizes import VariantSize
from megtrim.size.growth.arrivals import Arrivals, NewPart, NewUse, PriceBasis
from megtrim.size.growth.inputs import Cause, count_kinds, name_kind
from megtrim.size.prices.price_list import PriceChange
from megtrim.verdict.model import Verdict
from megtrim.verdict.wording import list_trimmed


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


_MOST_USES = 20
_SETTING = code("trim: {prices: true}")
_ASK = f"{_SETTING} in the configuration shows it, which takes a few more links"


def list_prices(verdict: Verdict) -> Iterator[str]:
    """Yield what each model and scenario costs that came in, and a fold of what is kept for it."""
    trimmed = list_trimmed(verdict)
    lines = [
        f"- {line}"
        for name, size in trimmed
        for line in _describe_uses(size.arrivals, f" in {code(name)}" if len(trimmed) > 1 else "")
    ]
    if lines:
        yield "\n".join(("### Price of what came in", "", *lines))
    for name, size in trimmed:
        if size.arrivals.parts:
            yield _fold_parts(name, size.arrivals)
        if size.price_changes:
            yield _fold_changes(name, size)


def _describe_uses(arrivals: Arrivals, where: str) -> Iterator[str]:
    if arrivals.together_bytes is not None:
        names = ", ".join(code(each.name) for each in arrivals.uses[:_MOST_USES])
        more = len(arrivals.uses) - _MOST_USES
        others = f" and {group_digits(more)} more" if more > 0 else ""
        yield (
            f"{names}{others}: **{format_growth(arrivals.together_bytes)}** together{where}, "
            "exactly: nothing else differs from the baseline."
        )
    for each in arrivals.uses[:_MOST_USES]:
        if each.basis is not PriceBasis.UNKNOWN or arrivals.together_bytes is None:
            yield f"{each.kind} {code(each.name)}: {_describe_price(each, where)}"
    if arrivals.together_bytes is not None and all(
        each.basis is PriceBasis.UNKNOWN for each in arrivals.uses
    ):
        yield f"The price of each: {_ASK}."


def _describe_price(use: NewUse, where: str) -> str:
    if use.margin_bytes is None:
        return f"its price{where} is not known by itself, as other causes differ. {_ASK}."
    alone = (
        f" A program for it alone would have {format_bytes(use.alone_bytes)}."
        if use.alone_bytes is not None
        else ""
    )
    if use.basis is PriceBasis.BUILT:
        grown = format_growth(use.margin_bytes)
        why = "nothing else differs from the baseline"
        if not use.margin_bytes:
            why = "all that it needs was kept before"
        return f"**{grown}**{where}, exactly: {why}.{alone}"
    size = format_bytes(max(use.margin_bytes, 0))
    least = "at least " if use.basis is PriceBasis.LEAST else ""
    regions = " Regions have no price here." if least else ""
    return f"**{least}{size}**{where} would go if it left (attributed).{regions}{alone}"


def _fold_parts(artifact: str, arrivals: Arrivals) -> str:
    counts: Counter[str] = Counter()
    for each in arrivals.parts:
        counts[each.kind] += each.count
    named = count_kinds(counts)
    if arrivals.other_parts:
        named += f" and {group_digits(arrivals.other_parts)} more rows"
    known = any(each.size_bytes is not None for each in arrivals.parts)
    head = ("what", "which", "for", "bytes>")[: 4 if known else 3]
    rows = bounded_table(head, arrivals.parts, lambda each: _draw_part(each)[: len(head)])
    return fold(f"New in {code_in_title(artifact)}: {named}", rows)


def _draw_part(part: NewPart) -> Sequence[str]:
    what = count_kinds({part.kind: part.count}) if part.count > 1 else name_kind(part.kind)
    size = "" if part.size_bytes is None else group_digits(part.size_bytes)
    return what, code(part.name), ", ".join(map(code, part.models)), size


def _fold_changes(artifact: str, size: VariantSize) -> str:
    head = ("model", "before>", "now>", "change>")
    rows = bounded_table(head, size.price_changes, _draw_change)
    count = count_kinds({"model": len(size.price_changes)})
    return fold(f"{count} cost another price in {code_in_title(artifact)}", rows)


def _draw_change(change: PriceChange) -> Sequence[str]:
    before, after = group_digits(change.before_bytes), group_digits(change.after_bytes)
    return code(change.model), before, after, f"{change.growth_bytes:+,}"
