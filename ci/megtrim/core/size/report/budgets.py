"""Budgets in reports: of each limit what is allowed, what is used, what is left. Pure."""

from collections.abc import Iterator, Sequence

from megtrim.core.build_spec import Variant
from megtrim.core.checks.statuses import CHECK_SIGNS, CheckKind, CheckStatus
from megtrim.core.config.units import OF_SCENARIOS, format_bytes
from megtrim.core.size.rows import BudgetRow
from megtrim.core.verdict.model import Verdict
from megtrim.libs.render.formatting import align_columns, percent, width_of
from megtrim.libs.render.markup import (
    bounded_table,
    code,
    code_in_title,
    fold,
    one_line,
    path_in_repository,
    prose,
)

_HEAD = ("budget", "limits", "used", "limit", "left", "left in %")
_NUMBERS = frozenset(_HEAD[2:])


def markdown(verdict: Verdict) -> Iterator[str]:
    lower = [
        f"- {code(row.name)}: {prose(text)}"
        for row in verdict.budgets
        if (text := describe_lower(row, verdict))
    ]
    if lower:
        hint = "Nothing fails if they stay."
        yield "\n".join(("### Limits that could be lower", "", *lower, "", hint))
    used = [row for row in verdict.budgets if row.measure in OF_SCENARIOS and row.used_bytes]
    reduced = [row for row in used if row.variant == Variant.REDUCED]
    changed = [row for row in reduced if row.kind == CheckKind.GROWTH]
    if changed:
        named = {row.name: f"{prose(row.limit_text)}{row.name_changes(4, code)}" for row in changed}
        lines = (f"- {code(name)}: {text}" for name, text in named.items())
        yield "\n".join(("### Work and memory that changed", "", *lines))
    if verdict.budgets:
        owned = any(row.owner for row in verdict.budgets)
        numbers = (f"{name}>" if name in _NUMBERS else name for name in _HEAD)
        head = (*numbers, "result")
        if owned:
            head = (*head, "owner")
        body = bounded_table(head, verdict.budgets, lambda row: _draw(row)[: len(head)])
        yield fold(_summarize(verdict.budgets), body)


def text(verdict: Verdict) -> str:
    rows = [(one_line(row.name), *_list_cells(row)) for row in verdict.budgets]
    if not rows:
        return ""
    words = [name for name in _HEAD if name not in _NUMBERS]
    lines = ["budgets", *(f"  {line}" for line in align_columns(_HEAD, rows, words))]
    lower = ((row.name, describe_lower(row, verdict)) for row in verdict.budgets)
    lines += (f"  {one_line(name)}: {text}" for name, text in lower if text)
    waived = (row for row in verdict.budgets if row.waiver)
    lines += (f"  {one_line(row.name)}: waived: {one_line(row.waiver)}" for row in waived)
    return "\n".join(lines)


def describe_lower(row: BudgetRow, verdict: Verdict) -> str:
    """Empty: it is low enough."""
    if row.lower_bytes is None:
        return ""
    place = next((check for check in verdict.checks if check.id == row.check_id), None)
    file = path_in_repository(place.file, verdict.invocation.config) if place else ""
    where = f" at {file}:{place.line}" if place else ""
    return f"max could be {format_bytes(row.lower_bytes)} ({row.lower_bytes:,} bytes){where}"


def place_marks(row: BudgetRow) -> tuple[str, str, str]:
    """Return the width of what is used and the places of both limits, in percent; empty: none."""
    limits = (row.max_bytes, row.warn_bytes)
    used = max(row.used_bytes or 0, 0)
    highest = max(limit for limit in (*limits, 0) if limit is not None)
    # Some space beyond the limits shows them as marks, not as the edge of the chart.
    scale = max(used, highest * 26 // 25, 1)
    hard, soft = ("" if limit is None else width_of(limit, scale) for limit in limits)
    return width_of(used, scale), hard, soft


def _list_cells(row: BudgetRow) -> tuple[str, str, str, str, str]:
    limit = row.max_bytes if row.max_bytes is not None else row.warn_bytes
    limits = row.kind if row.max_bytes == limit else f"{row.kind}, warns"
    if limit is None or row.used_bytes is None:
        return limits, row.used_text, "" if limit is None else row.format(limit), "", ""
    left = limit - row.used_bytes
    share = percent(left / limit) if limit else ""
    return limits, row.used_text, row.format(limit), row.format(left), share


def _draw(row: BudgetRow) -> tuple[str, ...]:
    waived = f", waived: {prose(row.waiver)}" if row.waiver else ""
    result = f"{CHECK_SIGNS[row.status]}{waived}"
    return (code(row.name), *_list_cells(row), result, prose(row.owner))


def _find_most_over(rows: Sequence[BudgetRow]) -> str:
    """Name the limit that is exceeded by the largest share; empty if none is."""
    over = [
        row
        for row in rows
        if row.status is CheckStatus.FAIL and row.used_bytes is not None and row.max_bytes
    ]
    if not over:
        return ""
    worst = max(over, key=lambda row: (row.used_bytes or 0) / (row.max_bytes or 1))
    by = worst.format((worst.used_bytes or 0) - (worst.max_bytes or 0))
    limit = "its growth is" if worst.kind is CheckKind.GROWTH else "it is"
    return f"{code_in_title(worst.name)}: {limit} {by} over its limit"


def _summarize(rows: Sequence[BudgetRow]) -> str:
    budgets = {row.name for row in rows if {row.max_bytes, row.warn_bytes} != {None}}
    failed = {row.name for row in rows if row.status is CheckStatus.FAIL}
    count = f"Budgets: {len(budgets) - len(failed)} of {len(budgets)} kept"
    # What is left of another limit would calm down about the one that is exceeded.
    if over := _find_most_over(rows):
        return f"{count}, {over}"
    shares = [
        (row.left_bytes / row.max_bytes, row.left_bytes)
        for row in rows
        if row.kind is CheckKind.SIZE and row.left_bytes is not None and row.max_bytes
    ]
    if not shares:
        return count
    share, left = min(shares)
    if left < 0:
        return f"{count}, the tightest is {format_bytes(-left)} over"
    return f"{count}, the tightest has {format_bytes(left)} ({percent(share)}) left"
