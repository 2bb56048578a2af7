"""Stage `perf`: one contest of a scenario, an experiment's or a trimmed program's.

A program that crashes, hangs or computes something else costs its own row only. What the samples
mean is for the verdict, which sees all rows. Samples that a device job brought are taken as they
are, if they are bound to what is built here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from megtrim.config.device import EMULATED
from megtrim.devices import Device, Lease
from megtrim.devices.retry import run_with_retries
from megtrim.evidence.bundle import binding, deviceless
from megtrim.evidence.times import AskedContest, TimedContest, TimesJudge
from megtrim.perf.contest import METHOD, ContestResult
from megtrim.pipeline.building import programs
from megtrim.pipeline.results import PerfResult
from megtrim.pipeline.running.contest_plan import (
    PlannedContest,
    plan_contest,
    plan_for_runner,
    read_features_here,
)
from megtrim.pipeline.running.scenario_runs import cache_of, scenario_of
from megtrim.pipeline.running.timing import measure
from megtrim.pipeline.session import Session, scenario_inputs
from megtrim.plan.graph import PLAIN, Task
from megtrim.plan.performance import (
    BASE,
    SINCE_PREFIX,
    TRIMMING_PREFIX,
    list_trimmed,
    subject_of,
)
from megtrim.store import sha256_file
from megtrim.strict_json import dump
from megtrim.verdict.model import DeviceIdentity


def inputs(task: Task, session: Session) -> dict[str, str]:
    """Name the programs, all that a run depends on, what is asked, and the way of measuring."""
    if session.request.timed is not None:
        named = named_inputs(task, session)
        planned = plan_for_runner(task, session)
        if isinstance(planned, str):
            return named
        brought = _choose(task, session, planned, session.request.timed)
        digest = hashlib.sha256(dump(brought.result).encode()).hexdigest()
        return named | {"taken elsewhere": digest, "by": brought.device.name}
    return _name_inputs(
        task, session, scenario_inputs(scenario_of(task), session), _plan(task, session)
    )


def named_inputs(task: Task, session: Session) -> dict[str, str]:
    """Name what times that are taken elsewhere depend on: all but the device."""
    bound = deviceless(scenario_inputs(scenario_of(task), session))
    return _name_inputs(task, session, bound, plan_for_runner(task, session))


def _name_inputs(
    task: Task, session: Session, bound: Mapping[str, str], planned: PlannedContest | str
) -> dict[str, str]:
    scenario, subject = scenario_of(task), subject_of(task)
    named = {**bound, **programs.digests(scenario, session, PLAIN, "plain")}
    if subject.startswith(SINCE_PREFIX):
        named |= programs.digests(scenario, session, BASE, "base")
    if subject.startswith(TRIMMING_PREFIX):
        variant = subject.removeprefix(TRIMMING_PREFIX)
        build = dict(list_trimmed(session.request.config))[variant]
        named |= programs.digests(scenario, session, build, variant)
        if cache := cache_of(scenario, session):
            named["algorithm cache"] = sha256_file(cache)
    named["contest"] = planned if isinstance(planned, str) else dump(planned.contest)
    return named | {"method": str(METHOD)}


def _plan(task: Task, session: Session) -> PlannedContest | str:
    return plan_contest(task, session, read_features_here(scenario_of(task), session))


def result_type(_task: Task) -> type[PerfResult]:
    """Return the type of what :func:`work` finds."""
    return PerfResult


def work(task: Task, session: Session, folder: Path) -> PerfResult:
    """Measure, on a machine that is tried again if it fails; or take what device jobs brought."""
    del folder  # the result says everything
    timed = session.request.timed
    planned = _plan(task, session) if timed is None else plan_for_runner(task, session)
    scenario, subject = scenario_of(task), subject_of(task)
    if isinstance(planned, str):
        session.services.console.say(f"  skip  {subject}: {planned}")
        return PerfResult(scenario=scenario.id, subject=subject, skipped=planned)
    if timed is None:
        who, measured = _measure(planned, session, session.services.device(scenario))
    else:
        brought = _choose(task, session, planned, timed)
        who, measured = brought.device, brought.result
    return PerfResult(
        scenario=scenario.id,
        subject=subject,
        device=who,
        emulated=who.kind in EMULATED,
        contest=planned.contest,
        measured=measured,
    )


def _measure(
    planned: PlannedContest, session: Session, device: Device
) -> tuple[DeviceIdentity, ContestResult]:
    say = session.services.console.say

    def attempt(lease: Lease) -> tuple[DeviceIdentity, ContestResult]:
        who = DeviceIdentity(name=lease.name, kind=lease.kind, facts=lease.facts())
        return who, measure(planned.contest, planned.files, lease, say=say)

    return run_with_retries(device, attempt, say=say)


def _choose(
    task: Task, session: Session, planned: PlannedContest, timed: TimesJudge
) -> TimedContest:
    """Return what device jobs brought of a task. Raises InfrastructureFailure for nothing."""
    return timed.choose(
        AskedContest(
            id=task.name,
            cpu_class=scenario_of(task).cpu_class.name,
            binding=binding(named_inputs(task, session)),
            contest=planned.contest,
        )
    )
