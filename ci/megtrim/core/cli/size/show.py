"""``megtrim size show``: what each byte of a file is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from megtrim.core.cli.echo import show, show_json
from megtrim.core.config.units import format_bytes
from megtrim.core.functions.link_map import read_map
from megtrim.core.size.attribution import NameSources
from megtrim.core.size.breakdown import Breakdown, FileSizes, break_down, compare_breakdowns
from megtrim.core.size.byte_table import LabelChange
from megtrim.core.size.views import View
from megtrim.libs.render.formatting import align_columns, group_digits
from megtrim.libs.render.markup import one_line
from megtrim.libs.util.input_files import read_bytes

Row = TypeVar("Row")

_MOST_BYTES = 4 * 1024**3
_EXPECTED = "a program, shared library, object or static archive"
_NUMBERS = frozenset({"bytes", "share", "A", "B", "change"})
_SIZES = (
    ("file", "file_bytes"),
    ("stripped", "stripped_bytes"),
    ("in memory", "memory_bytes"),
    (".text", "text_bytes"),
    ("stripped and deflated", "deflated_bytes"),
)


def read_breakdown(
    path: Path, link_map: Path | None, twin: Path | None, *, deflate: bool
) -> Breakdown:
    names = NameSources(
        origins=read_map(link_map) if link_map else None,
        twin=_read(twin) if twin else None,
        twin_source=str(twin or ""),
    )
    return break_down(_read(path), names, source=str(path), deflate=deflate)


def list_sizes(sizes: FileSizes) -> tuple[tuple[str, int], ...]:
    found = ((name, getattr(sizes, field)) for name, field in _SIZES)
    return tuple((name, size_bytes) for name, size_bytes in found if size_bytes is not None)


def draw_table(
    head: Sequence[str],
    rows: Sequence[Row],
    draw: Callable[[Row], Sequence[str]],
    *,
    top: int,
    whole: str,
    totals: Callable[[Sequence[Row]], Sequence[str]],
) -> str:
    """``whole`` labels the row for all; ``totals`` returns the numbers of several rows."""
    # Names are from files of others, and a terminal would obey what they hold.
    drawn = [tuple(map(one_line, draw(row))) for row in rows[:top]]
    if others := rows[top:]:
        drawn.append(_summary(f"[{group_digits(len(others))} others]", head, totals(others)))
    drawn.append(_summary(whole, head, totals(rows)))
    words = [name for name in head if name not in _NUMBERS]
    return "\n".join(align_columns(head, drawn, words))


def _summary(label: str, head: Sequence[str], cells: Sequence[str]) -> tuple[str, ...]:
    empty = [""] * (len(head) - len(cells) - 1)
    return (*empty, label, *cells)


def _read(path: Path) -> bytes:
    return read_bytes(path, most_bytes=_MOST_BYTES, expected=_EXPECTED)


def _as_data(sizes: FileSizes) -> dict[str, Any]:
    return {field: getattr(sizes, field) for _, field in _SIZES}


_BRIEFLY = (View.SECTION, View.COMPONENT, View.SYMBOL)


def show_file(
    file: Path,
    link_map: Path | None,
    twin: Path | None,
    by: tuple[str, ...],
    top: int,
    deflate: bool,
    as_json: bool,
) -> None:
    found = read_breakdown(file, link_map, twin, deflate=deflate)
    views = tuple(map(View, by))
    if as_json:
        tables = {view: dict(found.totals(view)) for view in views or View}
        show_json({"version": 1, "sizes": _as_data(found.sizes), "bytes_by": tables})
    else:
        show(_text(found, views or _BRIEFLY, top))


def _text(found: Breakdown, views: Sequence[View], top: int) -> str:
    sizes = [
        (name, group_digits(size_bytes), format_bytes(size_bytes))
        for name, size_bytes in list_sizes(found.sizes)
    ]
    head = ("size", "bytes", "")
    tables = ["\n".join(align_columns(head, sizes, ("size",)))]
    tables += (_table(found, view, top) for view in views)
    return "\n\n".join(tables)


def _table(found: Breakdown, view: View, top: int) -> str:
    file_bytes = found.sizes.file_bytes

    def cells(rows: Sequence[tuple[str, int]]) -> tuple[str, str]:
        size_bytes = sum(each for _, each in rows)
        return group_digits(size_bytes), f"{100 * size_bytes / file_bytes:.2f}%"

    return draw_table(
        (view.value, "bytes", "share"),
        found.totals(view),
        lambda row: (row[0], *cells([row])),
        top=top,
        whole="[total]",
        totals=cells,
    )


_COLUMNS = ("A", "B", "change")


def diff(
    first: Path,
    second: Path,
    map_a: Path | None,
    map_b: Path | None,
    twin_a: Path | None,
    twin_b: Path | None,
    top: int,
    deflate: bool,
    as_json: bool,
) -> None:
    before = read_breakdown(first, map_a, twin_a, deflate=deflate)
    after = read_breakdown(second, map_b, twin_b, deflate=deflate)
    if as_json:
        sizes = {"before": _as_data(before.sizes), "after": _as_data(after.sizes)}
        changes = {view: compare_breakdowns(before, after, view) for view in _BRIEFLY}
        show_json({"version": 1, "sizes": sizes, "changes_by": changes})
    else:
        show(_draw_changes(before, after, top))


def _draw_changes(before: Breakdown, after: Breakdown, top: int) -> str:
    pairs = zip(list_sizes(before.sizes), list_sizes(after.sizes), strict=True)
    sizes = [(name, *_numbers(old, new)) for (name, old), (_, new) in pairs]
    head = ("size", *_COLUMNS)
    return "\n\n".join(
        (
            "\n".join(align_columns(head, sizes, ("size",))),
            _draw_changes_by(
                compare_breakdowns(before, after, View.COMPONENT), ("component",), top
            ),
            _draw_changes_by(
                compare_breakdowns(before, after, View.SYMBOL), ("component", "symbol"), top
            ),
        )
    )


def _draw_changes_by(changes: Sequence[LabelChange], labels: tuple[str, ...], top: int) -> str:
    def cells(rows: Sequence[LabelChange]) -> tuple[str, ...]:
        old = sum(row.before for row in rows)
        return _numbers(old, sum(row.after for row in rows))

    return draw_table(
        (*labels, *_COLUMNS),
        changes,
        lambda each: (*(each.component, _label(each))[-len(labels) :], *cells([each])),
        top=top,
        whole="[all changes]",
        totals=cells,
    )


def _numbers(before_bytes: int, after_bytes: int) -> tuple[str, ...]:
    growth_bytes = after_bytes - before_bytes
    change = f"{growth_bytes:+,}" if growth_bytes else "0"
    return group_digits(before_bytes), group_digits(after_bytes), change


def _label(change: LabelChange) -> str:
    return f"{change.label} (was {change.former})" if change.former else change.label
