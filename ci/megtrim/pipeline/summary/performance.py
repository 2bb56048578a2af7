"""From the results of the stage `perf` to what a verdict holds about times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from megtrim.build_spec import Variant
from megtrim.config.scenarios import Scenario
from megtrim.errors import InfrastructureFailure, MegtrimError
from megtrim.perf.contest import Contest, ContestResult, ContestStatus
from megtrim.perf.multiplicity import adjust_p_values
from megtrim.perf.time_stage import TimeStage
from megtrim.pipeline.building import programs
from megtrim.pipeline.results import BuildResult, PerfResult, ReduceResult
from megtrim.pipeline.running.scenario_runs import scenario_of
from megtrim.pipeline.session import Session
from megtrim.pipeline.summary.contest_times import (
    compare_sides,
    count_left_out,
    find_p_value,
    summarize_stages,
)
from megtrim.plan.graph import PLAIN, Stage, Task
from megtrim.plan.performance import (
    TRIMMING,
    list_trimmed,
    perf_tasks,
    subject_of,
    trimmed_variant,
)
from megtrim.verdict.model import DeviceIdentity
from megtrim.verdict.performance import (
    Performance,
    PerformanceRow,
    PerformanceStatus,
    RatioResult,
    Reference,
    StageTime,
    TrimmingRow,
    VariantTime,
    status_of,
)

_STATUS = {
    ContestStatus.FAILED: PerformanceStatus.FAILED,
    ContestStatus.WRONG_OUTPUTS: PerformanceStatus.WRONG_OUTPUTS,
}
_NOTHING_COUNTS = "none of its samples count"


def summarize_performance(wants: Iterable[str], session: Session) -> Performance | None:
    """Return the times of the tasks that a verdict wants; None if it wants none of times."""
    config = session.request.config
    wanted = set(wants)
    tasks = [
        each
        for each in perf_tasks(config, committed=session.request.committed)
        if each.stage is Stage.PERF and each.id in wanted
    ]
    if not tasks:
        return None
    adjusted = _adjust(tasks, session)
    trimming = [each for each in tasks if trimmed_variant(each)]
    rows = [_row(each, session, adjusted) for each in tasks if each not in trimming]
    return Performance(
        threshold=config.perf.threshold,
        floor_ms=config.perf.floor_ms,
        inconclusive=config.perf.inconclusive,
        rows=tuple(rows),
        trimming=tuple(_trimming_rows(trimming, session, adjusted)),
    )


def list_measuring_devices(tasks: Iterable[str], session: Session) -> Iterator[DeviceIdentity]:
    """Yield the machine of each task that measured on one."""
    for task in tasks:
        if task in session.results.done and Stage(task.partition("/")[0]) is Stage.PERF:
            device = session.results.done[task].result_as(PerfResult).device
            if device is not None:
                yield device


def _adjust(tasks: Iterable[Task], session: Session) -> dict[str, float]:
    """Return the p-value of each comparison, adjusted for all others."""
    held = {each.id: _find_contest(each, session) for each in tasks}
    return adjust_p_values(
        {
            id_: find_p_value(*found)
            for id_, found in held.items()
            if found is not None and found[0].rival is not None
        }
    )


def _find_contest(task: Task, session: Session) -> tuple[Contest, ContestResult] | None:
    result = _result(task, session)
    if result is None or result.contest is None or result.measured is None:
        return None
    return result.contest, result.measured


def _result(task: Task, session: Session) -> PerfResult | None:
    done = session.results.done.get(task.id)
    return None if done is None else done.result_as(PerfResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What one contest says of the side that it is about."""

    status: PerformanceStatus
    reason: str = ""
    times: tuple[StageTime, ...] = ()
    ratio: RatioResult | None = None
    reference: tuple[StageTime, ...] = ()


def _read(
    task: Task, session: Session, adjusted: Mapping[str, float], against: Reference
) -> _Reading:
    held, result = _find_contest(task, session), _result(task, session)
    if result is None:
        return _read_failure(task, session)
    if held is None:
        return _Reading(status=PerformanceStatus.SKIPPED, reason=result.skipped)
    contest, measured = held
    if measured.status is not ContestStatus.MEASURED:
        return _Reading(status=_STATUS[measured.status], reason=measured.reason)
    about = contest.rival or contest.reference
    times = summarize_stages(measured, about.name)
    ratio = compare_sides(contest, measured, against, adjusted_p=adjusted.get(task.id, 1.0))
    lost = not times or (contest.rival is not None and ratio is None)
    if lost:
        return _Reading(status=PerformanceStatus.INFRASTRUCTURE, reason=_NOTHING_COUNTS)
    return _Reading(
        status=status_of(() if ratio is None else (ratio,)),
        times=times,
        ratio=ratio,
        reference=summarize_stages(measured, contest.reference.name),
    )


def _read_failure(task: Task, session: Session) -> _Reading:
    failed = session.results.failed
    cause = next((each for each in (task.id, *task.needs) if each in failed), None)
    failure = failed.get(cause or "")
    infrastructure = isinstance(failure, InfrastructureFailure)
    return _Reading(
        status=PerformanceStatus.INFRASTRUCTURE if infrastructure else PerformanceStatus.FAILED,
        reason=_first_line(failure) if failure else "a task before it did not succeed",
    )


def _first_line(failure: MegtrimError) -> str:
    return failure.message.splitlines()[0]


def _row(task: Task, session: Session, adjusted: Mapping[str, float]) -> PerformanceRow:
    scenario, result = scenario_of(task), _result(task, session)
    read = _read(task, session, adjusted, Reference.BASELINE)
    measured = result.measured if result else None
    return PerformanceRow(
        scenario=scenario.id,
        cpu_class=scenario.cpu_class.name,
        experiment=subject_of(task),
        device=_device_name(result),
        emulated=result.emulated if result else False,
        status=read.status,
        reason=read.reason,
        times=read.times,
        ratios=() if read.ratio is None else (read.ratio,),
        left_out=count_left_out(measured.samples) if measured else (),
        conditions=measured.conditions if measured else (),
        time_s=measured.time_s if measured else 0.0,
        reproduce=_reproduce(task, session),
    )


def _trimming_rows(
    tasks: Iterable[Task], session: Session, adjusted: Mapping[str, float]
) -> Iterator[TrimmingRow]:
    for id_, of_scenario in groupby(tasks, key=lambda task: scenario_of(task).id):
        mine = list(of_scenario)
        scenario, results = scenario_of(mine[0]), [_result(each, session) for each in mine]
        read = [_read(each, session, adjusted, Reference.PLAIN) for each in mine]
        worst = next(
            (each for each in read if not each.times),
            _Reading(status=status_of(each.ratio for each in read if each.ratio)),
        )
        measured = [each.measured for each in results if each and each.measured]
        yield TrimmingRow(
            scenario=id_,
            cpu_class=scenario.cpu_class.name,
            artifact=programs.name_of(scenario, session.request),
            device=next((_device_name(each) for each in results if each), ""),
            emulated=any(each.emulated for each in results if each),
            status=worst.status,
            reason=worst.reason,
            variants=tuple(_variants(scenario, session, read)),
            left_out=count_left_out(each for one in measured for each in one.samples),
            conditions=tuple(dict.fromkeys(line for one in measured for line in one.conditions)),
            time_s=sum(each.time_s for each in measured),
            reproduce=_reproduce(mine[0], session),
        )


def _variants(
    scenario: Scenario, session: Session, read: Sequence[_Reading]
) -> Iterator[VariantTime]:
    """Yield plain, then each trimmed variant in the order of the contests."""
    config = session.request.config
    name = programs.name_of(scenario, session.request)
    builds = ((str(Variant.PLAIN), PLAIN), *list_trimmed(config))
    plain = _Reading(
        status=PerformanceStatus.MEASURED,
        times=next((each.reference for each in read if each.reference), ()),
    )
    for (variant, task), each in zip(builds, (plain, *read), strict=True):
        if (size_bytes := _size_bytes(session, task, name)) is not None:
            yield VariantTime(
                variant=variant,
                size_bytes=size_bytes,
                time=next((one for one in each.times if one.stage is TimeStage.INFERENCE), None),
                ratio=each.ratio,
            )


def _size_bytes(session: Session, task: str, name: str) -> int | None:
    if task not in session.results.done:
        return None
    folder = session.results.done[task]
    made = folder.result_as(BuildResult) if task == PLAIN else folder.result_as(ReduceResult)
    return made.build.artifacts.get(name)


def _device_name(result: PerfResult | None) -> str:
    return result.device.name if result and result.device else ""


def _reproduce(task: Task, session: Session) -> str:
    asked = TRIMMING if trimmed_variant(task) else subject_of(task)
    words = ("--experiment", asked, "--scenario", scenario_of(task).id, "--again")
    return session.request.invocation.again(Stage.PERF.verb, *words)
