"""Sizes for the comment: a line for each artifact, and the table of all variants.

Pure; part of the report room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from megtrim.config.units import format_bytes, format_growth
from megtrim.render.formatting import group_digits, percent
from megtrim.render.markup import bounded_table, code, code_in_title, fold, one_line, prose
from megtrim.size.artifact_sizes import VariantSize
from megtrim.size.budget_row import BUDGET_SIGNS, BudgetRow, BudgetStatus, LimitKind
from megtrim.size.byte_table import ByteChange, list_largest
from megtrim.size.report import arrivals as growth
from megtrim.verdict.model import Verdict
from megtrim.verdict.wording import growth_of, list_trimmed

_MOST_ARTIFACTS = 10
_MOST_NAMED = 3
"""Components in the line about a file."""

_Row = tuple[VariantSize, str, Mapping[LimitKind, BudgetRow]]
"""A variant, its artifact's name, and its limits."""


def glance(verdict: Verdict) -> str:
    """Return a line for each artifact: size, change, remaining budget, and the baseline.

    With several artifacts, the baseline has a line of its own.
    """
    reduced = list_trimmed(verdict)
    alone = len(reduced) == 1 and bool(verdict.baseline) and reduced[0][1].growth_bytes is not None
    against = f" against {_bracket_details(verdict.baseline)}" if alone else ""
    lines = [
        line
        for artifact, size in reduced[:_MOST_ARTIFACTS]
        for line in (
            _line(verdict, artifact, size, against),
            growth.explain(size, verdict.causes, committed=verdict.invocation.committed),
            _name_components(size),
        )
        if line
    ]
    if reduced[_MOST_ARTIFACTS:]:
        lines.append(f"{group_digits(len(reduced) - _MOST_ARTIFACTS)} more artifacts")
    if not alone:
        lines.append(f"Baseline: {prose(verdict.baseline) or 'none, so growth is not known'}.")
    return "\\\n".join(lines)


def _bracket_details(baseline: str) -> str:
    """Return ``A (B, C)`` for a baseline named ``A, B, C``."""
    which, _, more = one_line(baseline).partition(", ")
    return f"{prose(which)} ({prose(more)})" if more else prose(which)


def _line(verdict: Verdict, artifact: str, size: VariantSize, against: str) -> str:
    rows = [row for row in verdict.budgets if row.artifact == artifact]
    parts = [f"{_find_sign(rows)} **{code(artifact)} {format_bytes(size.size_bytes)}**"]
    if size.growth_bytes is not None:
        parts.append((growth_of(size) if size.growth_bytes else "no change") + against)
    parts += _held_against(_find_limits(verdict, artifact, size.variant))
    return ", ".join(parts)


def _find_limits(verdict: Verdict, artifact: str, variant: str) -> dict[LimitKind, BudgetRow]:
    """Return the limits of a whole file."""
    key = (artifact, variant, "")
    rows = (row for row in verdict.budgets if (row.artifact, row.variant, row.measure) == key)
    return {row.kind: row for row in rows}


def _find_sign(rows: Iterable[BudgetRow]) -> str:
    """Return the sign of the worst of some limits."""
    return BUDGET_SIGNS[_find_worst(rows)].partition(" ")[0]


def _find_worst(rows: Iterable[BudgetRow]) -> BudgetStatus:
    statuses = {row.status for row in rows}
    order = (BudgetStatus.FAIL, BudgetStatus.PASS)
    return next((status for status in order if status in statuses), BudgetStatus.SKIPPED)


def _name_components(size: VariantSize) -> str:
    """Return which components grew and shrank most; empty if that is not known."""
    shown = list_largest(size.components, _MOST_NAMED)
    said = (
        f"{code(each.label)} {format_growth(each.growth_bytes)}" for each in shown[:_MOST_NAMED]
    )
    others = (f"all others {format_growth(each.growth_bytes)}" for each in shown[_MOST_NAMED:])
    return f"By component: {', '.join((*said, *others))}." if shown else ""


def changes(verdict: Verdict) -> Iterator[str]:
    """Yield the fold of what grew and what shrank, for each file of which that is known."""
    for artifact in verdict.artifacts:
        for size in artifact.sizes:
            if size.symbols:
                name = f"{code_in_title(artifact.name)} {code_in_title(size.variant)}"
                head = ("component", "what", "before>", "now>", "change>")
                rows = bounded_table(head, size.symbols, _change)
                yield fold(f"What changed in {name}: {growth_of(size)}", rows)


def _change(change: ByteChange) -> tuple[str, ...]:
    return (
        code(change.component),
        code(change.label),
        group_digits(change.before_bytes),
        group_digits(change.after_bytes),
        f"{change.growth_bytes:+,}",
    )


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
    """Return a row for each variant of each artifact, with its budget if it has one."""
    rows: list[_Row] = [
        (size, artifact.name, _find_limits(verdict, artifact.name, size.variant))
        for artifact in verdict.artifacts
        for size in artifact.sizes
    ]
    head = ("artifact", "bytes>", "size>", "% of plain>", "change>", "budget left>", "result")
    return bounded_table(head, rows, _cells)


def _cells(entry: _Row) -> tuple[str, ...]:
    size, artifact, limits = entry
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
        group_digits(size.size_bytes),
        format_bytes(size.size_bytes),
        percent(size.share),
        change,
        left,
        result,
    )
