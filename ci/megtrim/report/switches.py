"""What each switch of the engine saves: for a terminal, for Markdown, and as cells for the page.

Pure; part of the report room.
"""

from __future__ import annotations

from collections.abc import Sequence

from megtrim.config.units import format_bytes
from megtrim.report.formatting import align_columns, group_digits
from megtrim.report.markup import bounded_table, code, fold, prose
from megtrim.report.text import one_line
from megtrim.verdict.model import SwitchSize

NOT_SHOWN = "-"
HEAD = ("artifact", "build", "bytes", "size", "saved", "% of all-on", "note")
_WORDS = ("artifact", "build", "note")
"""Indices of text columns; the others are numbers."""


def cells(row: SwitchSize) -> tuple[str, ...]:
    """Return the cells for the columns of :data:`HEAD`, as plain text."""
    size, saved, share = row.size_bytes, row.saved_bytes, row.saved_share
    return (
        one_line(row.artifact),
        one_line(row.build),
        NOT_SHOWN if size is None else group_digits(size),
        NOT_SHOWN if size is None else format_bytes(size),
        NOT_SHOWN if saved is None or not row.off else group_digits(saved),
        NOT_SHOWN if share is None or not row.off else f"{share:.2%}",
        one_line(row.note),
    )


def text(rows: Sequence[SwitchSize]) -> str:
    """Return the table for a terminal, without a final newline; empty without rows."""
    if not rows:
        return ""
    return "\n".join(align_columns(HEAD, map(cells, rows), _WORDS))


def markdown(rows: Sequence[SwitchSize]) -> str:
    """Return the folded table."""
    head = tuple(name if name in _WORDS else f"{name}>" for name in HEAD)
    table = bounded_table(head, rows, _render_markdown_row)
    what = "Reduced builds of one keep set, measured and not run; bytes are saved against all-on."
    return fold("What each switch buys", f"{what}\n\n{table}")


def _render_markdown_row(row: SwitchSize) -> tuple[str, ...]:
    artifact, build, *numbers, note = cells(row)
    return (code(artifact), code(build), *numbers, prose(note))
