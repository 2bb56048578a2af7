"""Entries of the history, made up for tests: runs with their times, and sizes of commits."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from megtrim.core.size.history import CommitSizes, FileSize
from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import StageTime
from megtrim.core.verdict.performance import PerformanceRow
from megtrim.libs.history.entries import show_time
from megtrim.times.nights.history import HistoryRun, MeasuredCommit

SCENARIO = "mobilenet/plain-run@armv82"
FIRST_NIGHT = datetime(2026, 1, 1, 2, 0, 0, tzinfo=UTC)


def make_row(
    median_ms: float = 40.0,
    *,
    scenario: str = SCENARIO,
    experiment: str = "reduced",
    stage: TimeStage = TimeStage.INFERENCE,
    interval: float = 0.01,
) -> PerformanceRow:
    """Return a row that was measured; its interval is so much on both sides, as a share."""
    time = StageTime(
        stage=stage,
        processes=12,
        median_ms=median_ms,
        lower_ms=median_ms * (1 - interval),
        upper_ms=median_ms * (1 + interval),
        spread=0.012,
    )
    return PerformanceRow(
        scenario=scenario,
        cpu_class="armv82",
        experiment=experiment,
        device="pixel-6",
        status=PerformanceStatus.MEASURED,
        times=(time,),
        conditions=("31 to 38 degrees, battery 80 %",),
    )


def make_lost_row(
    status: PerformanceStatus, reason: str, *, scenario: str = SCENARIO
) -> PerformanceRow:
    row = make_row(scenario=scenario)
    return replace(row, status=status, reason=reason, times=(), conditions=())


def make_run(
    night: int = 0,
    rows: Sequence[PerformanceRow] | None = None,
    *,
    device: str = "pixel-6",
    method: int = 1,
    engine: str = "e",
    job: str = "",
) -> HistoryRun:
    time = FIRST_NIGHT + timedelta(days=night)
    return HistoryRun(
        job=job,
        commit=MeasuredCommit(
            sha=f"{night:040x}",
            parent=f"{night - 1:040x}" if night else "",
            committed_at=show_time(time - timedelta(hours=5)),
        ),
        measured_at=show_time(time),
        device=f"id-of-{device}",
        engine=engine * 64,
        method=method,
        rows=tuple(replace(row, device=device) for row in ([make_row()] if rows is None else rows)),
    )


FIRST_DAY = datetime(2026, 11, 1, 2, 0, 0, tzinfo=UTC)


def make_file(size_bytes: int, **components: int) -> FileSize:
    known = {**components, "other": size_bytes - sum(components.values())} if components else {}
    return FileSize(size_bytes=size_bytes, measures={"deflated": size_bytes // 2}, components=known)


def make_sizes(
    day: int,
    size_bytes: int,
    *,
    config: str = "megtrim.yaml",
    quick: bool = False,
    run: int = 0,
    **components: int,
) -> CommitSizes:
    files = {"plain": make_file(9 * size_bytes), "reduced": make_file(size_bytes, **components)}
    return CommitSizes(
        commit=f"{day:040x}",
        committed_at=show_time(FIRST_DAY + timedelta(days=day - 1)),
        config=config,
        megtrim="1.2.3",
        run=run,
        quick=quick,
        artifacts={"app": files},
    )
