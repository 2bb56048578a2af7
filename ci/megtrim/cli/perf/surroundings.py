"""What experiments would run with: engine, toolchain and models of a configuration."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from megtrim.cli.environment import open_processes
from megtrim.cli.session.setup import find_toolchain, open_engine
from megtrim.config.load import LoadedConfig, load_config
from megtrim.devices.cpu import read_cpu_features
from megtrim.experiments.experiment import DataType
from megtrim.experiments.situation import Situation, find_data_type
from megtrim.load_and_run.dialects import LITE
from megtrim.models.reader import read_model
from megtrim.util.errors import InfrastructureFailure, InputError

_HERE = ("auto", "local")
"""Kinds of devices that run programs on this machine's own CPU, if it is their architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where experiments would run."""

    usual: Situation
    """Without a model; without a configuration the newest program."""
    situations: Mapping[str, Situation]
    """By the name of the model; empty without a configuration."""
    notes: tuple[str, ...] = ()
    """What could not be found out, and so was not held against any experiment."""


def look_around(config: Path | None, engine_source: Path | None) -> Surroundings:
    """Find out what a configuration gives. Raises InputError for mistakes in it."""
    if config is None:
        return Surroundings(usual=Situation(dialect=LITE, architecture=None), situations={})
    loaded = load_config(config, engine_source=engine_source)
    processes = open_processes()
    notes = []
    machine = None
    try:
        machine = find_toolchain(loaded, processes.for_builds()).machine
    except (InputError, InfrastructureFailure) as problem:
        notes.append(f"the architecture is not known: {problem.message}")
    usual = Situation(
        dialect=open_engine(loaded, processes).dialect(),
        architecture=machine,
        cpu_features=_find_features(loaded, machine),
    )
    situations = {}
    for model in loaded.config.models:
        data_type = None
        try:
            data_type = _read_data_type(loaded.resolve(model.file), shown=str(model.file))
        except InputError as problem:
            notes.append(f"the data type of {model.name} is not known: {problem.message}")
        situations[model.name] = replace(usual, data_type=data_type)
    return Surroundings(usual=usual, situations=situations, notes=tuple(notes))


def _read_data_type(model: Path, *, shown: str) -> DataType | None:
    return find_data_type(read_model(model, shown=shown).dtypes)


def _find_features(loaded: LoadedConfig, machine: str | None) -> frozenset[str] | None:
    """Return the features of this machine's CPU, None if experiments may run on another one."""
    elsewhere = any(each.kind not in _HERE for each in loaded.config.devices)
    if machine != platform.machine() or elsewhere:
        return None
    return read_cpu_features()
