"""Sizes for the comment: a line for each artifact, and the table of all variants. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from megtrim.config.units import format_bytes, format_growth
from megtrim.render.formatting import group_digits, percent
from megtrim.render.markup import bounded_table, code, code_in_title, fold, one_line, prose
from megtrim.size.byte_table import list_largest
from megtrim.size.growth.arrivals import Arrivals, NewPart, NewUse, PriceBasis
from megtrim.size.growth.causes import Cause, count_kinds, name_kind
from megtrim.size.rows import BUDGET_SIGNS, BudgetRow, BudgetStatus, LimitKind, VariantSize
from megtrim.verdict.model import Verdict
from megtrim.verdict.wording import growth_of, list_trimmed

_MOST_ARTIFACTS = 10
_MOST_NAMED = 3


def glance(verdict: Verdict) -> str:
    reduced = list_trimmed(verdict)
    alone = len(reduced) == 1 and bool(verdict.baseline) and reduced[0][1].growth_bytes is not None
    which, _, more = one_line(verdict.baseline).partition(", ")
    details = f" ({prose(more)})" if more else ""
    against = f" against {prose(which)}{details}" if alone else ""
    lines = [
        line
        for artifact, size in reduced[:_MOST_ARTIFACTS]
        for line in (
            _line(verdict, artifact, size, against),
            explain_growth(size, verdict.causes, committed=verdict.invocation.committed),
            _name_components(size),
        )
        if line
    ]
    if reduced[_MOST_ARTIFACTS:]:
        lines.append(f"{group_digits(len(reduced) - _MOST_ARTIFACTS)} more artifacts")
    if not alone:
        lines.append(f"Baseline: {prose(verdict.baseline) or 'none, so growth is not known'}.")
    return "\\\n".join(lines)


def _line(verdict: Verdict, artifact: str, size: VariantSize, against: str) -> str:
    rows = [row for row in verdict.budgets if row.artifact == artifact]
    sign = BUDGET_SIGNS[_find_worst(rows)].partition(" ")[0]
    parts = [f"{sign} **{code(artifact)} {format_bytes(size.size_bytes)}**"]
    if size.growth_bytes is not None:
        parts.append((growth_of(size) if size.growth_bytes else "no change") + against)
    parts += _held_against(_find_limits(verdict, artifact, size.variant))
    return ", ".join(parts)


def _find_limits(verdict: Verdict, artifact: str, variant: str) -> dict[LimitKind, BudgetRow]:
    key = (artifact, variant, "")
    rows = (row for row in verdict.budgets if (row.artifact, row.variant, row.measure) == key)
    return {row.kind: row for row in rows}


def _find_worst(rows: Iterable[BudgetRow]) -> BudgetStatus:
    statuses = {row.status for row in rows}
    order = (BudgetStatus.FAIL, BudgetStatus.PASS)
    return next((status for status in order if status in statuses), BudgetStatus.SKIPPED)


def _name_components(size: VariantSize) -> str:
    """Empty if that is not known."""
    shown = list_largest(size.components, _MOST_NAMED)
    said = (
        f"{code(each.label)} {format_growth(each.growth_bytes)}" for each in shown[:_MOST_NAMED]
    )
    others = (f"all others {format_growth(each.growth_bytes)}" for each in shown[_MOST_NAMED:])
    return f"By component: {', '.join((*said, *others))}." if shown else ""


def changes(verdict: Verdict) -> Iterator[str]:
    for artifact in verdict.artifacts:
        for size in artifact.sizes:
            if size.symbols:
                name = f"{code_in_title(artifact.name)} {code_in_title(size.variant)}"
                head = ("component", "what", "before>", "now>", "change>")
                rows = bounded_table(
                    head,
                    size.symbols,
                    lambda change: (
                        *(code(change.component), code(change.label)),
                        *(group_digits(change.before_bytes), group_digits(change.after_bytes)),
                        f"{change.growth_bytes:+,}",
                    ),
                )
                yield fold(f"What changed in {name}: {growth_of(size)}", rows)


def _held_against(limits: Mapping[LimitKind, BudgetRow]) -> Iterator[str]:
    growth, size = limits.get(LimitKind.GROWTH), limits.get(LimitKind.SIZE)
    if growth is not None and growth.is_exceeded:
        yield f"{format_bytes(growth.max_bytes or 0)} allowed"
    if size is not None and size.left_bytes is not None:
        left, budget = size.left_bytes, format_bytes(size.max_bytes or 0)
        over = f"{format_bytes(-left)} over its budget of {budget}"
        yield f"{format_bytes(left)} of its budget left" if left >= 0 else over
    if any(row.waiver for row in limits.values()):
        yield "waived"


def table(verdict: Verdict) -> str:
    rows = [
        _list_cells(size, artifact.name, _find_limits(verdict, artifact.name, size.variant))
        for artifact in verdict.artifacts
        for size in artifact.sizes
    ]
    head = ("artifact", "bytes>", "size>", "% of plain>", "change>", "budget left>", "result")
    return bounded_table(head, rows, tuple)


def _list_cells(
    size: VariantSize, artifact: str, limits: Mapping[LimitKind, BudgetRow]
) -> tuple[str, ...]:
    change, left, result = growth_of(size), "", ""
    growth, whole = limits.get(LimitKind.GROWTH), limits.get(LimitKind.SIZE)
    if growth is not None and growth.max_bytes is not None:
        change = f"{change or 'no baseline'} ({format_bytes(growth.max_bytes)} allowed)"
    if whole is not None and whole.left_bytes is not None:
        left = f"{format_bytes(whole.left_bytes)} of {format_bytes(whole.max_bytes or 0)}"
    if limits:
        waived = dict.fromkeys(row.waiver for row in limits.values() if row.waiver)
        result = BUDGET_SIGNS[_find_worst(limits.values())]
        result += f", waived: {prose('; '.join(waived))}" if waived else ""
    return (
        f"{code(artifact)} {code(size.variant)}",
        *(group_digits(size.size_bytes), format_bytes(size.size_bytes), percent(size.share)),
        *(change, left, result),
    )


def explain_growth(size: VariantSize, causes: Sequence[Cause], *, committed: bool) -> str:
    """Return the line that names the causes; empty if there is nothing to say."""
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
    """Empty if nothing grew or nothing is known to differ."""
    if not size.growth_bytes or not causes:
        return ""
    *others, last = causes
    together = f"{', '.join(others)} and {last}" if others else last
    return f"{together} {format_growth(size.growth_bytes)}{' together' if others else ''}"


def advise_on_growth(verdict: Verdict) -> str:
    """Empty if no file changed."""
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


_MOST_USES = 20
_SETTING = code("trim: {prices: true}")
_ASK = f"{_SETTING} in the configuration shows it, which takes a few more links"


def list_prices(verdict: Verdict) -> Iterator[str]:
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
        names = ", ".join(code(use.name) for use in arrivals.uses[:_MOST_USES])
        more = len(arrivals.uses) - _MOST_USES
        others = f" and {group_digits(more)} more" if more > 0 else ""
        yield (
            f"{names}{others}: **{format_growth(arrivals.together_bytes)}** together{where}, "
            "exactly: nothing else differs from the baseline."
        )
    for use in arrivals.uses[:_MOST_USES]:
        if use.basis is not PriceBasis.UNKNOWN or arrivals.together_bytes is None:
            yield f"{use.kind} {code(use.name)}: {_describe_price(use, where)}"
    if arrivals.together_bytes is not None and all(
        use.basis is PriceBasis.UNKNOWN for use in arrivals.uses
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
    known = any(part.size_bytes is not None for part in arrivals.parts)
    head = ("what", "which", "for", "bytes>")[: 4 if known else 3]
    rows = bounded_table(head, arrivals.parts, lambda each: _draw_part(each)[: len(head)])
    return fold(f"New in {code_in_title(artifact)}: {named}", rows)


def _draw_part(part: NewPart) -> Sequence[str]:
    what = count_kinds({part.kind: part.count}) if part.count > 1 else name_kind(part.kind)
    size = "" if part.size_bytes is None else group_digits(part.size_bytes)
    return what, code(part.name), ", ".join(map(code, part.models)), size


def _fold_changes(artifact: str, size: VariantSize) -> str:
    rows = bounded_table(
        ("model", "before>", "now>", "change>"),
        size.price_changes,
        lambda change: (
            *(code(change.model), group_digits(change.before_bytes)),
            *(group_digits(change.after_bytes), f"{change.growth_bytes:+,}"),
        ),
    )
    count = count_kinds({"model": len(size.price_changes)})
    return fold(f"{count} cost another price in {code_in_title(artifact)}", rows)
