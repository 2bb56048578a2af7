"""Budgets in reports: of each limit what is allowed, what is used, what is left. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from megtrim.core.build_spec import Variant
from megtrim.core.checks.statuses import CHECK_SIGNS, CheckKind, CheckStatus
from megtrim.core.config.units import OF_SCENARIOS, WORK
from megtrim.core.size.rows import BudgetRow
from megtrim.core.verdict.model import Verdict
from megtrim.libs.render.formatting import percent, width_of
from megtrim.libs.render.markup import (
    code,
    code_in_title,
    fold,
    one_line,
    path_in_repository,
    prose,
)
from megtrim.libs.render.tables import Column, ColumnKind, ReportTable
from megtrim.libs.util.wording import count

_NUMBERS = ("used", "limit", "left", "left in %")
_COLUMNS = (
    Column(title="budget", kind=ColumnKind.NAME),
    Column(title="of"),
    Column(title="result", kind=ColumnKind.STATUS),
    Column(title="limits"),
    *(Column(title=title, kind=ColumnKind.NUMBER) for title in _NUMBERS),
    Column(title="waived"),
    Column(title="owner"),
)
_ROOM_FIRST = (CheckStatus.FAIL, CheckStatus.INFRASTRUCTURE, CheckStatus.INCONCLUSIVE)
_SIGNS = {str(status): sign for status, sign in CHECK_SIGNS.items()}
_BUILDS = {str(Variant.REDUCED): "trimmed", str(Variant.PLAIN): "untrimmed"}


def describe_measured(row: BudgetRow) -> str:
    """Say what a budget is of, such as ``instructions, trimmed``; empty: the trimmed file."""
    build = _BUILDS.get(row.variant, row.variant)
    if row.measure in OF_SCENARIOS:
        measure = "instructions" if row.measure == WORK else row.measure
        return f"{measure}, {build}"
    if row.variant == Variant.REDUCED:
        return row.measure
    return f"{row.measure}, {build}" if row.measure else build


def make_table(rows: Iterable[BudgetRow]) -> ReportTable:
    """Return a row for each limit, those that are exceeded first."""
    ordered = sorted(rows, key=lambda row: row.status not in _ROOM_FIRST)
    return ReportTable(columns=_COLUMNS, rows=tuple(map(_list_cells, ordered)))


def is_compared(row: BudgetRow) -> bool:
    """Tell whether there was anything to check it against."""
    return row.used is not None or row.status is not CheckStatus.SKIPPED


def markdown(verdict: Verdict) -> Iterator[str]:
    lower = [
        f"- {code(row.name)}: {prose(text)}"
        for row in verdict.budgets
        if (text := describe_lower(row, verdict))
    ]
    if lower:
        hint = "Nothing fails if they stay."
        yield "\n".join(("### Limits that could be lower", "", *lower, "", hint))
    used = [row for row in verdict.budgets if row.measure in OF_SCENARIOS and row.used]
    reduced = [row for row in used if row.variant == Variant.REDUCED]
    changed = [row for row in reduced if row.kind == CheckKind.GROWTH]
    if changed:
        lines = (
            f"- {code(row.artifact)} {describe_measured(row)}: {prose(row.limit_text)}"
            f"{row.name_changes(4, code)}"
            for row in changed
        )
        yield "\n".join(("### Instructions and memory that changed", "", *lines))
    if verdict.budgets:
        body = make_table(verdict.budgets).without_empty().render_markdown(_SIGNS)
        yield fold(_summarize(verdict.budgets), body)


def text(verdict: Verdict) -> str:
    if not verdict.budgets:
        return ""
    checked = [row for row in verdict.budgets if is_compared(row)]
    lines = ["budgets"]
    if checked:
        table = make_table(checked).without("waived", "owner").without_empty()
        lines += (f"  {line}" for line in table.list_lines())
    if len(checked) < len(verdict.budgets):
        others = count(len(verdict.budgets) - len(checked), "limit")
        lines.append(f"  {others} of growth not checked: there is no baseline")
    lower = ((row.name, describe_lower(row, verdict)) for row in verdict.budgets)
    lines += (f"  {one_line(name)}: {text}" for name, text in lower if text)
    waived = (row for row in verdict.budgets if row.waiver)
    lines += (f"  {one_line(row.name)}: waived: {one_line(row.waiver)}" for row in waived)
    return "\n".join(lines)


def describe_lower(row: BudgetRow, verdict: Verdict) -> str:
    """Empty: it is low enough."""
    if row.lower_limit is None:
        return ""
    place = next((check for check in verdict.checks if check.id == row.check_id), None)
    file = path_in_repository(place.file, verdict.invocation.config) if place else ""
    where = f" at {file}:{place.line}" if place else ""
    return f"max could be {row.format(row.lower_limit)} ({row.lower_limit:,} bytes){where}"


def place_marks(row: BudgetRow) -> tuple[str, str, str]:
    """Return the width of what is used and the places of both limits, in percent; empty: none."""
    limits = (row.limit, row.soft_limit)
    used = max(row.used or 0, 0)
    highest = max(limit for limit in (*limits, 0) if limit is not None)
    # Some space beyond the limits shows them as marks, not as the edge of the chart.
    scale = max(used, highest * 26 // 25, 1)
    hard, soft = ("" if limit is None else width_of(limit, scale) for limit in limits)
    return width_of(used, scale), hard, soft


def _list_cells(row: BudgetRow) -> tuple[str, ...]:
    limit = row.limit if row.limit is not None else row.soft_limit
    limits = row.kind if row.limit == limit else f"{row.kind}, warns"
    left = ""
    share = ""
    if limit is not None and row.used is not None:
        left = row.format(limit - row.used)
        share = percent((limit - row.used) / limit) if limit else ""
    shown = "" if limit is None else row.format(limit)
    first = (
        row.artifact,
        describe_measured(row),
        str(row.status),
        limits,
        row.used_text,
        shown,
        left,
        share,
    )
    return (*first, row.waiver, row.owner)


def _find_most_over(rows: Sequence[BudgetRow]) -> str:
    """Name the limit that is exceeded by the largest share; empty if none is."""
    over = [
        row for row in rows if row.status is CheckStatus.FAIL and row.used is not None and row.limit
    ]
    if not over:
        return ""
    worst = max(over, key=lambda row: (row.used or 0) / (row.limit or 1))
    by = worst.format((worst.used or 0) - (worst.limit or 0))
    limit = "its growth is" if worst.kind is CheckKind.GROWTH else "it is"
    return f"{code_in_title(worst.name)}: {limit} {by} over its limit"


def _summarize(rows: Sequence[BudgetRow]) -> str:
    budgets = {row.name for row in rows if row.limit is not None or row.soft_limit is not None}
    failed = {row.name for row in rows if row.status is CheckStatus.FAIL}
    kept = f"Budgets: {len(budgets) - len(failed)} of {len(budgets)} kept"
    # What is left of another limit would calm down about the one that is exceeded.
    if over := _find_most_over(rows):
        return f"{kept}, {over}"
    rooms = [
        (row.left / row.limit, row.left, row)
        for row in rows
        if row.kind is CheckKind.SIZE and row.limit and row.left is not None
    ]
    if not rooms:
        return kept
    share, left, row = min(rooms, key=lambda room: room[:2])
    if left < 0:
        return f"{kept}, the tightest is {row.format(-left)} over"
    return f"{kept}, the tightest has {row.format(left)} ({percent(share)}) left"
