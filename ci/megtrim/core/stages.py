"""Every stage, and running a plan: each task once for equal inputs, in order.

A stage module has two functions. ``inputs`` names everything that the result depends on, each as a
short text or a digest; ``work`` does it in an empty folder and returns the result for the manifest,
of the type that its signature states. Stages read former results from the store, and do not import
each other.

Bad input and Ctrl-C end a chain at once. A product or infrastructure failure ends only what
depends on it: the verdict speaks of it, and the chain exits as its worst stage.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import get_args, get_type_hints

from megtrim.core.chain.graph import Stage, Task, keep_task, on_demand, with_dependencies
from megtrim.core.chain.graph import tasks as tasks_of
from megtrim.core.chain.result_store import StageFolder, Store, key_of
from megtrim.core.chain.session import Session, StageModule, TaskResults
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.parts import find_parts, load
from megtrim.core.proof import stage as verify
from megtrim.core.report import stage as report
from megtrim.core.size import stage as size
from megtrim.core.size.references import stage as references
from megtrim.core.trim import committed_keepset
from megtrim.core.trim.stages import build, functions, header, profile, reduce
from megtrim.core.verdict import stage as verdict
from megtrim.libs.util.errors import (
    EXIT_PASS,
    InfrastructureFailure,
    InputError,
    ProductFailure,
    worst_exit_code,
)
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count, shorten


class StageSpec(Value):
    module: StageModule
    find_type: Callable[[Task], type[StageResult]] | None = None
    """Which type the result of a task has; None: the stage has one type for all of them."""


_STAGES: Mapping[Stage, StageSpec] = {
    Stage.BUILD: StageSpec(module=build),
    Stage.PROFILE: StageSpec(module=profile, find_type=profile.result_type),
    Stage.HEADER: StageSpec(module=header),
    Stage.REDUCE: StageSpec(module=reduce, find_type=reduce.result_type),
    Stage.FUNCTIONS: StageSpec(module=functions, find_type=functions.result_type),
    Stage.VERIFY: StageSpec(module=verify, find_type=verify.result_type),
    Stage.SIZE: StageSpec(module=size),
    Stage.VERDICT: StageSpec(module=verdict),
    Stage.REPORT: StageSpec(module=report),
    Stage.REFERENCES: StageSpec(module=references),
}
"""The core's own; parts hand in the others."""
OTHER_VERSION = "another version of megtrim made its last result"
_SHOWN = 3
_SHORT = 40


class TaskState(StrEnum):
    DONE = "done"
    RUN = "run"
    WAITS = "waits"
    """Whether it runs depends on the results of earlier tasks."""


class PlanStep(Value):
    task: str
    stage: str
    name: str
    state: TaskState
    why: str
    folder: str


def find_stage(stage: Stage) -> StageSpec:
    """Return the core's own, or the one that a part hands in."""
    if stage in _STAGES:
        return _STAGES[stage]
    return StageSpec(module=load(find_parts().stages.get(stage, ""), f"the stage {stage}"))


def find_module(stage: Stage) -> StageModule:
    return find_stage(stage).module


def list_result_types(stage: Stage) -> tuple[type[StageResult], ...]:
    stated = get_type_hints(find_module(stage).work)["return"]
    return get_args(stated) or (stated,)


def result_type(task: Task) -> type[StageResult]:
    spec = find_stage(task.stage)
    if spec.find_type is not None:
        return spec.find_type(task)
    [only] = list_result_types(task.stage)
    return only


def run(tasks: Sequence[Task], session: Session) -> tuple[int, list[int]]:
    ran = 0
    codes = []
    kept = []
    can = able(session)
    for task in tasks:
        if _is_ready(task, can):
            fresh, code = _attempt(task, can)
            ran += fresh
            codes.append(code)
            if not fresh and task.id in can.results.done:
                kept.append(task.id)
    if kept:
        others = f" and {len(kept) - _SHOWN:,} more" if len(kept) > _SHOWN else ""
        names = f"{', '.join(kept[:_SHOWN])}{others}"
        session.console.say(f"  ok    {count(len(kept), 'result')} up to date: {names}")
    return ran, codes


def able(session: Session) -> Session:
    results = replace(session.results, make=lambda task_id: obtain(task_id, session))
    return replace(session, results=results)


def obtain(task_id: str, session: Session) -> StageFolder | None:
    """For results that only some runs need. What failed is not tried again: None."""
    config = session.config
    planned = (*tasks_of(config, committed=session.request.options.committed), *on_demand(config))
    ids = {task.id for task in planned}
    # A build that the committed keep set spared may be wanted all the same.
    every = (*planned, *(task for task in tasks_of(config) if task.id not in ids))
    for task in with_dependencies([task_id], every):
        known = task.id in session.done or task.id in session.results.failed
        if not known and _is_ready(task, session):
            _attempt(task, session)
    return session.done.get(task_id)


def _is_ready(task: Task, session: Session) -> bool:
    missing = [need for need in task.needs if need not in session.done]
    if missing:
        session.console.say(f"  skip  {task.id}: {missing[0]} did not succeed")
    return not missing


def _attempt(task: Task, session: Session) -> tuple[bool, int]:
    stale = EXIT_PASS
    try:
        folder, fresh = _ensure(task, session)
        if task.id == keep_task(session.config):
            stale = committed_keepset.settle(session, folder)
    except (ProductFailure, InfrastructureFailure) as failure:
        if session.request.private:
            failure.shorten()
        failure.complete(session.request.invocation.place)
        session.results.failed[task.id] = failure
        session.console.warn(f"{task.id}: {failure}")
        return False, failure.exit_code
    session.done[task.id] = folder
    return fresh, worst_exit_code([stale, folder.result.exit_code])


def plan(tasks: Sequence[Task], session: Session) -> tuple[PlanStep, ...]:
    return tuple(_step(task, session) for task in tasks)


def list_todo(tasks: Sequence[Task], session: Session) -> tuple[str, ...]:
    # What is found here, warnings of damage among it, is for the run itself.
    services = replace(session.services, store=Store(session.services.store.root))
    fresh = TaskResults(done=dict(session.done))
    quiet = replace(session, services=services, results=fresh)
    steps = [_step(task, quiet, explain=False) for task in tasks]
    return tuple(each.task for each in steps if each.state is not TaskState.DONE)


def _ensure(task: Task, session: Session) -> tuple[StageFolder, bool]:
    started = time.monotonic()
    module = find_module(task.stage)
    named = module.inputs(task, session)

    def produce(folder: Path) -> StageResult:
        session.console.say(f"  run   {task.id}")
        return module.work(task, session, folder)

    folder, fresh = session.services.store.ensure(
        task.stage, task.name, named, produce, result_type(task)
    )
    if folder.key in session.services.store.taken:
        session.results.taken.add(task.id)
    took_s = time.monotonic() - started
    if fresh and session.services.durations is not None:
        session.services.durations.add(task.id, took_s)
    taken = task.id in session.results.taken
    if fresh or taken:
        how = f"done  {task.id} in {took_s:.1f} s" if fresh else f"ok    {task.id}"
        earlier = ", as an earlier run made it" if taken else ""
        session.console.say(f"  {how}{earlier}")
    return folder, fresh


def _step(task: Task, session: Session, *, explain: bool = True) -> PlanStep:
    def step(state: TaskState, why: str, folder: str = "") -> PlanStep:
        return PlanStep(
            task=task.id, stage=task.stage, name=task.name, state=state, why=why, folder=folder
        )

    waits = [need for need in (*task.needs, *task.wants) if need not in session.done]
    if waits:
        return step(TaskState.WAITS, f"on {waits[0]}")
    store = session.services.store
    try:
        named = find_module(task.stage).inputs(task, session)
    except (InputError, ProductFailure, InfrastructureFailure) as error:
        return step(TaskState.WAITS, error.message)
    kind = result_type(task)
    found = store.find(task.stage, key_of(task.stage, task.name, named), kind)
    if found is not None:
        session.done[task.id] = found
        return step(TaskState.DONE, "up to date", str(found.path.relative_to(store.root)))
    if not explain:  # all earlier results of the stage would be read for it
        return step(TaskState.RUN, "")
    previous = store.previous(task.stage, kind, task.name)
    if previous is None and store.holds_foreign(task.stage, task.name):
        return step(TaskState.RUN, OTHER_VERSION)
    return step(TaskState.RUN, reason(named, previous.inputs if previous else None))


def reason(now: Mapping[str, str], before: Mapping[str, str] | None) -> str:
    if before is None:
        return "there is no result yet"
    changed = [
        _change(label, before.get(label), now.get(label))
        for label in sorted({*now, *before})
        if before.get(label) != now.get(label)
    ]
    if not changed:
        return "its folder is incomplete: an earlier run was interrupted"
    return _some(changed, "; ")


def _change(label: str, before: str | None, now: str | None) -> str:
    if before is None:
        return f"{label} is new"
    if now is None:
        return f"{label} is gone"
    if "\n" in before + now:
        return f"{label} changed ({_items(before.splitlines(), now.splitlines())})"
    if " " in before + now:
        return f"{label} changed ({_items(before.split(), now.split())})"
    return f"{label} changed ({_short(before)} → {_short(now)})"


def _items(before: Sequence[str], now: Sequence[str]) -> str:
    added = [f"+ {_short(item)}" for item in now if item not in before]
    gone = [f"- {_short(item)}" for item in before if item not in now]
    return _some([*added, *gone], ", ") or "the same in another order"


def _some(texts: Sequence[str], between: str) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return between.join(texts[:_SHOWN]) + more


def _short(value: str) -> str:
    if len(value) == 64 and value.isalnum():  # a digest: its head is enough to tell them apart
        return value[:8]
    return shorten(value, _SHORT, _SHORT // 2 - 1)
