"""From a task that measures to its contest: which programs, which flags, which files."""

from dataclasses import replace

from megtrim.core.build_spec import Variant
from megtrim.core.chain.graph import BASE, PLAIN, Task
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.scenarios import Scenario
from megtrim.core.own_program import find_dialect
from megtrim.core.project import read_any_model
from megtrim.core.timing.catalogue import BASELINE, find_experiments
from megtrim.core.timing.experiment import CacheUse, Experiment, Step
from megtrim.core.timing.spec import FEWEST_ROUNDS, SEARCH_ROUNDS, Criterion
from megtrim.core.trim.builds import applications
from megtrim.core.trim.runs.scenario_runs import cache_of, make_run_spec, scenario_of
from megtrim.libs.programs.flags import Flag, parse_flags, render_flags
from megtrim.libs.programs.parity import EXACT, Tolerance
from megtrim.libs.util.errors import InputError
from megtrim.places.devices.cpu import read_device_features
from megtrim.places.devices.device import Lease
from megtrim.places.devices.retry import run_with_retries
from megtrim.times.experiments.commands import (
    ITERATIONS,
    OF_FLAGS,
    Situation,
    StepCommand,
    StepFiles,
    choose_backend,
    describe_lacking,
    drop_counts,
    find_data_type,
    keep_for_experiments,
    make_commands,
    why_not,
)
from megtrim.times.experiments.contest import (
    Contest,
    Contestant,
    ContestResult,
    Side,
    derive_seed,
    name_files,
)
from megtrim.times.measuring.timing import measure
from megtrim.times.measuring.timing_runs import ContestFiles
from megtrim.times.measuring.whole_runs import CommandFiles
from megtrim.times.plan import compares_with_base, experiment_of, list_trimmed, trimmed_variant


def plan_contest(task: Task, session: Session) -> Contest | str:
    return _plan(task, session, here=True)


def plan_for_runner(task: Task, session: Session) -> Contest | str:
    cpu_class = scenario_of(task).cpu_class.name
    devices = session.config.devices
    if cpu_class in session.config.hosted_classes:
        return f"class {cpu_class} runs on machines of GitHub's, whose times are not compared"
    if not any(device.runner and device.class_ == cpu_class for device in devices):
        return f"no device of class {cpu_class} is attached to a runner"
    return _plan(task, session, here=False)


def list_needed_features(task: Task) -> tuple[str, ...]:
    if trimmed_variant(task):
        return ()
    return find_experiments([experiment_of(task)])[0].needs.cpu_features


def look_at(scenario: Scenario, session: Session, *, here: bool = True) -> Situation:
    """What the CPU of a runner's device can do is not known ``here``."""
    machine = session.services.toolchain.machine
    try:
        facts = read_any_model(session.request.path(scenario.own_model.file))
        data_type = find_data_type(facts.dtypes)
    except InputError:
        data_type = None  # a format that only the engine reads
    kind = session.services.device(scenario).kind if here else ""
    return Situation(
        dialect=find_dialect(session.services.engine.flags),
        architecture=machine,
        cpu_features=read_device_features(kind, machine) if here else None,
        data_type=data_type,
    )


def find_files(task: Task, session: Session) -> ContestFiles | CommandFiles:
    scenario = scenario_of(task)
    variant = trimmed_variant(task)
    reference = BASE if compares_with_base(task) else PLAIN
    rival = dict(list_trimmed(session.config))[variant] if variant else PLAIN
    request = session.request
    builds = session.done
    programs = {
        Side.REFERENCE: applications.program(scenario, request, builds[reference]),
        Side.RIVAL: applications.program(scenario, request, builds[rival]),
    }
    if scenario.settings.is_command:
        cache = cache_of(scenario, session)
        specs = {
            side: make_run_spec(scenario, session, program, cache=cache).with_own_rest()
            for side, program in programs.items()
        }
        return CommandFiles(specs=specs, vary=scenario.judgement.vary)
    inputs = {name: request.path(path) for name, path in scenario.settings.inputs.items()}
    return ContestFiles(
        programs=programs,
        model=request.path(scenario.own_model.file),
        inputs=inputs,
        cache=cache_of(scenario, session) if variant else None,
    )


def measure_task(
    task: Task, session: Session, contest: Contest
) -> tuple[DeviceIdentity, ContestResult | str]:
    """Return the machine and its times, or what its CPU does not have."""
    device = session.services.device(scenario_of(task))
    files = find_files(task, session)
    say = session.console.say
    machine = session.services.toolchain.machine

    def attempt(lease: Lease) -> tuple[DeviceIdentity, ContestResult | str]:
        who = DeviceIdentity(name=lease.name, kind=lease.kind, facts=lease.facts())
        features = read_device_features(lease.kind, machine, who.facts)
        lacking = describe_lacking(list_needed_features(task), features)
        return who, lacking or measure(contest, files, lease, say=say)

    return run_with_retries(device, attempt, say=say)


def _plan(task: Task, session: Session, *, here: bool) -> Contest | str:
    scenario = scenario_of(task)
    if compares_with_base(task) and _is_new(scenario, session):
        return "the earlier commit has no such program"
    if scenario.settings.is_command:
        return _plan_command(task, scenario, session)
    if variant := trimmed_variant(task):
        return _plan_trimming(scenario, variant, session)
    experiment = find_experiments([experiment_of(task)])[0]
    situation = look_at(scenario, session, here=here)
    if reason := why_not(experiment, situation):
        return reason
    since_base = compares_with_base(task)
    return _plan_experiment(experiment, scenario, situation, session, since_base=since_base)


def _is_new(scenario: Scenario, session: Session) -> bool:
    name = applications.name_of(scenario, session.request)
    return BASE in session.done and not applications.is_built(name, session, BASE)


def _plan_command(task: Task, scenario: Scenario, session: Session) -> Contest | str:
    variant = trimmed_variant(task)
    allowed = scenario.settings.allowed
    baseline = Contestant(name=BASELINE)
    if variant:
        plain = Contestant(name=Variant.PLAIN)
        return _make_contest(scenario, session, plain, Contestant(name=variant), allowed)
    if experiment_of(task) != BASELINE:
        return OF_FLAGS
    if compares_with_base(task):
        base = Contestant(name=Variant.BASE)
        return _make_contest(scenario, session, base, baseline, allowed)
    return _make_contest(scenario, session, baseline, None, allowed)


def _plan_experiment(
    experiment: Experiment,
    scenario: Scenario,
    situation: Situation,
    session: Session,
    *,
    since_base: bool,
) -> Contest:
    kept = keep_for_experiments(own_flags(scenario, session))

    def make(side: Side, chosen: Experiment, name: str) -> Contestant:
        commands = make_commands(
            chosen,
            _name_files(scenario, side),
            dialect=situation.dialect,
            backend=choose_backend(chosen, situation),
            architecture=situation.architecture,
            threads=scenario.settings.threads,
            extra=render_flags(kept, situation.dialect),
        )
        return Contestant(name=name, commands=commands)

    baseline = find_experiments([BASELINE])[0]
    other, name = (experiment, str(Variant.BASE)) if since_base else (baseline, BASELINE)
    alone = experiment.name == name
    # A scenario's own tolerance may cover what an experiment's does not.
    allowed = scenario.settings.allowed
    usual = experiment.tolerance
    tolerance = Tolerance(
        absolute=max(allowed.absolute, usual.absolute),
        relative=max(allowed.relative, usual.relative),
    )
    return _make_contest(
        scenario,
        session,
        make(Side.REFERENCE, other, name),
        None if alone else make(Side.RIVAL, experiment, experiment.name),
        EXACT if alone else tolerance,
    )


def _plan_trimming(scenario: Scenario, variant: str, session: Session) -> Contest:
    cached = scenario.settings.algo_cache is not None or scenario.searches
    dialect = find_dialect(session.services.engine.flags)
    own, warmups = drop_counts(own_flags(scenario, session))
    counts = (Flag("warmup_iter", str(warmups)), Flag("iter", str(ITERATIONS)))

    def make(side: Side, name: str) -> Contestant:
        names = _name_files(scenario, side)
        step = Step(flags=own, warmups=warmups, cache=CacheUse.READS if cached else CacheUse.NONE)
        words = render_flags((*own, *counts), dialect)
        argv = names.compose(step, words, threads=scenario.settings.threads)
        command = StepCommand(step=step, argv=argv, iterations=ITERATIONS)
        return Contestant(name=name, commands=(command,))

    reference = make(Side.REFERENCE, Variant.PLAIN)
    rival = make(Side.RIVAL, variant)
    return _make_contest(scenario, session, reference, rival, scenario.settings.allowed)


def own_flags(scenario: Scenario, session: Session) -> tuple[Flag, ...]:
    dialect = find_dialect(session.services.engine.flags)
    return parse_flags(scenario.settings.args, dialect=dialect, source=scenario.id)


def _name_files(scenario: Scenario, side: Side) -> StepFiles:
    inputs = scenario.settings.inputs
    return name_files(side, inputs={name: path.suffix for name, path in inputs.items()})


def _make_contest(
    scenario: Scenario,
    session: Session,
    reference: Contestant,
    rival: Contestant | None,
    tolerance: Tolerance,
) -> Contest:
    perf = session.config.perf
    budget = perf.contest_budget
    criterion = perf.criterion
    if rival is None:  # nothing is decided, so what decides is no reason to measure again
        budget = replace(budget, rounds=FEWEST_ROUNDS)
        criterion = Criterion(other_load=criterion.other_load)
    elif reference.searches or rival.searches:
        budget = replace(budget, rounds=SEARCH_ROUNDS)
    return Contest(
        criterion=criterion,
        reference=reference,
        rival=rival,
        budget=budget,
        tolerance=tolerance,
        threads=scenario.settings.threads,
        environment=scenario.settings.variables,
        timeout_s=scenario.settings.timeout_s,
        seed=derive_seed(f"{scenario.id} {(rival or reference).name}"),
    )
