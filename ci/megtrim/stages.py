"""Every stage, and running a plan: each task once for equal inputs, in order.

A stage module has three functions. ``inputs`` names everything that the result depends on, each
as a short text or a digest; ``work`` does it in an empty folder and returns the result for the
manifest; ``result_type`` is the type of that. Stages read former results from the store, and do
not import each other.

Bad input and Ctrl-C end a chain at once. A product or infrastructure failure ends only what
depends on it: the verdict speaks of it, and the chain exits as its worst stage.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from megtrim.chain.graph import Stage, Task, keep_task, on_demand, with_dependencies
from megtrim.chain.graph import tasks as tasks_of
from megtrim.chain.session import Session, StageModule, TaskResults
from megtrim.chain.stage_result import StageResult
from megtrim.chain.staleness import PlanStep, TaskState, reason
from megtrim.chain.store import StageFolder, Store, key_of
from megtrim.perf import stage as perf
from megtrim.proof import stage as verify
from megtrim.proof.neighbours import stage as neighbours
from megtrim.report import stage as report
from megtrim.size import stage as size
from megtrim.size.references import stage as references
from megtrim.trim import committed_keepset
from megtrim.trim.stages import build, functions, header, profile, reduce
from megtrim.util.errors import (
    EXIT_PASS,
    InfrastructureFailure,
    InputError,
    ProductFailure,
    worst_exit_code,
)
from megtrim.verdict import stage as verdict

MODULES: Mapping[Stage, StageModule] = {
    Stage.BUILD: build,
    Stage.PROFILE: profile,
    Stage.HEADER: header,
    Stage.REDUCE: reduce,
    Stage.FUNCTIONS: functions,
    Stage.VERIFY: verify,
    Stage.NEIGHBOURS: neighbours,
    Stage.SIZE: size,
    Stage.PERF: perf,
    Stage.VERDICT: verdict,
    Stage.REPORT: report,
    Stage.REFERENCES: references,
}


def run(tasks: Sequence[Task], session: Session) -> tuple[int, list[int]]:
    """Run what is not up to date; return how many tasks that were, and the exit statuses."""
    ran = 0
    codes = []
    can = able(session)
    for task in tasks:
        if _is_ready(task, can):
            fresh, code = _attempt(task, can)
            ran += fresh
            codes.append(code)
    return ran, codes


def able(session: Session) -> Session:
    """Return the same session, which makes a task that only some runs need when it is asked for."""
    results = replace(session.results, make=lambda task_id: obtain(task_id, session))
    return replace(session, results=results)


def obtain(task_id: str, session: Session) -> StageFolder | None:
    """Return the finished folder of a task, making it and what it depends on if needed.

    For results that only some runs need. What failed is not tried again: None.
    """
    config = session.request.config
    planned = (*tasks_of(config, committed=session.request.options.committed), *on_demand(config))
    ids = {task.id for task in planned}
    # A build that the committed keep set spared may be wanted all the same.
    every = (*planned, *(task for task in tasks_of(config) if task.id not in ids))
    for task in with_dependencies([task_id], every):
        known = task.id in session.results.done or task.id in session.results.failed
        if not known and _is_ready(task, session):
            _attempt(task, session)
    return session.results.done.get(task_id)


def _is_ready(task: Task, session: Session) -> bool:
    missing = [need for need in task.needs if need not in session.results.done]
    if missing:
        session.services.console.say(f"  skip  {task.id}: {missing[0]} did not succeed")
    return not missing


def _attempt(task: Task, session: Session) -> tuple[bool, int]:
    """Do a task; return whether anything was done, and its exit status."""
    stale = EXIT_PASS
    try:
        folder, fresh = _ensure(task, session)
        if task.id == keep_task(session.request.config):
            stale = committed_keepset.settle(session, folder)
    except (ProductFailure, InfrastructureFailure) as failure:
        if session.request.private:
            failure.shorten()
        failure.complete(session.request.invocation.place)
        session.results.failed[task.id] = failure
        session.services.console.warn(f"{task.id}: {failure}")
        return False, failure.exit_code
    session.results.done[task.id] = folder
    return fresh, worst_exit_code([stale, folder.result.exit_code])


def plan(tasks: Sequence[Task], session: Session) -> tuple[PlanStep, ...]:
    return tuple(_step(task, session) for task in tasks)


def describe_durations(tasks: Sequence[Task], session: Session) -> str:
    if session.services.durations is None:
        return ""
    # What is found here, warnings of damage among it, is for the run itself.
    services = replace(session.services, store=Store(session.services.store.root))
    fresh = TaskResults(done=dict(session.results.done))
    quiet = replace(session, services=services, results=fresh)
    steps = [_step(task, quiet, explain=False) for task in tasks]
    return session.services.durations.describe(
        [each.task for each in steps if each.state is not TaskState.DONE]
    )


def _ensure(task: Task, session: Session) -> tuple[StageFolder, bool]:
    started = time.monotonic()
    module = MODULES[task.stage]
    named = module.inputs(task, session)

    def produce(folder: Path) -> StageResult:
        session.services.console.say(f"  run   {task.id}")
        return module.work(task, session, folder)

    kind = module.result_type(task)
    folder, fresh = session.services.store.ensure(task.stage, task.name, named, produce, kind)
    if folder.key in session.services.store.taken:
        session.results.taken.add(task.id)
    took_s = time.monotonic() - started
    if fresh and session.services.durations is not None:
        session.services.durations.add(task.id, took_s)
    how = f"done  {task.id} in {took_s:.1f} s" if fresh else f"ok    {task.id}"
    if task.id in session.results.taken:
        how = f"{how}, as an earlier run made it"
    session.services.console.say(f"  {how}")
    return folder, fresh


def _step(task: Task, session: Session, *, explain: bool = True) -> PlanStep:
    """Return what would happen to a task; ``explain``: why, too."""
    waits = [need for need in (*task.needs, *task.wants) if need not in session.results.done]
    if waits:
        return _make_plan_step(task, TaskState.WAITS, f"on {waits[0]}" if explain else "")
    module = MODULES[task.stage]
    try:
        named = module.inputs(task, session)
    except (InputError, ProductFailure, InfrastructureFailure) as error:
        return _make_plan_step(task, TaskState.WAITS, error.message)
    kind = module.result_type(task)
    found = session.services.store.find(task.stage, key_of(task.stage, task.name, named), kind)
    if found is not None:
        session.results.done[task.id] = found
        relative = found.path.relative_to(session.services.store.root)
        return _make_plan_step(task, TaskState.DONE, "up to date", str(relative))
    if not explain:
        return _make_plan_step(task, TaskState.RUN, "")
    previous = session.services.store.previous(task.stage, kind, task.name)
    foreign = previous is None and session.services.store.holds_foreign(task.stage, task.name)
    why = reason(named, previous.inputs if previous else None, foreign=foreign)
    return replace(_make_plan_step(task, TaskState.RUN, why), foreign=foreign)


def _make_plan_step(task: Task, state: TaskState, why: str, folder: str = "") -> PlanStep:
    return PlanStep(
        task=task.id, stage=task.stage, name=task.name, state=state, why=why, folder=folder
    )
