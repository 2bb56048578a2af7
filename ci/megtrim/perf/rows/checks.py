"""The latency checks: one for each row of times. Pure.

A time is never a pass by default: what was not decided is *unproven*, and a fast run with wrong
outputs is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from megtrim.checks.check import Check
from megtrim.checks.invocation import LOOK_AT_DEVICE
from megtrim.checks.statuses import CheckKind, CheckStatus
from megtrim.config.problems import Place
from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.experiments.table import EXPERIMENTS
from megtrim.perf.rows.model import (
    STATUS_WORDS,
    Performance,
    PerformanceRow,
    Row,
    check_status,
)
from megtrim.perf.times import Reference, ratio_with_interval

_HINTS: Mapping[PerformanceStatus, str] = {
    PerformanceStatus.REGRESSED: (
        "look at the changes between the two programs; perf.threshold allows a change "
        "that you accept"
    ),
    PerformanceStatus.WRONG_OUTPUTS: (
        "do not use these flags for this model; compare its outputs with the baseline's"
    ),
    PerformanceStatus.FAILED: "look at the engine's message: the flags may not fit this model",
    PerformanceStatus.INFRASTRUCTURE: LOOK_AT_DEVICE,
    PerformanceStatus.INCONCLUSIVE: (
        "give it more time (perf.budget), a quieter device, or a larger perf.threshold"
    ),
}

_SEARCHES = (
    "each of its processes searches, so they are few: measure an experiment that searches once "
    "and then reads a cache or a dumped model"
)


def performance_checks(
    performance: Performance, *, start: Place, places: Mapping[str, Place]
) -> Iterator[Check]:
    for row in performance.all_rows:
        place = places.get(row.scenario, start)
        status = check_status(row.status, performance.inconclusive)
        urgent = status not in (CheckStatus.PASS, CheckStatus.SKIPPED)
        yield Check(
            id=f"{CheckKind.LATENCY}:{row.subject}",
            kind=CheckKind.LATENCY,
            subject=row.subject,
            status=status,
            text=_text(row),
            detail="\n".join(_detail(row)) if urgent else "",
            hint=_find_hint(row),
            time_s=row.time_s,
            file=place.file,
            line=place.line,
            reproduce=row.reproduce,
        )


def _find_hint(row: Row) -> str:
    if row.status is PerformanceStatus.INCONCLUSIVE and isinstance(row, PerformanceRow):
        searching = (each.name for each in EXPERIMENTS if each.measured.searches)
        if row.experiment in searching:
            return _SEARCHES
    return _HINTS.get(row.status, "")


def summarize(performance: Performance) -> str:
    """Write ``times: 12 measured, 1 regressed``."""
    found = [row.status for row in performance.all_rows]
    counts = [
        f"{found.count(each)} {STATUS_WORDS[each]}" for each in PerformanceStatus if each in found
    ]
    return f"times: {', '.join(counts) or 'none'}"


def _text(row: Row) -> str:
    match row.status:
        case PerformanceStatus.WRONG_OUTPUTS:
            return f"wrong outputs, so its times do not count: {row.reason}"
        case PerformanceStatus.REGRESSED:
            return f"slower by more than the threshold: {_numbers(row)}"
        case PerformanceStatus.INCONCLUSIVE:
            return f"unproven: {row.reason or 'the budget ended first'}; {_numbers(row)}"
        case PerformanceStatus.MEASURED:
            return _numbers(row)
        case _:
            return row.reason


def _numbers(row: Row) -> str:
    times = row.named_times
    if isinstance(row, PerformanceRow):
        shown = [each for each in times if each[1].stage is TimeStage.INFERENCE] or times[-1:]
        # What counts comes first: a check is about the earlier program, where there is one.
        ordered = sorted(row.named_ratios, key=lambda each: each[1].against is Reference.BASELINE)
    else:
        shown, ordered = list(times), list(row.named_ratios)
    parts = [f"{name} {each.median_ms:.4g} ms" for name, each in shown]
    parts += [f"ratio to {name} {ratio_with_interval(each)}" for name, each in ordered]
    return ", ".join((*(("emulated",) * row.emulated), *parts))


def _detail(row: Row) -> Iterator[str]:
    yield f"device: {row.device or 'none'}{', emulated' if row.emulated else ''}"
    for name, each in row.named_times:
        upper = "no upper end" if each.upper_ms is None else f"{each.upper_ms:.4g} ms"
        interval = f"interval {each.lower_ms:.4g} ms to {upper}"
        processes = f"{each.processes} processes, spread {each.spread:.1%}"
        yield f"{name}: {each.median_ms:.4g} ms, {interval}, {processes}"
    for name, ratio in row.named_ratios:
        answers = f"different: {ratio.different}, over the threshold: {ratio.exceeds}"
        seen = f"ratio {ratio_with_interval(ratio)}, {ratio.pairs} pairs"
        yield f"{ratio.stage} against {name}: {seen}; {answers}"
    yield from (f"left out: {each.count} samples, {each.reason}" for each in row.left_out)
    yield from row.conditions
