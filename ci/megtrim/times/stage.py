"""Stage `perf`: compares times of one scenario, with an experiment or a trimmed program.

What the samples mean is for the verdict, which sees all rows. Samples that a device job brought are
taken as they are, if they are bound to what is built here.
"""

import hashlib
import statistics
from collections.abc import Mapping
from pathlib import Path

from megtrim.core.build_spec import Variant
from megtrim.core.chain.graph import BASE, PLAIN, Stage, Task
from megtrim.core.chain.session import Session, scenario_inputs
from megtrim.core.checks.check import MACHINE_FACTS
from megtrim.core.config.device import EMULATED
from megtrim.core.evidence.binding import DEVICE_LABEL, binding, deviceless
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.trim.builds import applications
from megtrim.core.trim.runs.scenario_runs import cache_of, scenario_of
from megtrim.lab.evidence.bundle import BundleContest
from megtrim.libs.util.console import show_time
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.limits import clean_line
from megtrim.libs.util.strict_json import dump
from megtrim.times.experiments.contest import METHOD, Contest
from megtrim.times.measuring.contest_plan import (
    list_needed_features,
    measure_task,
    plan_contest,
    plan_for_runner,
)
from megtrim.times.outcomes import list_program_sizes
from megtrim.times.plan import (
    PerfResult,
    compares_with_base,
    list_trimmed,
    perf_tasks,
    subject_of,
    trimmed_variant,
)

_NO_BINDING = "0" * 64


def inputs(task: Task, session: Session) -> dict[str, str]:
    timed = session.request.timed
    if timed is None:
        # Outputs are the same on every host, so only times depend on it.
        facts = session.services.device(scenario_of(task)).facts()
        host = {f"{DEVICE_LABEL}{fact}": facts[fact] for fact in MACHINE_FACTS if fact in facts}
        bound = scenario_inputs(scenario_of(task), session) | host
        return _name_inputs(task, session, bound, plan_contest(task, session))
    named = named_inputs(task, session)
    contest = plan_for_runner(task, session)
    if isinstance(contest, str):
        return named
    brought = timed.choose(describe_contest(task, session, contest))
    digest = hashlib.sha256(dump(brought).encode()).hexdigest()
    return named | {"taken elsewhere": digest}


def named_inputs(task: Task, session: Session) -> dict[str, str]:
    bound = deviceless(scenario_inputs(scenario_of(task), session))
    return _name_inputs(task, session, bound, plan_for_runner(task, session))


def _name_inputs(
    task: Task, session: Session, bound: Mapping[str, str], contest: Contest | str
) -> dict[str, str]:
    scenario = scenario_of(task)
    named = {**bound, **applications.digests(scenario, session, PLAIN, "plain")}
    name = applications.name_of(scenario, session.request)
    if compares_with_base(task) and applications.is_built(name, session, BASE):
        named |= applications.digests(scenario, session, BASE, "base")
    if variant := trimmed_variant(task):
        build = dict(list_trimmed(session.config))[variant]
        named |= applications.digests(scenario, session, build, variant)
    own = bool(variant) or scenario.settings.is_command
    if own and (cache := cache_of(scenario, session)):
        named["algorithm cache"] = sha256_file(cache)
    named["contest"] = contest if isinstance(contest, str) else dump(contest)
    return named | {"method": str(METHOD)}


def work(task: Task, session: Session, folder: Path) -> PerfResult:
    del folder  # the result says everything
    timed = session.request.timed
    plan = plan_contest if timed is None else plan_for_runner
    contest = plan(task, session)
    if isinstance(contest, str):
        return _skip(task, session, contest)
    if timed is None:
        session.console.say(f"    time  {_describe_place(task, session)}")
        device, measured = measure_task(task, session, contest)
        if isinstance(measured, str):
            return _skip(task, session, f"{device.name}: {measured}")
    else:
        brought = timed.choose(describe_contest(task, session, contest))
        if brought.result is None:
            return _skip(task, session, brought.skipped)
        device = brought.device
        measured = brought.result
    return PerfResult(
        scenario=scenario_of(task).id,
        subject=subject_of(task),
        device=device,
        emulated=device.kind in EMULATED,
        contest=contest,
        measured=measured,
    )


def _skip(task: Task, session: Session, reason: str) -> PerfResult:
    subject = subject_of(task)
    session.console.say(f"  skip  {subject}: {reason}")
    return PerfResult(scenario=scenario_of(task).id, subject=subject, skipped=reason)


def _describe_place(task: Task, session: Session) -> str:
    """Which of all comparisons this is, and how long the rest takes if it is like the others."""
    request = session.request
    every = perf_tasks(
        request.config, committed=request.options.committed, since_base=bool(request.base)
    )
    ids = [each.id for each in every if each.stage is Stage.PERF]
    before = ids.index(task.id)
    took_s = []
    for id_ in ids[:before]:
        if id_ in session.done:
            measured = session.done[id_].result_as(PerfResult).measured
            took_s.append(measured.time_s if measured is not None else 0.0)
    left_s = statistics.mean(took_s) * (len(ids) - before) if took_s else 0.0
    left = f", about {show_time(left_s)} left" if left_s else ""
    return f"comparison {before + 1} of {len(ids)}{left}"


def describe_contest(
    task: Task,
    session: Session,
    contest: Contest | None,
    *,
    unheld: PerformanceStatus | None = None,
    reason: str = "",
) -> BundleContest:
    scenario = scenario_of(task)
    variant = trimmed_variant(task)
    artifact = applications.name_of(scenario, session.request)
    sizes = list_program_sizes(artifact, session) if variant else {}
    reference = Variant.BASE if compares_with_base(task) else Variant.PLAIN
    try:
        bound_to = binding(named_inputs(task, session)) if contest else _NO_BINDING
        return BundleContest(
            id=task.name,
            scenario=scenario.id,
            cpu_class=scenario.cpu_class.name,
            binding=bound_to,
            contest=contest,
            unheld=unheld,
            reason=clean_line(reason),
            artifact=artifact,
            whole=scenario.settings.is_command,
            cpu_features=list_needed_features(task),
            reference=reference,
            rival=Variant(variant or Variant.PLAIN),
            sizes=tuple((Variant(name), count) for name, count in sizes.items()),
        )
    except ValueError as error:
        msg = f"{session.request.loaded.where(*scenario.path)}: {error}"
        hint = "change it in the configuration: devices on runners take nothing else"
        raise InputError(msg, hint=hint) from None
