"""``megtrim perf run``: measure experiments, and what trimming does to speed."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from megtrim.core import stages
from megtrim.core.build_spec import Origin
from megtrim.core.chain.graph import Stage
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.clock import read_now
from megtrim.core.cli.echo import show
from megtrim.core.cli.session.setup import describe, open_session
from megtrim.core.cli.stage import read_made_verdict, show_results
from megtrim.core.config.device import EMULATED
from megtrim.core.config.model import Config
from megtrim.core.config.performance import PerfConfig
from megtrim.core.config.problems import suggest
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.evidence.evidence import JobPurpose
from megtrim.core.timing.catalogue import find_experiments
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.trim.runs.scenario_runs import scenario_of
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.performance import Performance
from megtrim.lab.evidence.times import TimesJudge, read_times
from megtrim.lab.jobs.pack import list_devices
from megtrim.libs.history.entries import show_time
from megtrim.libs.util.errors import InfrastructureFailure, InputError, worst_exit_code
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.wording import count
from megtrim.times.plan import TRIMMING, perf_tasks


def expect_real_devices(scenarios: Iterable[Scenario], session: Session, *, emulated: bool) -> None:
    devices = {scenario.cpu_class.name: session.services.device(scenario) for scenario in scenarios}
    for name, device in sorted(devices.items()):
        if device.kind in EMULATED:
            msg = f"class {name}: {device.name} is emulated ({device.kind}): its times mean nothing"
            if not emulated:
                hint = "measure on a device (--device), or try it out with --emulated"
                raise InputError(msg, hint=hint)
            session.console.warn(msg)


def run(
    options: Options,
    experiments: tuple[str, ...],
    scenarios: tuple[str, ...],
    rounds: int | None,
    folders: tuple[Path, ...],
    runs: Path | None,
    emulated: bool,
) -> int:
    session = _narrow(open_session(options), experiments, scenarios, rounds)
    if folders:
        session = _take_times(session, folders)
    if runs is not None:
        _expect_commit(session.request.origin)
    describe(session)
    request = session.request
    wanted = perf_tasks(
        request.config, committed=request.options.committed, since_base=bool(request.base)
    )
    timed = [task for task in wanted if task.stage is Stage.PERF]
    if not folders:
        expect_real_devices(map(scenario_of, timed), session, emulated=emulated)
    if options.again:
        for task in timed:
            session.services.store.discard(Stage.PERF, task.name)
    ran, codes = stages.run(wanted, session)
    if ran == 0 and not session.results.failed:
        session.console.say("everything is up to date: nothing was built or measured")
    show_results(session, Stage.REPORT, wanted, as_json=options.as_json)
    verdict = read_made_verdict(session)
    if verdict is not None and (lost := describe_lost(verdict.performance)):
        session.console.warn(lost)
        codes.append(InfrastructureFailure.exit_code)
    if runs is not None:
        _write_runs(verdict, runs, is_new=ran > 0)
    return worst_exit_code(codes)


def _expect_commit(origin: Origin) -> None:
    if not origin.commit or origin.changed:
        found = "files that differ from the commit" if origin.commit else "no commit"
        msg = f"--runs: found {found}, but a history records the commit of its times"
        raise InputError(msg, hint="commit the configuration and the files that it names")


def _write_runs(verdict: Verdict | None, folder: Path, *, is_new: bool) -> None:
    """A run that is written twice would count as two nights."""
    # They bring statistics, which nothing else here needs.
    from megtrim.times.nights.history import MeasuredCommit
    from megtrim.times.nights.night import NightFacts, make_runs

    if not is_new:
        show("--runs: nothing was measured now, so nothing is written; --again measures")
    if verdict is None or not is_new:
        return
    commit = MeasuredCommit(
        sha=verdict.origin.commit, parent="", committed_at=verdict.origin.committed_at
    )
    measured_at = show_time(read_now())
    written = make_runs(verdict, NightFacts(commit=commit, measured_at=measured_at, job=""))
    for each in (run for run in written if run.has_times):
        file = folder / f"{each.id}.json"
        write_atomically(file, dump(each))
        show(f"run: {file}")


def describe_lost(performance: Performance | None) -> str:
    """Say which comparisons have no time because of their device; empty if there are none."""
    rows = performance.all_rows if performance else ()
    lost = [row for row in rows if row.status is PerformanceStatus.INFRASTRUCTURE]
    if not lost:
        return ""
    why = f": {lost[0].reason}" if lost[0].reason else ""
    counted = f"{len(lost)} of {count(len(rows), 'comparison')}"
    return f"{counted} measured nothing, first {lost[0].subject}{why}"


def _take_times(session: Session, folders: tuple[Path, ...]) -> Session:
    request = session.request
    brought, problems = read_times(folders, config=request.invocation.config)
    for problem in problems:
        session.console.warn(problem)
    devices = list_devices(request, JobPurpose.TIME)
    judge = TimesJudge(brought=brought, devices=devices, pending=None, today=request.today)
    return replace(session, request=replace(request, timed=judge))


def _narrow(
    session: Session, experiments: tuple[str, ...], scenarios: tuple[str, ...], rounds: int | None
) -> Session:
    loaded = session.request.loaded
    asked = ask(loaded.config.perf, experiments, rounds)
    if scenarios:
        for name in scenarios:
            find_scenarios(name, loaded.config)
        asked = asked.model_copy(update={"scenarios": scenarios, "classes": ()})
    config = loaded.config.model_copy(update={"perf": asked})
    return replace(session, request=replace(session.request, loaded=replace(loaded, config=config)))


def ask(perf: PerfConfig, experiments: tuple[str, ...], rounds: int | None) -> PerfConfig:
    if experiments:
        names = tuple(name for name in experiments if name != TRIMMING)
        if names:
            find_experiments(names)
        trimming = TRIMMING in experiments
        update = {"experiments": names, "recipes": (), "trimming": trimming}
        perf = perf.model_copy(update=update)
    if rounds is not None:
        perf = perf.model_copy(update={"budget": perf.budget.model_copy(update={"rounds": rounds})})
    return perf


def find_scenarios(text: str, config: Config) -> tuple[Scenario, ...]:
    every = tuple(all_scenarios(config))
    found = tuple(scenario for scenario in every if text in scenario.names)
    if not found:
        known = [scenario.id for scenario in every]
        wrong = f"found {text[:80]!r}, expected one of {', '.join(known)}"
        msg = f"scenario: {wrong}{suggest(text, known)}"
        raise InputError(msg)
    return found
