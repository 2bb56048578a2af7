"""From a context whose programs are built to the contests that a bundle asks devices to hold.

Every contest of the configuration is in the bundle, in its order: those that are not held bear the
reason, so that the report of the devices' times has all rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import Variant
from megtrim.chain.graph import Stage, Task
from megtrim.chain.session import Session
from megtrim.config.model import Config
from megtrim.config.scenarios import Scenario
from megtrim.evidence import limits
from megtrim.evidence.bundle import binding
from megtrim.evidence.bundle_contest import BundleContest, BundleTimes
from megtrim.experiments.contest import Contest, PerformanceStatus
from megtrim.perf import stage as perf
from megtrim.perf.measuring.contest_plan import list_needed_features, plan_for_runner
from megtrim.perf.plan import compares_with_base, perf_tasks, trimmed_variant
from megtrim.perf.rows.outcomes import list_program_sizes
from megtrim.perf.rows.rows import NOT_HELD, status_of_failure
from megtrim.trim.builds import programs
from megtrim.trim.runs.scenario_runs import scenario_of
from megtrim.util.errors import InputError

_NOTHING_ELSE = "change it in the configuration: devices on runners take nothing else"
_NO_BINDING = "0" * 64
"""Of a contest that no device holds."""


def list_timed_builds(config: Config) -> tuple[str, ...]:
    """Return the ids of the tasks that make what contests run."""
    measured = (task for task in perf_tasks(config) if task.stage is Stage.PERF)
    return tuple(dict.fromkeys(need for task in measured for need in task.needs))


def select_contests(session: Session) -> tuple[tuple[Scenario, str], ...]:
    """Return the scenario and the binding of each contest that devices are asked for."""
    return tuple(
        (scenario_of(task), found.binding)
        for task in _list_tasks(session)
        if (found := _contest(task, session)).contest is not None
    )


def describe_times(session: Session) -> BundleTimes:
    """Return what a bundle says of times."""
    perf = session.request.config.perf
    return BundleTimes(
        engine=session.services.engine.identity().digest,
        criterion=perf.criterion,
        inconclusive=perf.inconclusive,
        base=session.request.base,
        contests=tuple(_contest(task, session) for task in _list_tasks(session)),
    )


def _list_tasks(session: Session) -> Iterator[Task]:
    request = session.request
    every = perf_tasks(
        request.config, committed=request.options.committed, since_base=bool(request.base)
    )
    return (task for task in every if task.stage is Stage.PERF)


def _contest(task: Task, session: Session) -> BundleContest:
    results = session.results
    if any(need not in results.done for need in task.needs):
        failure = next(
            (results.failed[each] for each in task.needs if each in results.failed), None
        )
        why = failure.message if failure else NOT_HELD
        return _make(task, session, unheld=status_of_failure(failure), reason=why)
    planned = plan_for_runner(task, session)
    if isinstance(planned, str):
        return _make(task, session, unheld=PerformanceStatus.SKIPPED, reason=planned)
    bound = binding(perf.named_inputs(task, session))
    return _make(task, session, contest=planned, bound=bound)


def _make(
    task: Task,
    session: Session,
    *,
    contest: Contest | None = None,
    bound: str = _NO_BINDING,
    unheld: PerformanceStatus | None = None,
    reason: str = "",
) -> BundleContest:
    scenario, variant = scenario_of(task), trimmed_variant(task)
    artifact = programs.name_of(scenario, session.request)
    sizes = list_program_sizes(artifact, session) if variant else {}
    try:
        return BundleContest(
            id=task.name,
            scenario=scenario.id,
            cpu_class=scenario.cpu_class.name,
            binding=bound,
            contest=contest,
            unheld=unheld,
            reason=limits.clean_line(reason),
            artifact=artifact,
            cpu_features=list_needed_features(task),
            reference=Variant.BASE if compares_with_base(task) else Variant.PLAIN,
            rival=Variant(variant or Variant.PLAIN),
            sizes=tuple((Variant(name), count) for name, count in sizes.items()),
        )
    except ValueError as error:
        loaded = session.request.loaded
        msg = f"{loaded.where(*scenario.path)}: {error}"
        raise InputError(msg, hint=_NOTHING_ELSE) from None
