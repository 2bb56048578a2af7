"""Counted work in reports. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from megtrim.build_spec import Variant
from megtrim.counts.work import ITERATIONS, MOST_NAMED, WorkRow
from megtrim.render.formatting import align_columns, group_digits
from megtrim.render.markup import code, one_line, prose

_HEAD = ("scenario", "build", "instructions", "accesses", "change")
_WORDS = ("scenario", "build", "change")


def list_shipped(rows: Iterable[WorkRow]) -> Mapping[str, WorkRow]:
    """By scenario."""
    return {row.scenario: row for row in rows if row.variant == Variant.REDUCED}


def count_iteration(number: int | None) -> str:
    return "" if number is None else group_digits(round(number / ITERATIONS))


def text(rows: Sequence[WorkRow]) -> str:
    cells = (
        (
            *(one_line(row.scenario), row.variant, count_iteration(row.instructions)),
            *(count_iteration(row.accesses), one_line(row.change)),
        )
        for row in rows
    )
    lines = align_columns(_HEAD, cells, _WORDS) if rows else ()
    return "\n".join(["work of an iteration", *(f"  {line}" for line in lines)]) if rows else ""


def markdown(rows: Iterable[WorkRow]) -> str:
    changed = [_name_changes(row) for row in list_shipped(rows).values() if row.changed]
    return "\n".join(("### Work that changed", "", *changed)) if changed else ""


def _name_changes(row: WorkRow) -> str:
    named = [f"{code(each.function)} {each.growth}" for each in row.changed[:MOST_NAMED]]
    more = len(row.changed) - MOST_NAMED
    others = f" and {more} more" if more > 0 else ""
    return f"- {code(row.scenario)} {prose(row.change)} instructions: {', '.join(named)}{others}"
