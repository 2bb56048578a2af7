"""A night of performance: from a verdict to runs of the history, and from the history to it."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from megtrim.core.checks.check import MACHINE_FACTS, DeviceIdentity
from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import RatioResult, StageTime
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.performance import (
    ChangePoint,
    HistorySeries,
    PerformanceRow,
    Row,
    status_of,
)
from megtrim.libs.render.markup import one_line
from megtrim.libs.util.value import Value
from megtrim.times.experiments.contest import METHOD
from megtrim.times.nights.history import HistoryRun, MeasuredCommit
from megtrim.times.nights.series import Series, make_series

_LONGEST_LINE = 250
_MOST_REMARKS = 20
_NO_TIME = "none of its samples count"
_NO_DEVICE = "no device"
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class NightFacts(Value):
    commit: MeasuredCommit
    measured_at: str
    job: str


def make_runs(verdict: Verdict, facts: NightFacts) -> tuple[HistoryRun, ...]:
    rows = verdict.performance.all_rows if verdict.performance else ()
    machines = {device.name: device for device in verdict.devices}
    by_device: dict[tuple[str, str], list[PerformanceRow]] = {}
    for row in rows:
        # What no device answered is written, too: else no one knows since when it is lost.
        if row.device or row.status is not PerformanceStatus.SKIPPED:
            device = row.device or _NO_DEVICE
            by_device.setdefault((device, row.cpu_class), []).extend(_make_rows(row, device))
    digest = verdict.engine.digest
    if not _SHA256.fullmatch(digest):
        digest = _sha256(digest)
    runs = []
    for (name, _), of_device in sorted(by_device.items()):
        last_of_each = {(row.scenario, row.experiment): row for row in of_device}
        run = HistoryRun(
            job=facts.job,
            commit=facts.commit,
            measured_at=facts.measured_at,
            device=_identify(name, machines.get(name)),
            engine=digest,
            method=METHOD,
            rows=tuple(last_of_each.values()),
        )
        runs.append(run)
    return tuple(runs)


def add_history(verdict: Verdict, runs: Sequence[HistoryRun]) -> Verdict:
    if verdict.performance is None:
        return verdict
    classes = {row.scenario: row.cpu_class for row in verdict.performance.all_rows}
    newest: dict[tuple[str, str], Series] = {}
    for each in make_series(runs):
        key = (each.key.scenario, each.key.contestant)
        if each.key.stage.decides and each.key.scenario in classes:
            known = newest.get(key)
            if known is None or known.points[-1].run < each.points[-1].run:
                newest[key] = each
    history = tuple(_show(newest[key], classes[key[0]]) for key in sorted(newest))
    return replace(verdict, performance=replace(verdict.performance, history=history))


def _make_rows(row: Row, device: str) -> Iterator[PerformanceRow]:
    if isinstance(row, PerformanceRow):
        yield _make_row(row, device, row.experiment, row.times, row.ratios)
        return
    for each in row.variants:
        times = (each.time,) if each.time else ()
        ratios = (each.ratio,) if each.ratio else ()
        yield _make_row(row, device, f"{row.artifact} {each.variant}", times, ratios)


def _make_row(
    row: Row,
    device: str,
    experiment: str,
    times: tuple[StageTime, ...],
    ratios: tuple[RatioResult, ...],
) -> PerformanceRow:
    status = row.status
    reason = row.reason
    if not status.has_times or not times:
        status = PerformanceStatus.INFRASTRUCTURE if status.has_times else status
        times = ()
        ratios = ()
        reason = reason or _NO_TIME
    elif not isinstance(row, PerformanceRow):
        status = status_of(ratios)
    left_out = [replace(each, reason=_fit(each.reason)) for each in row.left_out[:_MOST_REMARKS]]
    ratios = tuple(replace(ratio, name=_shorten(ratio.name)) for ratio in ratios)
    return PerformanceRow(
        scenario=_fit(row.scenario),
        cpu_class=_fit(row.cpu_class),
        experiment=_fit(experiment),
        device=_fit(device),
        emulated=row.emulated,
        whole=row.whole,
        status=status,
        reason=_fit(reason) if reason else "",
        times=times,
        ratios=ratios,
        left_out=tuple(left_out),
        conditions=tuple(map(_fit, row.conditions[:_MOST_REMARKS])),
        time_s=row.time_s,
    )


def _show(series: Series, cpu_class: str) -> HistorySeries:
    in_order = sorted(series.points, key=lambda point: point.measured_at)
    points = {point.date: point for point in in_order}
    ratios = {change.point.date: change.ratio.ratio for change in series.changes}
    changes = [ChangePoint(date=day, ratio=ratio) for day, ratio in sorted(ratios.items())]
    return HistorySeries(
        scenario=series.key.scenario,
        cpu_class=cpu_class,
        experiment=series.key.contestant,
        whole=series.key.stage is TimeStage.WHOLE_RUN,
        points=tuple(points[day] for day in sorted(points)),
        changes=tuple(changes),
    )


def _identify(name: str, machine: DeviceIdentity | None) -> str:
    facts = machine.facts if machine else {}
    parts = [name, *(facts.get(fact, "") for fact in MACHINE_FACTS)]
    return _sha256("\0".join(parts))[:16]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _fit(text: str) -> str:
    return _shorten(text) or "-"


def _shorten(text: str) -> str:
    line = one_line(text, limit=_LONGEST_LINE)
    return "".join(each if each.isprintable() else " " for each in line).strip()
