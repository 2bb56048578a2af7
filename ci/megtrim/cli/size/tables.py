"""What the verbs of ``megtrim size`` share: reading a file with its names, and bounded tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from megtrim.functions.link_map import read_map
from megtrim.input_files import read_bytes
from megtrim.report.formatting import align_columns, group_digits
from megtrim.report.text import one_line
from megtrim.size.attribution import NameSources
from megtrim.size.breakdown import Breakdown, FileSizes, break_down

Row = TypeVar("Row")

_MOST_BYTES = 4 * 1024**3
_EXPECTED = "a program, shared library, object or static archive"
_NUMBERS = frozenset({"bytes", "share", "A", "B", "change", "left out", "kept"})
"""Heads of columns with numbers."""
_SIZES = (
    ("file", "file_bytes"),
    ("stripped", "stripped_bytes"),
    ("in memory", "memory_bytes"),
    (".text", "text_bytes"),
    ("stripped and deflated", "deflated_bytes"),
)
"""Name and field of each size that a file has."""

FILE = click.Path(path_type=Path)

top_option = click.option(
    "--top",
    type=click.IntRange(1, 10_000),
    default=15,
    show_default=True,
    help="Rows of a table; the rest is one row.",
)


deflate_option = click.option(
    "--deflate",
    is_flag=True,
    help="Also deflate the stripped file, as an app package stores it; takes some seconds.",
)


def read_breakdown(
    path: Path, link_map: Path | None, twin: Path | None, *, deflate: bool
) -> Breakdown:
    """Read a file with its link map and its unstripped twin. Raises InputError."""
    names = NameSources(
        origins=read_map(link_map) if link_map else None,
        twin=_read(twin) if twin else None,
        twin_source=str(twin or ""),
    )
    return break_down(_read(path), names, source=str(path), deflate=deflate)


def list_sizes(sizes: FileSizes) -> tuple[tuple[str, int], ...]:
    """Return the name of each size that was measured, and its bytes."""
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
    """Return a table of the first rows, with one row for all others and one for all: ``whole``.

    ``totals`` returns the numbers of a row that stands for several.
    """
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


def as_data(sizes: FileSizes) -> dict[str, Any]:
    """Return the sizes as they are in JSON."""
    return {field: getattr(sizes, field) for _, field in _SIZES}
