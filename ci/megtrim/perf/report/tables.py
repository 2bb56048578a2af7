"""The tables of times: for a terminal, for Markdown, and as values for the page. Pure.

A table for each scenario and class: a row for each experiment, columns as in the engine's own
pages. Names and reasons come from devices and are cleaned here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from megtrim.config.units import format_bytes
from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.report.numbers import (
    INFERENCE_HEAD,
    NOT_SHOWN,
    PREPARE_HEAD,
    WARM_UP_HEAD,
    find_ratio,
    find_time,
    ratio_with_interval,
    remarks,
    time_with_interval,
    urgency,
)
from megtrim.perf.rows.checks import summarize
from megtrim.perf.rows.model import (
    STATUS_WORDS,
    Performance,
    PerformanceRow,
    TrimmingRow,
    check_status,
)
from megtrim.perf.times import RatioResult, Reference, StageTime
from megtrim.render.formatting import align_columns
from megtrim.render.markup import (
    MOST_ROWS,
    bounded_table,
    code,
    code_in_title,
    fold,
    one_line,
    prose,
)

HEAD = (
    "experiment",
    PREPARE_HEAD,
    WARM_UP_HEAD,
    INFERENCE_HEAD,
    "ratio to baseline",
    "ratio to earlier",
    "result",
)
TRIMMING_HEAD = ("scenario", "variant", "size", INFERENCE_HEAD, "ratio to plain", "result")
_WORDS = ("experiment", "scenario", "variant", "result")
"""Text columns; the others are numbers."""
_LONGEST_CELL = 60
_SIGNS = {
    PerformanceStatus.MEASURED: "✅",
    PerformanceStatus.SKIPPED: "◽",
    PerformanceStatus.FAILED: "❌",
    PerformanceStatus.INFRASTRUCTURE: "⚠️",
    PerformanceStatus.INCONCLUSIVE: "❔",
    PerformanceStatus.REGRESSED: "❌",
    PerformanceStatus.WRONG_OUTPUTS: "❌",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCells:
    """One row of a table, as plain text."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]
    """The columns between names and result."""
    answers: tuple[str, ...]
    """Of each comparison, one line: different, over the threshold."""
    processes: str
    """How many there were, and their spread; empty: none."""
    word: str
    chip: str
    """Status that selects colour and icon."""
    sign: str
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeTable:
    """The experiments of one scenario."""

    title: str
    device: str
    lines: tuple[TimeCells, ...]


def tables(performance: Performance) -> tuple[TimeTable, ...]:
    """Return a table for each scenario, in the order of the rows."""
    groups = groupby(performance.rows, key=lambda row: (row.scenario, row.cpu_class))
    return tuple(_table(scenario, tuple(rows), performance) for (scenario, _), rows in groups)


def trimming_lines(performance: Performance) -> tuple[TimeCells, ...]:
    """Return a line for each variant of each row of trimming."""
    return tuple(line for row in performance.trimming for line in _variants(row, performance))


def text(performance: Performance) -> str:
    """Return the tables for a terminal, without a final newline; at most a hundred rows."""
    parts, room = [one_line(summarize(performance))], MOST_ROWS
    for table in tables(performance):
        lines = table.lines[:room]
        room -= len(lines)
        if lines:
            rows = [_terminal_row(line) for line in lines]
            parts.append("\n".join([table.title, *_indent(align_columns(HEAD, rows, _WORDS))]))
    more = len(performance.rows) - MOST_ROWS
    if more > 0:
        parts.append(f"{more:,} more in the HTML report")
    trimming = trimming_lines(performance)[:MOST_ROWS]
    if trimming:
        rows = [_terminal_row(line) for line in trimming]
        shown = align_columns(TRIMMING_HEAD, rows, _WORDS)
        parts.append("\n".join(["what trimming does to speed", *_indent(shown)]))
    return "\n\n".join(parts)


def markdown_summary(performance: Performance) -> str:
    """Return the counts, and the rows that need a person by name, as one short part."""
    urgent = sorted(
        (row for row in performance.all_rows if row.status is not PerformanceStatus.MEASURED),
        key=lambda row: (urgency(row), row.subject),
    )
    lines = [
        f"- {_SIGNS[row.status]} {STATUS_WORDS[row.status]}: {code(row.subject)}"
        for row in urgent[:10]
        if row.status is not PerformanceStatus.SKIPPED
    ]
    return "\n".join((f"**{prose(summarize(performance))}**", *(("", *lines) if lines else ())))


def markdown(performance: Performance) -> Iterator[str]:
    """Yield a folded table for each scenario, and one of trimming."""
    for table in tables(performance):
        head = tuple(name if name in _WORDS else f"{name}>" for name in HEAD)
        body = bounded_table(head, table.lines, _markdown_row)
        yield fold(f"Times: {code_in_title(table.title)}", body)
    lines = trimming_lines(performance)
    if lines:
        head = tuple(name if name in _WORDS else f"{name}>" for name in TRIMMING_HEAD)
        yield fold("What trimming does to speed", bounded_table(head, lines, _markdown_row))


def _table(scenario: str, rows: Sequence[PerformanceRow], performance: Performance) -> TimeTable:
    devices = sorted({row.device for row in rows if row.device})
    return TimeTable(
        title=one_line(scenario),
        device=one_line(", ".join(devices)),
        lines=tuple(_line(row, performance) for row in rows),
    )


def _line(row: PerformanceRow, performance: Performance) -> TimeCells:
    warm_ups = (find_time(row, stage) for stage in (TimeStage.WARM_UP, TimeStage.SECOND_WARM_UP))
    shown = " / ".join(time_with_interval(each) for each in warm_ups if each)
    numbers = (
        _time(find_time(row, TimeStage.PREPARE)),
        shown or NOT_SHOWN,
        _time(find_time(row, TimeStage.INFERENCE)),
        _ratio(find_ratio(row, Reference.BASELINE)),
        _ratio(find_ratio(row, Reference.BASE)),
    )
    return _cells(row, (one_line(row.experiment),), numbers, row.times, row.ratios, performance)


def _variants(row: TrimmingRow, performance: Performance) -> Iterator[TimeCells]:
    for each in row.variants:
        numbers = (format_bytes(each.size_bytes), _time(each.time), _ratio(each.ratio))
        names = (one_line(row.scenario), one_line(each.variant))
        times = (each.time,) if each.time else ()
        ratios = (each.ratio,) if each.ratio else ()
        yield _cells(row, names, numbers, times, ratios, performance)


def _cells(
    row: PerformanceRow | TrimmingRow,
    names: tuple[str, ...],
    numbers: tuple[str, ...],
    times: Sequence[StageTime],
    ratios: Sequence[RatioResult],
    performance: Performance,
) -> TimeCells:
    last = times[-1] if times else None
    return TimeCells(
        names=names,
        numbers=numbers,
        answers=tuple(
            f"{each.stage} against {one_line(each.name) or each.against}: "
            f"different: {each.different}, over the threshold: {each.exceeds}"
            for each in ratios
        ),
        processes=f"{last.processes} processes, spread {last.spread:.1%}" if last else "",
        word=STATUS_WORDS[row.status],
        chip=str(check_status(row.status, performance.inconclusive)),
        sign=_SIGNS[row.status],
        remarks=tuple(one_line(each) for each in remarks(row)),
    )


def _time(time: StageTime | None) -> str:
    return NOT_SHOWN if time is None else time_with_interval(time)


def _ratio(ratio: RatioResult | None) -> str:
    return NOT_SHOWN if ratio is None else ratio_with_interval(ratio)


def _result(line: TimeCells) -> str:
    return ": ".join((line.word, "; ".join(line.remarks))) if line.remarks else line.word


def _terminal_row(line: TimeCells) -> tuple[str, ...]:
    names = (one_line(name, limit=_LONGEST_CELL) for name in line.names)
    return (*names, *line.numbers, one_line(_result(line), limit=2 * _LONGEST_CELL))


def _markdown_row(line: TimeCells) -> tuple[str, ...]:
    return (*map(code, line.names), *line.numbers, f"{line.sign} {prose(_result(line))}")


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
