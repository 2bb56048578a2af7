"""Neighbours of a scenario: how each ended on each level of trimming. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby

from megtrim.core.chain.stage_result import StageResult
from megtrim.libs.render.formatting import align_columns
from megtrim.libs.render.markup import bounded_table, code, fold, one_line, prose
from megtrim.libs.util.value import Value


class NeighbourOutcome(StrEnum):
    SAME = "same"
    """The plain build's outputs; if an error is expected, its message and exit status."""
    REFUSED = "refused"
    """It printed an error message, but not the plain build's."""
    TRAPPED = "trapped"
    DIFFERS = "differs"
    CRASHED = "crashed"
    """Ended by another signal, or without a message."""
    HANGS = "hangs"


class NeighbourLevel(Value):
    level: str
    outcome: NeighbourOutcome
    works: bool
    """The same as plain; if an error is expected, any message counts."""
    text: str
    needs: tuple[str, ...] = ()
    """What was missing at a trap: regions, or a function."""
    time_s: float


class NeighbourResult(Value):
    scenario: str
    name: str
    kind: str
    what: str
    text: str
    levels: tuple[NeighbourLevel, ...]
    """The shipped one last; none if the plain build cannot run it: it does not apply."""

    @property
    def works(self) -> bool:
        return bool(self.levels) and self.levels[-1].works


NOT_APPLICABLE = "-"
_WORDS = {
    NeighbourOutcome.SAME: "works",
    NeighbourOutcome.REFUSED: "refuses",
    NeighbourOutcome.TRAPPED: "traps",
    NeighbourOutcome.DIFFERS: "differs",
    NeighbourOutcome.CRASHED: "crashes",
    NeighbourOutcome.HANGS: "hangs",
}
_SIGNS = {True: "✅", False: "❌"}
_WHAT = (
    "Each runs on the plain build first, and what it does there is what is expected: the same "
    "outputs, or of a complaint its words. None was traced."
)


class Cell(Value):
    level: str
    status: str
    word: str
    text: str
    needs: tuple[str, ...]


class Line(Value):
    name: str
    what: str
    plain: str
    cells: tuple[Cell, ...]


class Matrix(Value):
    scenario: str
    levels: tuple[str, ...]
    counts: tuple[str, ...]
    shares: tuple[str, ...]
    lines: tuple[Line, ...]


def count_working(rows: Sequence[NeighbourResult]) -> str:
    return f"{sum(row.works for row in rows)} of {sum(bool(row.levels) for row in rows)}"


class NeighbourRunResult(StageResult):
    neighbour: NeighbourResult


class NeighboursResult(StageResult):
    scenario: str
    neighbours: tuple[NeighbourResult, ...]


def matrices(rows: Sequence[NeighbourResult]) -> tuple[Matrix, ...]:
    groups = ((key, tuple(group)) for key, group in groupby(rows, lambda row: row.scenario))
    return tuple(_matrix(scenario, group) for scenario, group in groups)


def text(rows: Sequence[NeighbourResult]) -> str:
    parts = []
    for matrix in matrices(rows):
        head = ("neighbour", "what differs", *matrix.levels)
        table = [
            (line.name, line.what, *(cell.word for cell in line.cells)) for line in matrix.lines
        ]
        counts = ("", "work, of those that apply", *matrix.counts)
        lines = align_columns(head, [*table, counts], head)
        parts.append("\n".join([one_line(matrix.scenario), *(f"  {line}" for line in lines)]))
    return "\n\n".join(parts)


def markdown(rows: Sequence[NeighbourResult]) -> str:
    parts = [_WHAT]
    for matrix in matrices(rows):
        levels = tuple(map(code, matrix.levels))
        head = ("neighbour", "what differs", *levels)
        pairs = zip(levels, matrix.counts, strict=True)
        counts = ", ".join(f"{level} {count}" for level, count in pairs)
        table = bounded_table(head, matrix.lines, _render_markdown_row)
        parts.append(f"{code(matrix.scenario)}: {counts or 'none applies'}\n\n{table}")
    return fold(f"Neighbours: {count_working(rows)} work", "\n\n".join(parts))


def _matrix(scenario: str, rows: tuple[NeighbourResult, ...]) -> Matrix:
    applying = [row.levels for row in rows if row.levels]
    levels = tuple(level.level for level in applying[0]) if applying else ()
    counts = []
    shares = []
    for at in range(len(levels)):
        working = sum(row[at].works for row in applying)
        counts.append(f"{working} of {len(applying)}")
        shares.append(f"{100 * working / len(applying):.1f}%")
    return Matrix(
        scenario=scenario,
        levels=tuple(map(one_line, levels)),
        counts=tuple(counts),
        shares=tuple(shares),
        lines=tuple(_row(row, levels) for row in rows),
    )


def _row(row: NeighbourResult, levels: tuple[str, ...]) -> Line:
    absent = (
        Cell(level=level, status="skipped", word=NOT_APPLICABLE, text="", needs=())
        for level in levels
    )
    return Line(
        name=one_line(row.name),
        what=one_line(row.what),
        plain=one_line(row.text),
        cells=tuple(map(_cell, row.levels)) or tuple(absent),
    )


def _cell(level: NeighbourLevel) -> Cell:
    return Cell(
        level=one_line(level.level),
        status="pass" if level.works else "fail",
        word=_WORDS[level.outcome],
        text=one_line(level.text),
        needs=tuple(one_line(need) for need in level.needs),
    )


def _render_markdown_row(line: Line) -> tuple[str, ...]:
    cells = (
        cell.word if cell.status == "skipped" else f"{_SIGNS[cell.status == 'pass']} {cell.word}"
        for cell in line.cells
    )
    return (code(line.name), prose(line.what), *cells)
