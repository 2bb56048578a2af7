"""The numbers, words and heads that all tables and pictures of times share. Pure."""

from __future__ import annotations

from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.rows.model import PerformanceRow, TrimmingRow
from megtrim.perf.times import Answer, RatioResult, Reference, StageTime

NOT_SHOWN = "-"

PREPARE_HEAD = "模型配置 prepare (ms)"
WARM_UP_HEAD = "模型预热 warm-up (ms)"
INFERENCE_HEAD = "模型推理 inference (ms)"
"""The columns of the engine's own tables, with English next to them."""

_URGENCY = (
    PerformanceStatus.REGRESSED,
    PerformanceStatus.WRONG_OUTPUTS,
    PerformanceStatus.FAILED,
    PerformanceStatus.INFRASTRUCTURE,
    PerformanceStatus.INCONCLUSIVE,
)


def milliseconds(time_ms: float) -> str:
    """Format a time with at least four digits that count: ``5.213``, ``1,821``."""
    if time_ms >= 1000:
        return f"{time_ms:,.0f}"
    digits = 1 if time_ms >= 100 else 2 if time_ms >= 10 else 3
    return f"{time_ms:.{digits}f}"


def time_with_interval(time: StageTime) -> str:
    """Format a median and its interval: ``5.213 (5.101 to 5.322)``."""
    lower = milliseconds(time.lower_ms)
    ends = (
        f"{lower} or more" if time.upper_ms is None else f"{lower} to {milliseconds(time.upper_ms)}"
    )
    return f"{milliseconds(time.median_ms)} ({ends})"


def ratio_with_interval(ratio: RatioResult) -> str:
    """Format a ratio and its interval: ``0.719 (0.702 to 0.735)``."""
    ends = (
        f"{ratio.lower:.3f} or more"
        if ratio.upper is None
        else f"{ratio.lower:.3f} to {ratio.upper:.3f}"
    )
    return f"{ratio.ratio:.3f} ({ends})"


def direction(ratio: RatioResult) -> str:
    """Return ``faster``, ``slower``, ``no difference``, or ``unproven``."""
    if ratio.different is Answer.INCONCLUSIVE:
        return "unproven"
    if ratio.different is Answer.NO:
        return "no difference"
    return "slower" if ratio.ratio > 1 else "faster"


def find_time(row: PerformanceRow, stage: TimeStage) -> StageTime | None:
    """Return the time of a stage, or None."""
    return next((each for each in row.times if each.stage is stage), None)


def find_ratio(row: PerformanceRow, against: Reference) -> RatioResult | None:
    """Return the ratio to a reference, of inference if there are several; None without one."""
    found = [each for each in row.ratios if each.against is against]
    return next(
        (each for each in found if each.stage is TimeStage.INFERENCE), next(iter(found), None)
    )


def remarks(row: PerformanceRow | TrimmingRow) -> tuple[str, ...]:
    """Return what a reader must know of a row besides its numbers, one line each."""
    left_out = (f"left out: {each.count}, {each.reason}" for each in row.left_out)
    emulated = ("emulated: says nothing about a device",) if row.emulated else ()
    times = row.times if isinstance(row, PerformanceRow) else [v.time for v in row.variants]
    estimated = any(each is not None and each.by_run_length for each in times)
    by_length = ("times from runs of different lengths",) if estimated else ()
    reason = (row.reason,) if row.reason else ()
    return (*emulated, *reason, *by_length, *left_out, *row.conditions)


def urgency(row: PerformanceRow | TrimmingRow) -> int:
    """Return a key that sorts rows that need a person first, and keeps all others together."""
    return _URGENCY.index(row.status) if row.status in _URGENCY else len(_URGENCY)
