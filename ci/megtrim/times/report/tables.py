"""The tables of times: for a terminal, for Markdown, as values for the page, and for JUnit.

Names and reasons come from devices and are cleaned here.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from megtrim.core.config.units import format_bytes
from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, RatioResult, Reference, StageTime, ratio_with_interval
from megtrim.core.verdict.performance import (
    STATUS_WORDS,
    Performance,
    PerformanceRow,
    Row,
    TrimmingRow,
    check_status,
    summarize,
)
from megtrim.libs.render.formatting import align_columns, milliseconds
from megtrim.libs.render.markup import (
    MOST_ROWS,
    bounded_table,
    code,
    code_in_title,
    fold,
    one_line,
    prose,
)
from megtrim.libs.util.value import Value

NOT_SHOWN = "-"
PROPERTIES_LIMIT = 2 * 1024 * 1024
"""Bytes of all names and values, escaped at worst. Later rows are omitted as a whole."""
_TAGS_BYTES = 40
_WORST_ESCAPE = 6
"""Bytes that one byte of text becomes at most (``&quot;``)."""

PREPARE_HEAD = "prepare (ms)"
WARM_UP_HEAD = "warm-up (ms)"
INFERENCE_HEAD = "inference (ms)"
WHOLE_HEAD = "whole run (ms)"

_URGENCY = (
    PerformanceStatus.REGRESSED,
    PerformanceStatus.WRONG_OUTPUTS,
    PerformanceStatus.FAILED,
    PerformanceStatus.INFRASTRUCTURE,
    PerformanceStatus.INCONCLUSIVE,
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
HEAD_OF_COMMANDS = ("experiment", WHOLE_HEAD, "ratio to earlier", "result")
_TRIMMING_TITLE = "What trimming does to speed"
_WORDS = ("experiment", "scenario", "variant", "result")
_SPARE = ("ratio to earlier", PREPARE_HEAD, WARM_UP_HEAD, "size")
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


_OVER = {
    Answer.YES: ", more than the threshold",
    Answer.NO: ", within the threshold",
    Answer.INCONCLUSIVE: ", whether it is more than the threshold is unproven",
}


class TimeCells(Value):
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    answers: tuple[str, ...]
    processes: str
    word: str
    chip: str
    sign: str
    remarks: tuple[str, ...]


class TimeTable(Value):
    title: str
    device: str
    head: tuple[str, ...]
    lines: tuple[TimeCells, ...]


def tables(performance: Performance) -> tuple[TimeTable, ...]:
    groups = groupby(performance.rows, key=lambda row: (row.scenario, row.cpu_class))
    found = []
    for (scenario, _), of_scenario in groups:
        rows = tuple(of_scenario)
        devices = sorted({row.device for row in rows if row.device})
        table = TimeTable(
            title=one_line(scenario),
            device=one_line(", ".join(devices)),
            head=HEAD_OF_COMMANDS if rows[0].whole else HEAD,
            lines=tuple(_line(row, performance) for row in rows),
        )
        found.append(table)
    return tuple(found)


def trimming_tables(performance: Performance) -> tuple[TimeTable, ...]:
    """Return one for models and one for commands, as far as there are any."""
    found = []
    for whole in (False, True):
        rows = [row for row in performance.trimming if row.whole is whole]
        lines = tuple(line for row in rows for line in _variants(row, performance))
        measured = WHOLE_HEAD if whole else INFERENCE_HEAD
        head = ("scenario", "variant", "size", measured, "ratio to plain", "result")
        if lines:
            found.append(TimeTable(title=_TRIMMING_TITLE, device="", head=head, lines=lines))
    return tuple(found)


def text(performance: Performance, *, width: int = 0) -> str:
    width = max(0, width - 2)
    parts = [one_line(summarize(performance))]
    room = MOST_ROWS
    for table in tables(performance):
        lines = table.lines[:room]
        room -= len(lines)
        if lines:
            rows = [_terminal_row(line) for line in lines]
            shown = align_columns(table.head, rows, _WORDS, width=width, spare=_SPARE)
            parts.append("\n  ".join([table.title, *shown]))
    more = len(performance.rows) - MOST_ROWS
    if more > 0:
        parts.append(f"{more:,} more in the HTML report")
    for table in trimming_tables(performance):
        rows = [_terminal_row(line) for line in table.lines[:MOST_ROWS]]
        shown = align_columns(table.head, rows, _WORDS, width=width, spare=_SPARE)
        parts.append("\n  ".join(["what trimming does to speed", *shown]))
    return "\n\n".join(parts)


def markdown_summary(performance: Performance) -> str:
    urgent = sorted(
        (row for row in performance.all_rows if row.status in _URGENCY),
        key=lambda row: (_URGENCY.index(row.status), row.subject),
    )
    lines = [
        f"- {_SIGNS[row.status]} {STATUS_WORDS[row.status]}: {code(row.subject)}"
        for row in urgent[:10]
    ]
    title = f"**{prose(summarize(performance))}**"
    return "\n".join((title, "", *lines)) if lines else title


def markdown(performance: Performance) -> Iterator[str]:
    for table in tables(performance):
        body = bounded_table(_markdown_head(table), table.lines, _markdown_row)
        yield fold(f"Times: {code_in_title(table.title)}", body)
    for table in trimming_tables(performance):
        body = bounded_table(_markdown_head(table), table.lines, _markdown_row)
        yield fold(table.title, body)


def _markdown_head(table: TimeTable) -> tuple[str, ...]:
    return tuple(name if name in _WORDS else f"{name}>" for name in table.head)


def _line(row: PerformanceRow, performance: Performance) -> TimeCells:
    names = (one_line(row.experiment),)
    if row.whole:
        numbers = (
            _show(find_time(row, TimeStage.WHOLE_RUN)),
            _show(find_ratio(row, Reference.BASE)),
        )
        return _cells(row, names, numbers, row.times, row.ratios, performance)
    warm_ups = (find_time(row, stage) for stage in (TimeStage.WARM_UP, TimeStage.SECOND_WARM_UP))
    shown = " / ".join(time_with_interval(each) for each in warm_ups if each)
    stepped = (
        _show(find_time(row, TimeStage.PREPARE)),
        shown or NOT_SHOWN,
        _show(find_time(row, TimeStage.INFERENCE)),
        _show(find_ratio(row, Reference.BASELINE)),
        _show(find_ratio(row, Reference.BASE)),
    )
    return _cells(row, names, stepped, row.times, row.ratios, performance)


def _variants(row: TrimmingRow, performance: Performance) -> Iterator[TimeCells]:
    for variant in row.variants:
        numbers = (format_bytes(variant.size_bytes), _show(variant.time), _show(variant.ratio))
        names = (one_line(row.scenario), one_line(variant.variant))
        times = (variant.time,) if variant.time else ()
        ratios = (variant.ratio,) if variant.ratio else ()
        yield _cells(row, names, numbers, times, ratios, performance)


def _cells(
    row: Row,
    names: tuple[str, ...],
    numbers: tuple[str, ...],
    times: Sequence[StageTime],
    ratios: Sequence[RatioResult],
    performance: Performance,
) -> TimeCells:
    processes = ""
    if times:
        processes = f"{times[-1].processes} processes, spread {times[-1].spread:.1%}"
    answers = []
    for ratio in ratios:
        subject = f"{ratio.stage.label} against {one_line(ratio.name) or ratio.against}"
        over = _OVER[ratio.exceeds] if ratio.different is not Answer.NO else ""
        answers.append(f"{subject}: {direction(ratio)}{over}")
    return TimeCells(
        names=names,
        numbers=numbers,
        answers=tuple(answers),
        processes=processes,
        word=STATUS_WORDS[row.status],
        chip=str(check_status(row.status, performance.inconclusive)),
        sign=_SIGNS[row.status],
        remarks=tuple(one_line(remark) for remark in remarks(row)),
    )


def _show(value: StageTime | RatioResult | None) -> str:
    if isinstance(value, RatioResult):
        return ratio_with_interval(value)
    return NOT_SHOWN if value is None else time_with_interval(value)


def _result(line: TimeCells) -> str:
    return ": ".join((line.word, "; ".join(line.remarks))) if line.remarks else line.word


def _terminal_row(line: TimeCells) -> tuple[str, ...]:
    names = (one_line(name, limit=_LONGEST_CELL) for name in line.names)
    return (*names, *line.numbers, one_line(_result(line), limit=2 * _LONGEST_CELL))


def _markdown_row(line: TimeCells) -> tuple[str, ...]:
    return (*map(code, line.names), *line.numbers, f"{line.sign} {prose(_result(line))}")


def time_with_interval(time: StageTime) -> str:
    lower = milliseconds(time.lower_ms)
    ends = (
        f"{lower} or more" if time.upper_ms is None else f"{lower} to {milliseconds(time.upper_ms)}"
    )
    return f"{milliseconds(time.median_ms)} ({ends})"


def direction(ratio: RatioResult) -> str:
    """Say it in words: ``25% faster``, ``5.1% slower``."""
    if ratio.different is Answer.INCONCLUSIVE:
        return "unproven"
    if ratio.different is Answer.NO:
        return "no difference"
    return f"{100 * abs(ratio.ratio - 1):.3g}% {'slower' if ratio.ratio > 1 else 'faster'}"


def find_time(row: PerformanceRow, stage: TimeStage) -> StageTime | None:
    return next((time_s for time_s in row.times if time_s.stage is stage), None)


def find_ratio(row: PerformanceRow, against: Reference) -> RatioResult | None:
    found = [ratio for ratio in row.ratios if ratio.against is against]
    return next((each for each in found if each.stage.decides), next(iter(found), None))


def remarks(row: Row) -> tuple[str, ...]:
    left_out = (f"left out: {each.count}, {each.reason}" for each in row.left_out)
    emulated = ("emulated: this tells you nothing about a device",) if row.emulated else ()
    estimated = any(each.by_run_length for _, each in row.named_times)
    by_length = ("times from runs of different lengths",) if estimated else ()
    reason = (row.reason,) if row.reason else ()
    return (*emulated, *reason, *by_length, *left_out, *row.conditions)


def properties(performance: Performance) -> dict[str, str]:
    found: dict[str, str] = {}
    room = PROPERTIES_LIMIT
    for row in performance.all_rows:
        subject = one_line(row.subject)
        values = {f"{subject}.status": str(row.status)}
        for name, time in row.named_times:
            prefix = f"{subject}.{one_line(name)}"
            values[f"{prefix}.median_ms"] = f"{time.median_ms:.6g}"
            values[f"{prefix}.lower_ms"] = f"{time.lower_ms:.6g}"
            values[f"{prefix}.upper_ms"] = _show_bound(time.upper_ms)
            values[f"{prefix}.processes"] = str(time.processes)
            values[f"{prefix}.spread"] = f"{time.spread:.4g}"
        for name, ratio in row.named_ratios:
            prefix = f"{subject}.{ratio.stage.label}.against {one_line(name)}"
            values[f"{prefix}.ratio"] = f"{ratio.ratio:.6g}"
            values[f"{prefix}.lower"] = f"{ratio.lower:.6g}"
            values[f"{prefix}.upper"] = _show_bound(ratio.upper)
            values[f"{prefix}.different"] = str(ratio.different)
            values[f"{prefix}.exceeds"] = str(ratio.exceeds)
        texts = (f"{name}{value}" for name, value in values.items())
        room -= sum(_WORST_ESCAPE * len(text.encode()) + _TAGS_BYTES for text in texts)
        if room < 0:
            break
        found |= values
    return found


def _show_bound(bound: float | None) -> str:
    return "" if bound is None else f"{bound:.6g}"
