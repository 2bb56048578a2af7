"""From a task that measures to its contest: which programs, which flags, which files."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path

from megtrim.config.scenarios import Scenario
from megtrim.devices.cpu_features import read_cpu_features
from megtrim.errors import InputError
from megtrim.load_and_run.argument_mutation import render_flags
from megtrim.load_and_run.arguments import Flag, ProgramArguments, compose, flags
from megtrim.load_and_run.parity import Tolerance
from megtrim.models.reader import read_model
from megtrim.perf.contest import FEWEST_ROUNDS, Contest, Contestant, ContestBudget, Side
from megtrim.perf.criterion import Criterion
from megtrim.perf.experiments.commands import ITERATIONS, StepCommand, StepFiles, make_commands
from megtrim.perf.experiments.experiment import CacheUse, DataType, Experiment, Step
from megtrim.perf.experiments.scenario_flags import drop_counts, keep_for_experiments
from megtrim.perf.experiments.situation import (
    Situation,
    choose_backend,
    find_data_type,
    why_not,
)
from megtrim.perf.experiments.table import BASELINE, find_experiments
from megtrim.pipeline.building import programs
from megtrim.pipeline.running.scenario_runs import cache_of, scenario_of
from megtrim.pipeline.running.timing_runs import ContestFiles
from megtrim.pipeline.session import Session
from megtrim.plan.graph import PLAIN, Task
from megtrim.plan.performance import TRIMMING_PREFIX, list_trimmed, subject_of

_SEED_BYTES = 4
_OF_APPLICATION = "the scenario runs an application, which prints no times that megtrim reads"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedContest:
    """A contest, and its files on this machine."""

    contest: Contest
    files: ContestFiles


def plan_contest(task: Task, session: Session) -> PlannedContest | str:
    """Return the contest of a task, or the reason why it cannot be held."""
    scenario = scenario_of(task)
    if scenario.settings.application is not None:
        return _OF_APPLICATION
    subject = subject_of(task)
    if subject.startswith(TRIMMING_PREFIX):
        return _plan_trimming(scenario, subject.removeprefix(TRIMMING_PREFIX), session)
    experiment = find_experiments([subject])[0]
    situation = look_at(scenario, session)
    reason = why_not(experiment, situation)
    return reason or _plan_experiment(experiment, scenario, situation, session)


def look_at(scenario: Scenario, session: Session) -> Situation:
    """Return what a scenario's experiments have here."""
    machine = session.services.toolchain.machine
    own = session.services.device(scenario).kind == "local" and machine == platform.machine()
    return Situation(
        dialect=session.services.engine.dialect(),
        architecture=machine,
        cpu_features=read_cpu_features() if own else None,
        data_type=_find_data_type(session.request.path(scenario.model.file)),
    )


def _find_data_type(model: Path) -> DataType | None:
    """Return what a model computes with; a format that only the engine reads is not known."""
    try:
        return find_data_type(read_model(model).dtypes)
    except InputError:
        return None


def _plan_experiment(
    experiment: Experiment, scenario: Scenario, situation: Situation, session: Session
) -> PlannedContest:
    program = programs.program(scenario, session.request, session.results.done[PLAIN])
    files = _files(scenario, session, {Side.REFERENCE: program, Side.RIVAL: program}, cache=None)
    kept = keep_for_experiments(own_flags(scenario, session))

    def make(side: Side, chosen: Experiment) -> Contestant:
        commands = make_commands(
            chosen,
            files.names_of(side),
            dialect=situation.dialect,
            backend=choose_backend(chosen, situation),
            architecture=situation.architecture,
            threads=scenario.settings.threads,
            extra=render_flags(kept, situation.dialect),
        )
        return Contestant(name=chosen.name, commands=commands)

    alone = experiment.name == BASELINE
    return PlannedContest(
        contest=_make_contest(
            scenario,
            session,
            make(Side.REFERENCE, find_experiments([BASELINE])[0]),
            None if alone else make(Side.RIVAL, experiment),
            loosen(scenario.settings.allowed, experiment.tolerance),
        ),
        files=files,
    )


def _plan_trimming(scenario: Scenario, variant: str, session: Session) -> PlannedContest:
    build = session.results.done[dict(list_trimmed(session.request.config))[variant]]
    found = {
        Side.REFERENCE: programs.program(scenario, session.request, session.results.done[PLAIN]),
        Side.RIVAL: programs.program(scenario, session.request, build),
    }
    files = _files(scenario, session, found, cache=cache_of(scenario, session))
    names = {Side.REFERENCE: PLAIN.partition("/")[2], Side.RIVAL: variant}

    def make(side: Side) -> Contestant:
        command = _own_command(scenario, session, files.names_of(side), cached=bool(files.cache))
        return Contestant(name=names[side], commands=(command,))

    return PlannedContest(
        contest=_make_contest(
            scenario,
            session,
            make(Side.REFERENCE),
            make(Side.RIVAL),
            scenario.settings.allowed,
        ),
        files=files,
    )


def _own_command(
    scenario: Scenario, session: Session, names: StepFiles, *, cached: bool
) -> StepCommand:
    """Return the scenario's own command line, with the counts of a measured run."""
    dialect = session.services.engine.dialect()
    own, warmups = drop_counts(own_flags(scenario, session))
    counts = (Flag("warmup_iter", str(warmups)), Flag("iter", str(ITERATIONS)))
    arguments = ProgramArguments(
        program=names.program,
        model=names.model,
        arguments=render_flags((*own, *counts), dialect),
        inputs=names.inputs,
        threads=scenario.settings.threads,
        algo_cache=names.algo_cache if cached else None,
    )
    step = Step(flags=own, warmups=warmups, cache=CacheUse.READS if cached else CacheUse.NONE)
    return StepCommand(step=step, argv=compose(arguments), iterations=ITERATIONS)


def own_flags(scenario: Scenario, session: Session) -> tuple[Flag, ...]:
    dialect = session.services.engine.dialect()
    return flags(scenario.settings.args, dialect=dialect, source=scenario.id)


def _files(
    scenario: Scenario, session: Session, found: dict[Side, Path], *, cache: Path | None
) -> ContestFiles:
    inputs = scenario.settings.inputs
    return ContestFiles(
        programs=found,
        model=session.request.path(scenario.model.file),
        inputs={name: session.request.path(path) for name, path in inputs.items()},
        cache=cache,
    )


def _make_contest(
    scenario: Scenario,
    session: Session,
    reference: Contestant,
    rival: Contestant | None,
    tolerance: Tolerance,
) -> Contest:
    perf = session.request.config.perf
    budget, criterion = perf.contest_budget, perf.criterion
    if rival is None:  # nothing is decided, so what decides is no reason to measure again
        budget, criterion = ContestBudget(rounds=FEWEST_ROUNDS, time_s=budget.time_s), Criterion()
    named = f"{scenario.id} {(rival or reference).name}"
    digest = hashlib.sha256(named.encode()).digest()
    return Contest(
        criterion=criterion,
        reference=reference,
        rival=rival,
        budget=budget,
        tolerance=tolerance,
        threads=scenario.settings.threads,
        timeout_s=scenario.settings.timeout_s,
        seed=int.from_bytes(digest[:_SEED_BYTES]),
    )


def loosen(first: Tolerance, second: Tolerance) -> Tolerance:
    """Return what either allows: a scenario's own may cover what an experiment's does not."""
    return Tolerance(
        absolute=max(first.absolute, second.absolute),
        relative=max(first.relative, second.relative),
    )
