"""Sizes for the comment: a line for each artifact, and the table of all variants.

Pure; part of the report room.
"""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.config.units import format_bytes, format_growth
from megtrim.report.formatting import BUDGET_SIGNS, group_digits, growth_of, list_trimmed, percent
from megtrim.report.growth import lines as growth
from megtrim.report.markup import bounded_table, code, code_in_title, fold, prose
from megtrim.report.text import one_line
from megtrim.size.byte_change import ByteChange, list_largest
from megtrim.verdict.model import BudgetRow, VariantSize, Verdict
from megtrim.verdict.statuses import BudgetStatus

_MOST_ARTIFACTS = 10
_MOST_NAMED = 3
"""Components in the line about a file."""

_Row = tuple[VariantSize, str, BudgetRow | None]
"""A variant, its artifact's name, and its budget."""


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
    whole = [row for row in rows if not row.measure]
    statuses = [row.status for row in rows]
    worst = next((s for s in (BudgetStatus.FAIL, BudgetStatus.PASS) if s in statuses), None)
    sign = BUDGET_SIGNS[worst or BudgetStatus.SKIPPED].partition(" ")[0]
    parts = [f"{sign} **{code(artifact)} {format_bytes(size.size_bytes)}**"]
    if size.growth_bytes is not None:
        parts.append((growth_of(size) if size.growth_bytes else "no change") + against)
    row = next((row for row in whole if row.variant == size.variant), None)
    if row is not None:
        parts += _held_against(row, size)
    return ", ".join(parts)


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


def _held_against(row: BudgetRow, size: VariantSize) -> Iterator[str]:
    grown, allowed, limit = size.growth_bytes, row.growth_max_bytes, row.max_bytes
    if grown is not None and allowed is not None and grown > allowed:
        yield f"{format_bytes(allowed)} allowed"
    if limit is not None and size.size_bytes <= limit:
        yield f"{format_bytes(limit - size.size_bytes)} of its budget left"
    elif limit is not None:
        yield f"{format_bytes(size.size_bytes - limit)} over its budget of {format_bytes(limit)}"
    if row.waiver:
        yield "waived"
    if row.acknowledged:
        yield "acknowledged"


def table(verdict: Verdict) -> str:
    """Return a row for each variant of each artifact, with its budget if it has one."""
    budgets = {(row.artifact, row.variant): row for row in verdict.budgets if not row.measure}
    rows: list[_Row] = [
        (size, artifact.name, budgets.get((artifact.name, size.variant)))
        for artifact in verdict.artifacts
        for size in artifact.sizes
    ]
    head = ("artifact", "bytes>", "size>", "% of plain>", "change>", "budget left>", "result")
    return bounded_table(head, rows, _cells)


def _cells(entry: _Row) -> tuple[str, ...]:
    size, artifact, row = entry
    change, left, result = growth_of(size), "", ""
    if row is not None and row.growth_max_bytes is not None:
        change = f"{change or 'no baseline'} ({format_bytes(row.growth_max_bytes)} allowed)"
    if row is not None and row.max_bytes is not None:
        budget = format_bytes(row.max_bytes)
        left = f"{format_bytes(row.max_bytes - size.size_bytes)} of {budget}"
    if row is not None:
        result = BUDGET_SIGNS[row.status] + (f", waived: {prose(row.waiver)}" if row.waiver else "")
        result += f", acknowledged {prose(row.acknowledged)}" if row.acknowledged else ""
    return (
        f"{code(artifact)} {code(size.variant)}",
        group_digits(size.size_bytes),
        format_bytes(size.size_bytes),
        percent(size.share),
        change,
        left,
        result,
    )
