"""``megtrim perf list``: the experiments, what they need, and which of them can run."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.core.cli.echo import complain, show, show_json
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.setup import find_toolchain, open_engine
from megtrim.core.config.load import load_config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.own_program import find_dialect, find_program
from megtrim.core.project import read_any_model
from megtrim.core.timing.catalogue import BASELINE, find_experiments
from megtrim.core.timing.experiment import Experiment
from megtrim.core.timing.spec import FEWEST_ROUNDS, SEARCH_ROUNDS, ContestBudget
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.strict_json import encode
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.places.devices.cpu import read_cpu_features
from megtrim.times.experiments.commands import (
    OF_FLAGS,
    Situation,
    choose_backend,
    describe_needs,
    find_data_type,
    why_not,
)
from megtrim.times.experiments.contest import MOST_RUNS
from megtrim.times.experiments.listing import describe_effects, describe_step, show_commands

DEFAULT_CONFIG = Path("megtrim.yaml")
_OF_COMMANDS = "each command as it is, from its start to its end"


def list_experiments(
    config: Path | None,
    engine: Path | None,
    names: tuple[str, ...],
    everything: bool,
    as_json: bool,
) -> None:
    experiments = find_experiments(names)
    if config is None and DEFAULT_CONFIG.exists():
        config = DEFAULT_CONFIG
    found = look_around(config, engine)
    if as_json:
        show_json({"experiments": [_row(experiment, found) for experiment in experiments]})
        return
    every = names or everything or not (found.situations or found.only_commands)
    shown = [each for each in experiments if every or None in _reasons(each, found).values()]
    width = max((len(experiment.name) for experiment in shown), default=0)
    for experiment in shown:
        show("\n".join(_lines(experiment, found, width)))
    if hidden := len(experiments) - len(shown):
        show(f"{count(hidden, 'more experiment')} cannot run here; --all shows why")
    for note in found.notes:
        complain(note)


def _lines(experiment: Experiment, found: Surroundings, width: int) -> list[str]:
    answers = {model: why or "can run" for model, why in _reasons(experiment, found).items()}
    if len({*answers.values()}) == 1:
        answers = {"here": next(iter(answers.values()))}
    if found.only_commands:
        title = _OF_COMMANDS if experiment.name == BASELINE else experiment.title
        processes = f"{FEWEST_ROUNDS}, of a short command up to {FEWEST_ROUNDS * MOST_RUNS}"
        pairs = [("processes", processes), *answers.items()]
        return [f"{experiment.name:<{width}}  {title}", *(f"    {a}: {b}" for a, b in pairs)]
    pairs = [("needs", ", ".join(describe_needs(experiment)))]
    pairs += [("step", describe_step(step)) for step in experiment.steps]
    pairs += [
        ("processes", _describe_processes(experiment)),
        ("makes", ", ".join(experiment.makes)),
        ("changes", describe_effects(experiment)),
    ]
    pairs += answers.items()
    lines = [f"{experiment.name:<{width}}  {experiment.title}"]
    return lines + [f"    {label}: {text}" for label, text in pairs if text]


def _describe_processes(experiment: Experiment) -> str:
    if experiment.name == BASELINE:
        return str(FEWEST_ROUNDS)
    if experiment.measured.searches:
        return f"{SEARCH_ROUNDS} that search, and as many of the baseline"
    return f"{FEWEST_ROUNDS} to {ContestBudget().rounds}, and as many of the baseline"


def _reasons(experiment: Experiment, found: Surroundings) -> Mapping[str, str | None]:
    if found.only_commands:
        return {"here": None if experiment.name == BASELINE else OF_FLAGS}
    return {model: why_not(experiment, each) for model, each in found.situations.items()}


def _row(experiment: Experiment, found: Surroundings) -> dict[str, Any]:
    commands = show_commands(
        experiment,
        dialect=found.usual.dialect,
        backend=choose_backend(experiment, found.usual),
        architecture=found.usual.architecture,
    )
    row: dict[str, Any] = encode(experiment)
    return row | {
        "processes": _describe_processes(experiment),
        "steps": [describe_step(step) for step in experiment.steps],
        "commands": commands,
        "makes": experiment.makes,
        "why_not": _reasons(experiment, found),
    }


_HERE = ("auto", "local")
"""Kinds of devices that run programs on this machine's own CPU, if it is their architecture."""


class Surroundings(Value):
    usual: Situation
    """Without a model; without a configuration the newest program."""
    situations: Mapping[str, Situation]
    """By the name of the model; empty without a configuration."""
    only_commands: bool = False
    """No scenario runs the engine's own program, so there are no flags that experiments set."""
    notes: tuple[str, ...] = ()
    """What could not be found out, and so was not held against any experiment."""


def look_around(config: Path | None, engine_source: Path | None) -> Surroundings:
    newest = Situation(dialect=find_program().DIALECTS[0], architecture=None)
    if config is None:
        return Surroundings(usual=newest, situations={})
    loaded = load_config(config, engine_source=engine_source)
    processes = open_processes()
    flags = open_engine(loaded, processes).flags
    scenarios = tuple(all_scenarios(loaded.config))
    if flags is None or (scenarios and all(each.settings.is_command for each in scenarios)):
        return Surroundings(usual=newest, situations={}, only_commands=True)
    notes = []
    machine = None
    try:
        machine = find_toolchain(loaded, processes.for_builds()).machine
    except (InputError, InfrastructureFailure) as problem:
        notes.append(f"the architecture is not known: {problem.message}")
    here = all(device.kind in _HERE for device in loaded.config.devices)
    usual = Situation(
        dialect=find_dialect(flags),
        architecture=machine,
        # Those of this machine, if no experiment may run on another one.
        cpu_features=read_cpu_features() if machine == platform.machine() and here else None,
    )
    situations = {}
    for model in loaded.config.models:
        data_type = None
        try:
            facts = read_any_model(loaded.resolve(model.file), shown=str(model.file))
            data_type = find_data_type(facts.dtypes)
        except InputError as problem:
            notes.append(f"the data type of {model.name} is not known: {problem.message}")
        situations[model.name] = replace(usual, data_type=data_type)
    return Surroundings(usual=usual, situations=situations, notes=tuple(notes))
