"""From what came of contests to the rows of a verdict, wherever they were measured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import groupby
from typing import Literal

from megtrim.core.build_spec import Variant
from megtrim.core.chain.graph import PLAIN, Stage, Task
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.invocation import Invocation
from megtrim.core.config.device import EMULATED
from megtrim.core.timing.spec import Criterion, PerformanceStatus
from megtrim.core.timing.times import RatioResult, Reference, StageTime, find_compared_time
from megtrim.core.trim.builds import applications
from megtrim.core.trim.results import BuildResult, ReduceResult
from megtrim.core.trim.runs.scenario_runs import scenario_of
from megtrim.core.verdict.performance import (
    Performance,
    PerformanceRow,
    TrimmingRow,
    VariantTime,
    status_of,
)
from megtrim.libs.util.errors import InfrastructureFailure, MegtrimError
from megtrim.libs.util.value import Value
from megtrim.times.comparison import (
    adjust_p_values,
    compare_sides,
    count_left_out,
    describe_left_out,
    find_p_value,
    summarize_stages,
)
from megtrim.times.experiments.contest import Contest, ContestResult
from megtrim.times.plan import (
    SINCE_PREFIX,
    TRIMMING,
    TRIMMING_PREFIX,
    PerfResult,
    list_trimmed,
    perf_tasks,
    subject_of,
)

_WORST_FIRST = (
    PerformanceStatus.WRONG_OUTPUTS,
    PerformanceStatus.FAILED,
    PerformanceStatus.REGRESSED,
    PerformanceStatus.INFRASTRUCTURE,
    PerformanceStatus.INCONCLUSIVE,
    PerformanceStatus.SKIPPED,
    PerformanceStatus.MEASURED,
)
"""A row of several contests ends as the worst of them: nothing that was lost hides a failure."""
_NOTHING_COUNTS = "none of its samples count"
NOT_HELD = "a task before it did not succeed"


class ContestOutcome(Value):
    scenario: str
    cpu_class: str
    subject: str
    artifact: str
    whole: bool = False
    """Of a command."""
    result: PerfResult | None
    failure: MegtrimError | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    base: str = ""
    reproduce: str = ""

    @property
    def trims(self) -> bool:
        return self.subject.startswith(TRIMMING_PREFIX)

    @property
    def held(self) -> tuple[Contest, ContestResult] | None:
        found = self.result
        if found is None or found.contest is None or found.measured is None:
            return None
        return found.contest, found.measured

    @property
    def device(self) -> str:
        return self.result.device.name if self.result and self.result.device else ""


def make_performance(
    outcomes: Sequence[ContestOutcome],
    *,
    criterion: Criterion,
    inconclusive: Literal["fail", "warn"],
) -> Performance:
    p_values = {
        _key(outcome): find_p_value(*outcome.held)
        for outcome in outcomes
        if outcome.held is not None and outcome.held[0].rival is not None
    }
    adjusted = adjust_p_values(p_values)
    since = {_key(each): each for each in outcomes if each.subject.startswith(SINCE_PREFIX)}
    own = [outcome for outcome in outcomes if not outcome.trims and _key(outcome) not in since]
    rows = []
    for outcome in own:
        since_base = since.get(f"{outcome.scenario} {SINCE_PREFIX}{outcome.subject}")
        rows.append(_row(outcome, since_base, adjusted))
    trimming = [outcome for outcome in outcomes if outcome.trims]
    return Performance(
        threshold=criterion.threshold,
        floor_ms=criterion.floor_ms,
        inconclusive=inconclusive,
        rows=tuple(rows),
        trimming=tuple(_trimming_rows(trimming, adjusted)),
    )


def show_again(
    invocation: Invocation, scenario: str, subject: str, *, emulated: bool = False
) -> str:
    asked = TRIMMING if subject.startswith(TRIMMING_PREFIX) else subject
    words: tuple[str, ...] = ("--experiment", asked, "--scenario", scenario, "--again")
    if emulated:
        words = (*words, "--emulated")
    return invocation.again(Stage.PERF.verb, *words)


def status_of_failure(failure: MegtrimError | None) -> PerformanceStatus:
    infrastructure = isinstance(failure, InfrastructureFailure)
    return PerformanceStatus.INFRASTRUCTURE if infrastructure else PerformanceStatus.FAILED


def _key(outcome: ContestOutcome) -> str:
    return f"{outcome.scenario} {outcome.subject}"


def read_outcome(
    outcome: ContestOutcome, adjusted: Mapping[str, float], against: Reference
) -> PerformanceRow:
    """``adjusted``: p-values for all rows of a verdict; a contest that is not there is alone."""
    measured = outcome.result.measured if outcome.result else None
    row = partial(
        PerformanceRow,
        scenario=outcome.scenario,
        cpu_class=outcome.cpu_class,
        experiment=outcome.subject,
        device=outcome.device,
        emulated=outcome.result.emulated if outcome.result else False,
        whole=outcome.whole,
        left_out=count_left_out(measured.samples) if measured else (),
        conditions=measured.conditions if measured else (),
        time_s=measured.time_s if measured else 0.0,
        reproduce=outcome.reproduce,
    )
    if outcome.result is None:
        reason = outcome.failure.title if outcome.failure else NOT_HELD
        return row(status=status_of_failure(outcome.failure), reason=reason)
    if outcome.held is None:
        return row(status=PerformanceStatus.SKIPPED, reason=outcome.result.skipped)
    contest, measured = outcome.held
    if measured.status is not PerformanceStatus.MEASURED:
        return row(status=measured.status, reason=measured.reason)
    times = summarize_stages(measured, (contest.rival or contest.reference).name)
    adjusted_p = adjusted.get(_key(outcome))
    if adjusted_p is None:
        adjusted_p = find_p_value(contest, measured)
    ratio = compare_sides(contest, measured, against, adjusted_p=adjusted_p)
    why = describe_left_out(measured.samples)
    if not times or (contest.rival is not None and ratio is None):
        reason = f"{_NOTHING_COUNTS}: {why}" if why else _NOTHING_COUNTS
        return row(status=PerformanceStatus.INFRASTRUCTURE, reason=reason)
    ratios = () if ratio is None else (ratio,)
    status = status_of(ratios)
    reason = why if status is PerformanceStatus.INCONCLUSIVE else ""
    return row(status=status, reason=reason, times=times, ratios=ratios)


def _row(
    outcome: ContestOutcome, since: ContestOutcome | None, adjusted: Mapping[str, float]
) -> PerformanceRow:
    row = read_outcome(outcome, adjusted, Reference.BASELINE)
    if since is None or not row.times:
        return row
    compared = read_outcome(since, adjusted, Reference.BASE)
    if compared.ratios:
        ratios = (*row.ratios, *(replace(ratio, name=since.base) for ratio in compared.ratios))
        status = status_of(ratios)
        reason = row.reason or compared.reason
        open_ = status is PerformanceStatus.INCONCLUSIVE
        return replace(row, ratios=ratios, status=status, reason=reason if open_ else "")
    missing = f"not compared with {since.base}: {compared.reason}"
    asked = compared.status is not PerformanceStatus.SKIPPED
    if asked and row.status is PerformanceStatus.MEASURED:
        # What was asked for and lost leaves the answer open, which is no pass.
        return replace(row, status=PerformanceStatus.INCONCLUSIVE, reason=missing)
    return replace(row, reason="", conditions=(*row.conditions, missing))


def _trimming_rows(
    outcomes: Iterable[ContestOutcome], adjusted: Mapping[str, float]
) -> Iterator[TrimmingRow]:
    for id_, of_scenario in groupby(outcomes, key=lambda each: each.scenario):
        mine = list(of_scenario)
        results = [each.result for each in mine if each.result]
        read = [read_outcome(each, adjusted, Reference.PLAIN) for each in mine]
        worst = min(read, key=lambda each: _WORST_FIRST.index(each.status))
        measured = [result.measured for result in results if result.measured]
        samples = [sample for each in measured for sample in each.samples]
        conditions = dict.fromkeys(line for each in measured for line in each.conditions)
        yield TrimmingRow(
            scenario=id_,
            cpu_class=mine[0].cpu_class,
            artifact=mine[0].artifact,
            device=next((each.device for each in mine if each.result), ""),
            emulated=any(result.emulated for result in results),
            whole=mine[0].whole,
            status=worst.status,
            reason=worst.reason,
            variants=tuple(_variants(mine, read)),
            left_out=count_left_out(samples),
            conditions=tuple(conditions),
            time_s=sum(each.time_s for each in measured),
            reproduce=mine[0].reproduce,
        )


def _variants(
    outcomes: Sequence[ContestOutcome], read: Sequence[PerformanceRow]
) -> Iterator[VariantTime]:
    sizes = outcomes[0].sizes
    names = (str(Variant.PLAIN), *(each.subject.removeprefix(TRIMMING_PREFIX) for each in outcomes))
    plain: tuple[StageTime, ...] = ()
    for outcome, row in zip(outcomes, read, strict=True):
        if outcome.held and row.times and not plain:
            plain = summarize_stages(outcome.held[1], outcome.held[0].reference.name)
    none: tuple[RatioResult, ...] = ()
    timed = ((plain, none), *((each.times, each.ratios) for each in read))
    for variant, (times, ratios) in zip(names, timed, strict=True):
        if variant in sizes:
            yield VariantTime(
                variant=variant,
                size_bytes=sizes[variant],
                time=find_compared_time(times),
                ratio=next(iter(ratios), None),
            )


def summarize_performance(wants: Iterable[str], session: Session) -> Performance | None:
    config = session.config
    wanted = set(wants)
    tasks = [
        task
        for task in perf_tasks(
            config,
            committed=session.request.options.committed,
            since_base=bool(session.request.base),
        )
        if task.stage is Stage.PERF and task.id in wanted
    ]
    if not tasks:
        return None
    return make_performance(
        [_find_outcome(task, session) for task in tasks],
        criterion=config.perf.criterion,
        inconclusive=config.perf.inconclusive,
    )


def list_measuring_devices(tasks: Iterable[str], session: Session) -> Iterator[DeviceIdentity]:
    for task in tasks:
        if task in session.done and Stage(task.partition("/")[0]) is Stage.PERF:
            device = session.done[task].result_as(PerfResult).device
            if device is not None:
                yield device


def list_program_sizes(artifact: str, session: Session) -> dict[str, int]:
    sizes = {}
    for variant, task in ((str(Variant.PLAIN), PLAIN), *list_trimmed(session.config)):
        if task in session.done:
            done = session.done[task]
            result = done.result_as(BuildResult) if task == PLAIN else done.result_as(ReduceResult)
            if artifact in result.build.artifacts:
                sizes[variant] = result.build.artifacts[artifact]
    return sizes


def _find_outcome(task: Task, session: Session) -> ContestOutcome:
    scenario = scenario_of(task)
    subject = subject_of(task)
    request = session.request
    done = session.done.get(task.id)
    failed = session.results.failed
    cause = next((need for need in (task.id, *task.needs) if need in failed), "")
    artifact = applications.name_of(scenario, request)
    emulated = session.services.device(scenario).kind in EMULATED
    reproduce = show_again(request.invocation, scenario.id, subject, emulated=emulated)
    return ContestOutcome(
        scenario=scenario.id,
        cpu_class=scenario.cpu_class.name,
        subject=subject,
        artifact=artifact,
        whole=scenario.settings.is_command,
        result=None if done is None else done.result_as(PerfResult),
        failure=failed.get(cause),
        sizes=list_program_sizes(artifact, session),
        base=request.base,
        reproduce=reproduce,
    )
