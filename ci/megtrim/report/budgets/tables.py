"""Budgets for the comment and the terminal: what each limit allows, what is used, what is left.

Pure; part of the report room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from megtrim.config.units import format_bytes, format_growth
from megtrim.report.budgets.uses import LimitUse, list_uses, name_row
from megtrim.report.formatting import BUDGET_SIGNS, align_columns, percent
from megtrim.report.markup import bounded_table, code, fold, prose
from megtrim.report.text import command, one_line, path_in_repository
from megtrim.verdict.model import BudgetRow, LowerLimit, Verdict
from megtrim.verdict.statuses import BudgetStatus

_HEAD = ("budget", "limits", "used", "limit", "left", "left in %")
_NUMBERS = frozenset(_HEAD[2:])


def markdown(verdict: Verdict) -> Iterator[str]:
    """Yield the lower limits that are proposed, and the fold of all budgets, if there are any."""
    lower = [(row, row.ratchet) for row in verdict.budgets if row.ratchet is not None]
    if lower:
        lines = (f"- {_propose(row, limit, verdict.invocation.config)}" for row, limit in lower)
        hint = "`megtrim size ratchet --write` lowers them; nothing fails if they stay."
        yield "\n".join(("### Limits that could be lower", "", *lines, "", hint))
    uses = [use for row in verdict.budgets for use in list_uses(row)]
    if uses:
        head = _list_head(verdict.budgets)
        body = bounded_table(head, uses, lambda use: _draw(use)[: len(head)])
        yield fold(_summarize(verdict.budgets, uses), body)


def text(verdict: Verdict) -> str:
    """Return the table of all budgets for a terminal, and the lower limits that are proposed."""
    rows = [
        (one_line(name_row(use.row)), use.limits, *use.list_cells())
        for row in verdict.budgets
        for use in list_uses(row)
    ]
    if not rows:
        return ""
    words = [name for name in _HEAD if name not in _NUMBERS]
    lines = ["budgets", *(f"  {line}" for line in align_columns(_HEAD, rows, words))]
    for row in verdict.budgets:
        if row.acknowledged:
            lines.append(
                f"  acknowledged for {one_line(name_row(row))}: {one_line(row.acknowledged)}"
            )
        if row.ratchet is not None:
            lower = _describe_lower(row.ratchet, verdict.invocation.config)
            lines.append(f"  {one_line(name_row(row))}: {lower}")
            if row.ratchet.text:
                lines.append(f"    {command(row.ratchet.text)}")
    return "\n".join(lines)


def _list_head(rows: Sequence[BudgetRow]) -> tuple[str, ...]:
    numbers = tuple(f"{name}>" if name in _NUMBERS else name for name in _HEAD)
    return (*numbers, "result", "owner") if any(row.owner for row in rows) else (*numbers, "result")


def _draw(use: LimitUse) -> tuple[str, ...]:
    row = use.row
    result = BUDGET_SIGNS[row.status]
    if row.waiver:
        result += f", waived: {prose(row.waiver)}"
    if row.acknowledged and use.limits == "growth":
        result += f", acknowledged {prose(row.acknowledged)}"
    return (code(name_row(row)), use.limits, *use.list_cells(), result, prose(row.owner))


def _summarize(rows: Sequence[BudgetRow], uses: Sequence[LimitUse]) -> str:
    kept = sum(row.status is not BudgetStatus.FAIL for row in rows)
    count = f"Budgets: {kept} of {len(rows)} kept"
    shares = [
        (use.left_bytes / use.limit_bytes, use)
        for use in uses
        if use.limits == "size" and use.left_bytes is not None and use.limit_bytes
    ]
    if not shares:
        return count
    least, use = min(shares, key=lambda each: each[0])
    left = use.left_bytes or 0
    room = (
        f"{format_bytes(left)} ({percent(least)}) left"
        if left >= 0
        else f"{format_bytes(-left)} over"
    )
    return f"{count}, the tightest has {room}" if left >= 0 else f"{count}, the tightest is {room}"


def _propose(row: BudgetRow, limit: LowerLimit, config: str) -> str:
    line = f": {code(limit.text)}" if limit.text else ""
    grown = f" {format_growth(row.growth_bytes)}," if row.growth_bytes else ""
    return f"{code(name_row(row))}:{grown} {prose(_describe_lower(limit, config))}{line}"


def _describe_lower(limit: LowerLimit, config: str) -> str:
    place = f"{path_in_repository(limit.file, config)}:{limit.line}"
    return f"max could be {format_bytes(limit.max_bytes)} ({limit.max_bytes:,} bytes) at {place}"
