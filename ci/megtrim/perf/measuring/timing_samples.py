"""From one process to its sample: the times in its log, or how long it took, and what marks them.

A program without a log is timed by two runs of different lengths, whose difference is iterations
alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from megtrim.experiments.contest import Mark, Sample
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.load_and_run.telemetry import Conditions
from megtrim.load_and_run.timing_log import DamagedLog, TimingLog, read_timing_log
from megtrim.perf.schedule import Turn

_SHORTEST_MS = 0.0005
"""What a log shows as 0.000."""


def read_times(run: ProgramRun, *, source: str, iterations: int, warmups: int) -> TimingLog | None:
    """Read the log of one process; None if it has none. Raises DamagedLog."""
    # The older program prints on one stream, the newer one on the other.
    text = f"{run.stdout}{run.stderr}"
    return read_timing_log(text, source=source, iterations=iterations, warmups=warmups)


def make_sample(
    turn: Turn, run: ProgramRun, *, iterations: int, warmups: int, other_load: float
) -> Sample:
    """Return the sample of a process by its log; one whose log is damaged has no times.

    ``other_load``: the share of the CPUs above which other programs disturb it.
    """
    marks = list_marks([run], other_load=other_load)
    try:
        log = read_times(run, source=turn.contestant, iterations=iterations, warmups=warmups)
    except DamagedLog:
        log = None
    if log is None:
        return _make(turn, marks=(*marks, Mark.DAMAGED_LOG))
    return _make(
        turn,
        prepare_ms=next(iter(_lengthen(log.prepare_ms)), None),
        warm_ups_ms=_lengthen(log.warmups_ms),
        iterations_ms=_lengthen(log.iterations_ms),
        marks=marks,
    )


def make_sample_by_length(
    turn: Turn, runs: tuple[ProgramRun, ProgramRun], short: int, long: int, *, other_load: float
) -> Sample:
    """Return the sample of two processes with ``short`` and ``long`` iterations.

    It has no time if the longer one did not take longer.
    """
    took_ms = 1000 * (runs[1].wall_s - runs[0].wall_s) / (long - short)
    marks = list_marks(runs, other_load=other_load)
    return _make(turn, iterations_ms=(took_ms,) if took_ms > 0 else (), marks=marks)


def _make(
    turn: Turn,
    *,
    prepare_ms: float | None = None,
    warm_ups_ms: tuple[float, ...] = (),
    iterations_ms: tuple[float, ...] = (),
    marks: tuple[Mark, ...],
) -> Sample:
    return Sample(
        contestant=turn.contestant,
        round_number=turn.round_number,
        position=turn.position,
        prepare_ms=prepare_ms,
        warm_ups_ms=warm_ups_ms,
        iterations_ms=iterations_ms,
        marks=marks,
    )


def list_marks(runs: Iterable[ProgramRun], *, other_load: float) -> tuple[Mark, ...]:
    """Return why the times of these processes do not count; empty if they do."""
    every = tuple(runs)
    found = {mark for run in every if run.conditions for mark in _marks_of(run.conditions)}
    found |= {Mark.BUSY for run in every if was_busy(run, other_load)}
    return tuple(mark for mark in Mark if mark in found)


def was_busy(run: ProgramRun, other_load: float) -> bool:
    """Return whether other programs took more of the CPUs than they may; not known: no."""
    return run.other_load is not None and run.other_load > other_load


def _marks_of(conditions: Conditions) -> tuple[Mark, ...]:
    if not conditions.invalid:
        return ()
    low = conditions.before.low_battery or conditions.after.low_battery
    throttled = conditions.before.throttled or conditions.after.throttled
    # A temperature that was not reached, or a governor that changed, is a clock rate like any.
    return (Mark.LOW_BATTERY,) if low and not throttled else (Mark.THROTTLED,)


def _lengthen(times_ms: Iterable[float]) -> tuple[float, ...]:
    return tuple(max(each, _SHORTEST_MS) for each in times_ms)
