"""From the results of the stage `perf` to what a verdict holds about times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from megtrim.build_spec import Variant
from megtrim.chain.graph import PLAIN, Stage, Task
from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.config.device import EMULATED
from megtrim.perf.plan import list_trimmed, perf_tasks, subject_of
from megtrim.perf.results import PerfResult
from megtrim.perf.rows.model import Performance
from megtrim.perf.rows.rows import (
    ContestOutcome,
    make_performance,
    show_again,
)
from megtrim.trim.builds import programs
from megtrim.trim.results import BuildResult, ReduceResult
from megtrim.trim.runs.scenario_runs import scenario_of


def summarize_performance(wants: Iterable[str], session: Session) -> Performance | None:
    config, wanted = session.request.config, set(wants)
    tasks = [
        each
        for each in perf_tasks(
            config,
            committed=session.request.options.committed,
            since_base=bool(session.request.base),
        )
        if each.stage is Stage.PERF and each.id in wanted
    ]
    if not tasks:
        return None
    return make_performance(
        [_find_outcome(each, session) for each in tasks],
        criterion=config.perf.criterion,
        inconclusive=config.perf.inconclusive,
    )


def list_measuring_devices(tasks: Iterable[str], session: Session) -> Iterator[DeviceIdentity]:
    for task in tasks:
        if task in session.results.done and Stage(task.partition("/")[0]) is Stage.PERF:
            device = session.results.done[task].result_as(PerfResult).device
            if device is not None:
                yield device


def list_program_sizes(artifact: str, session: Session) -> dict[str, int]:
    builds = ((str(Variant.PLAIN), PLAIN), *list_trimmed(session.request.config))
    sizes = {variant: _artifacts(task, session) for variant, task in builds}
    return {variant: held[artifact] for variant, held in sizes.items() if artifact in held}


def _artifacts(task: str, session: Session) -> Mapping[str, int]:
    if task not in session.results.done:
        return {}
    done = session.results.done[task]
    found = done.result_as(BuildResult) if task == PLAIN else done.result_as(ReduceResult)
    return found.build.artifacts


def _find_outcome(task: Task, session: Session) -> ContestOutcome:
    scenario, subject, request = scenario_of(task), subject_of(task), session.request
    done, failed = session.results.done.get(task.id), session.results.failed
    cause = next((each for each in (task.id, *task.needs) if each in failed), "")
    artifact = programs.name_of(scenario, request)
    return ContestOutcome(
        scenario=scenario.id,
        cpu_class=scenario.cpu_class.name,
        subject=subject,
        artifact=artifact,
        result=None if done is None else done.result_as(PerfResult),
        failure=failed.get(cause),
        sizes=list_program_sizes(artifact, session),
        base=request.base,
        reproduce=show_again(
            request.invocation,
            scenario.id,
            subject,
            emulated=session.services.device(scenario).kind in EMULATED,
        ),
    )
