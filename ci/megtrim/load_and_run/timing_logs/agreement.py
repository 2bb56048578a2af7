"""Whether a test's iterations agree with the program's own summary, within rounding.

The program computes with unrounded times and prints three decimals. So minimum and maximum are
equal, and the other figures lie within bounds that follow from rounding alone: no correct log is
refused. Pure.
"""

from __future__ import annotations

import math

import numpy as np

from megtrim.load_and_run.timing_logs.iterations import Integers
from megtrim.load_and_run.timing_logs.lines import Summary

_HALF_MS = 0.000501
"""Half of the last decimal; a little more, for numbers that are not exact in binary."""
_EPSILON = 2.0**-53
_WORD = 2**32


def find_disagreement(whole_us: Integers, summary: Summary) -> str | None:
    """Return the first figure that differs, with both values; None if all agree."""
    count = len(whole_us)
    total_ms = int(whole_us.sum()) / 1000
    average_ms = summary.total_ms / count
    compared = (
        ("time", summary.total_ms, total_ms, _HALF_MS * (count + 1)),
        ("avg_time", summary.average_ms, average_ms, _HALF_MS * (1 + 1 / count)),
        ("min", summary.minimum_ms, int(whole_us.min()) / 1000, 0.0),
        ("max", summary.maximum_ms, int(whole_us.max()) / 1000, 0.0),
    )
    for name, printed, computed, allowed in compared:
        if abs(printed - computed) > allowed + 8 * _EPSILON * computed:
            return f"{name}={printed:.3f} ms, where the iterations have {computed:.3f} ms"
    if not _is_deviation(summary.deviation_ms, whole_us):
        computed = float(np.std(whole_us, ddof=1)) / 1000 if count > 1 else math.nan
        return (
            f"a standard deviation of {summary.deviation_ms:.3f} ms, "
            f"where the iterations have {computed:.3f} ms"
        )
    return None


def is_average(average_ms: float, whole_us: Integers) -> bool:
    """Return whether an average that includes the time of printing can be that of iterations."""
    return average_ms >= float(whole_us.mean()) / 1000 - 2 * _HALF_MS


def is_total(total_ms: float, summaries: list[Summary]) -> bool:
    """Return whether it is the total of all tests."""
    computed = math.fsum(each.total_ms for each in summaries)
    return abs(total_ms - computed) <= _HALF_MS * (len(summaries) + 1)


def _is_deviation(printed_ms: float, whole_us: Integers) -> bool:
    """Return whether the program can print this as the standard deviation.

    It is sqrt((n * sum of squares - square of sum) / (n * (n - 1))): nothing is left of it after
    one iteration, and where all times are nearly equal the difference can be negative. The
    denominator is a whole number of 32 bits in some builds, which wraps from 46342 iterations on.
    """
    count = len(whole_us)
    if count == 1:
        return not math.isfinite(printed_ms) or printed_ms == 0
    times_ms = whole_us / 1000
    deviation_ms = float(np.std(times_ms, ddof=1))
    squares = float(np.dot(times_ms, times_ms))
    rounding_ms = _HALF_MS * math.sqrt(count / (count - 1))
    cancelled = 4 * (count + 1) * _EPSILON * squares / (count - 1)
    lowest = max(deviation_ms - rounding_ms, 0) ** 2 - cancelled
    highest = (deviation_ms + rounding_ms) ** 2 + cancelled
    return any(
        _is_root(printed_ms, lowest * share, highest * share) for share in _denominators(count)
    )


def _denominators(count: int) -> list[float]:
    """Return n * (n - 1) over what builds with fewer bits make of it."""
    exact = count * (count - 1)
    low = exact % _WORD
    wrapped = {low, low - _WORD} if exact >= _WORD // 2 else set()
    return [1.0, *(exact / each for each in sorted(wrapped) if each)]


def _is_root(printed_ms: float, lowest: float, highest: float) -> bool:
    lowest, highest = min(lowest, highest), max(lowest, highest)
    if not math.isfinite(printed_ms):
        return math.isnan(printed_ms) and lowest <= 0
    if highest < 0:
        return False
    root = math.sqrt(max(lowest, 0.0)) - _HALF_MS, math.sqrt(highest) + _HALF_MS
    return root[0] <= printed_ms <= root[1]
