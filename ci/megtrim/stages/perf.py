"""Stage `perf`: one contest of a scenario, an experiment's or a trimmed program's.

A program that crashes, hangs or computes something else costs its own row only. What the samples
mean is for the verdict, which sees all rows.
"""

from __future__ import annotations

from pathlib import Path

from megtrim.config.device import EMULATED
from megtrim.devices import Lease
from megtrim.devices.retry import run_with_retries
from megtrim.perf.contest import METHOD, ContestResult
from megtrim.pipeline.building import programs
from megtrim.pipeline.results import PerfResult
from megtrim.pipeline.running.contest_plan import find_files, plan_contest
from megtrim.pipeline.running.scenario_runs import cache_of, scenario_of
from megtrim.pipeline.running.timing import measure
from megtrim.pipeline.session import Session, scenario_inputs
from megtrim.plan.graph import PLAIN, Task
from megtrim.plan.performance import list_trimmed, subject_of, trimmed_variant
from megtrim.store import sha256_file
from megtrim.strict_json import dump
from megtrim.verdict.model import DeviceIdentity


def inputs(task: Task, session: Session) -> dict[str, str]:
    """Name the programs, all that a run depends on, what is asked, and the way of measuring."""
    scenario = scenario_of(task)
    named = scenario_inputs(scenario, session)
    named |= programs.digests(scenario, session, PLAIN, "plain")
    if variant := trimmed_variant(task):
        build = dict(list_trimmed(session.request.config))[variant]
        named |= programs.digests(scenario, session, build, variant)
        if cache := cache_of(scenario, session):
            named["algorithm cache"] = sha256_file(cache)
    contest = plan_contest(task, session)
    named["contest"] = contest if isinstance(contest, str) else dump(contest)
    return named | {"method": str(METHOD)}


def result_type(_task: Task) -> type[PerfResult]:
    """Return the type of what :func:`work` finds."""
    return PerfResult


def work(task: Task, session: Session, folder: Path) -> PerfResult:
    """Measure, on a machine that is tried again if it fails."""
    del folder  # the result says everything
    contest = plan_contest(task, session)
    scenario, subject = scenario_of(task), subject_of(task)
    say = session.services.console.say
    if isinstance(contest, str):
        say(f"  skip  {subject}: {contest}")
        return PerfResult(scenario=scenario.id, subject=subject, skipped=contest)
    device, files = session.services.device(scenario), find_files(task, session)

    def attempt(lease: Lease) -> tuple[DeviceIdentity, ContestResult]:
        who = DeviceIdentity(name=lease.name, kind=lease.kind, facts=lease.facts())
        return who, measure(contest, files, lease, say=say)

    who, measured = run_with_retries(device, attempt, say=say)
    return PerfResult(
        scenario=scenario.id,
        subject=subject,
        device=who,
        emulated=who.kind in EMULATED,
        contest=contest,
        measured=measured,
    )
