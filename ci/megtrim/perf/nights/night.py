"""A night of performance: from a verdict to runs of the history, and from the history to it.

Pure. A run is all that one device measured; a row whose device was not reached is in no run, so a
series has a gap there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from megtrim.checks.check import MACHINE_FACTS, DeviceIdentity
from megtrim.experiments.contest import METHOD
from megtrim.experiments.time_stage import TimeStage
from megtrim.perf.nights.history import (
    HistoryRow,
    HistoryRun,
    LeftOut,
    MeasuredCommit,
    MeasuredDevice,
    RowStatus,
    Times,
)
from megtrim.perf.nights.series import Series, make_series
from megtrim.perf.rows.model import (
    ChangePoint,
    HistoryPoint,
    HistorySeries,
    PerformanceRow,
    PerformanceStatus,
    StageTime,
    TrimmingRow,
)
from megtrim.render.markup import one_line
from megtrim.verdict.model import Verdict

_LONGEST_LINE = 250
_MOST_LEFT_OUT = 20
_DAY = 10
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_STATUSES: Mapping[PerformanceStatus, RowStatus] = {
    PerformanceStatus.MEASURED: RowStatus.MEASURED,
    PerformanceStatus.REGRESSED: RowStatus.MEASURED,
    PerformanceStatus.INCONCLUSIVE: RowStatus.MEASURED,
    PerformanceStatus.SKIPPED: RowStatus.SKIPPED,
    PerformanceStatus.FAILED: RowStatus.FAILED,
    PerformanceStatus.INFRASTRUCTURE: RowStatus.FAILED,
    PerformanceStatus.WRONG_OUTPUTS: RowStatus.FAILED,
}
_TOO_FEW = "too few processes for an interval"

_Contestants = Sequence[tuple[str, Sequence[StageTime]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFacts:
    """What a verdict does not hold: when it was, and of which commit."""

    commit: MeasuredCommit
    measured_at: str
    """``2026-11-23T02:00:00Z``: of the whole run, so that a repeated job writes the same."""
    job: str


def make_runs(verdict: Verdict, facts: NightFacts) -> tuple[HistoryRun, ...]:
    """Return a run for each device that times were to be taken on, sorted by its name."""
    rows = verdict.performance.all_rows if verdict.performance else ()
    machines = {each.name: each for each in verdict.devices}
    by_device: dict[tuple[str, str], list[HistoryRow]] = {}
    for row in rows:
        if row.device:
            by_device.setdefault((row.device, row.cpu_class), []).extend(_make_rows(row))
    digest = verdict.engine.digest
    return tuple(
        HistoryRun(
            job=facts.job,
            commit=facts.commit,
            measured_at=facts.measured_at,
            device=MeasuredDevice(
                name=_fit(name), identity=_identify(name, machines.get(name)), cpu_class=_fit(of)
            ),
            engine=digest if _SHA256.fullmatch(digest) else _sha256(digest),
            programs={},
            method=METHOD,
            rows=tuple({each.key: each for each in found}.values()),
        )
        for (name, of), found in sorted(by_device.items())
    )


def add_history(verdict: Verdict, runs: Sequence[HistoryRun]) -> Verdict:
    """Return the verdict with what the history has of its rows."""
    if verdict.performance is None:
        return verdict
    classes = {row.scenario: row.cpu_class for row in verdict.performance.all_rows}
    newest: dict[tuple[str, str], Series] = {}
    for each in make_series(runs):
        key = (each.key.scenario, each.key.contestant)
        if each.key.stage is TimeStage.INFERENCE and each.key.scenario in classes:
            known = newest.get(key)
            if known is None or known.points[-1].run < each.points[-1].run:
                newest[key] = each
    history = tuple(_show(newest[key], classes[key[0]]) for key in sorted(newest))
    return replace(verdict, performance=replace(verdict.performance, history=history))


def _make_rows(row: PerformanceRow | TrimmingRow) -> Iterator[HistoryRow]:
    contestants: _Contestants = _list_contestants(row)
    measured = _STATUSES[row.status] is RowStatus.MEASURED
    for contestant, times in contestants:
        for time in times if measured else ():
            yield _make_row(row, contestant, time.stage, time)
        if not measured or not times:
            yield _make_row(row, contestant, TimeStage.INFERENCE, None)


def _list_contestants(row: PerformanceRow | TrimmingRow) -> _Contestants:
    if isinstance(row, PerformanceRow):
        return ((row.experiment, row.times),)
    return tuple(
        (f"{row.artifact} {each.variant}", (each.time,) if each.time else ())
        for each in row.variants
    )


def _make_row(
    row: PerformanceRow | TrimmingRow, contestant: str, stage: TimeStage, time: StageTime | None
) -> HistoryRow:
    times = _make_times(time)
    status = _STATUSES[row.status]
    if status is RowStatus.MEASURED and times is None:
        status = RowStatus.FAILED
    reason = "" if times else _fit(row.reason) if row.reason else _TOO_FEW
    return HistoryRow(
        scenario=_fit(row.scenario),
        contestant=_fit(contestant),
        stage=stage,
        status=status,
        reason=reason,
        times=times,
        left_out=tuple(
            LeftOut(reason=_fit(each.reason), samples=each.count)
            for each in row.left_out[:_MOST_LEFT_OUT]
        ),
        conditions=_shorten("; ".join(row.conditions)),
    )


def _make_times(time: StageTime | None) -> Times | None:
    if time is None or time.upper_ms is None or time.lower_ms <= 0:
        return None
    return Times(
        processes=time.processes,
        median_ms=time.median_ms,
        low_ms=time.lower_ms,
        high_ms=time.upper_ms,
        spread=time.spread,
    )


def _show(series: Series, cpu_class: str) -> HistorySeries:
    """Return a series as a report shows it: one point for each day, the last of it."""
    points = {
        each.measured_at[:_DAY]: HistoryPoint(
            date=each.measured_at[:_DAY],
            commit=each.commit,
            median_ms=each.times.median_ms,
            lower_ms=each.times.low_ms,
            upper_ms=each.times.high_ms,
        )
        for each in sorted(series.points, key=lambda each: each.measured_at)
    }
    changes = {
        series.points[each.change.first].measured_at[:_DAY]: each.change.ratio
        for each in series.changes
    }
    return HistorySeries(
        scenario=series.key.scenario,
        cpu_class=cpu_class,
        experiment=series.key.contestant,
        points=tuple(points[day] for day in sorted(points)),
        changes=tuple(ChangePoint(date=day, ratio=changes[day]) for day in sorted(changes)),
    )


def _identify(name: str, machine: DeviceIdentity | None) -> str:
    facts = machine.facts if machine else {}
    parts = [name, *(facts.get(each, "") for each in MACHINE_FACTS)]
    return _sha256("\0".join(parts))[:16]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _fit(text: str) -> str:
    """Return a text as the history takes it: one printable line that is not empty."""
    return _shorten(text) or "-"


def _shorten(text: str) -> str:
    line = one_line(text, limit=_LONGEST_LINE)
    return "".join(each if each.isprintable() else " " for each in line).strip()
