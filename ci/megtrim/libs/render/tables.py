"""A table as a value, and its three forms: columns for a terminal, Markdown, and HTML's cells.

Cells are plain text of anyone; each form writes them safely. Pure.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

from megtrim.libs.render.formatting import align_columns
from megtrim.libs.render.markup import bounded_table, code, one_line, prose
from megtrim.libs.util.value import Value


class ColumnKind(StrEnum):
    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    STATUS = "status"


class Column(Value):
    title: str
    kind: ColumnKind = ColumnKind.TEXT


class ReportTable(Value):
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def without(self, *titles: str) -> "ReportTable":
        kept = [n for n, column in enumerate(self.columns) if column.title not in titles]
        return ReportTable(
            columns=tuple(self.columns[n] for n in kept),
            rows=tuple(tuple(row[n] for n in kept) for row in self.rows),
        )

    def without_empty(self) -> "ReportTable":
        """Leave out columns that no row has a value in."""
        empty = (
            column.title
            for n, column in enumerate(self.columns)
            if not any(row[n] for row in self.rows)
        )
        return self.without(*empty)

    def list_lines(self, *, width: int = 0, spare: Collection[str] = ()) -> list[str]:
        """Return lines for a terminal; see :func:`.align_columns`."""
        left = [each.title for each in self.columns if each.kind is not ColumnKind.NUMBER]
        head = tuple(column.title for column in self.columns)
        rows = (tuple(map(one_line, row)) for row in self.rows)
        return align_columns(head, rows, left, width=width, spare=spare)

    def render_markdown(self, signs: Mapping[str, str]) -> str:
        """``signs``: how a status is written."""
        head = [
            f"{each.title}>" if each.kind is ColumnKind.NUMBER else each.title
            for each in self.columns
        ]

        def mark(cell: str, column: Column) -> str:
            if column.kind is ColumnKind.NAME:
                return code(cell)
            if column.kind is ColumnKind.STATUS:
                return signs.get(cell, prose(cell))
            return prose(cell)

        def draw(row: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(map(mark, row, self.columns))

        return bounded_table(head, self.rows, draw)
