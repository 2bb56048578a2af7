"""Checks of models, and of the inputs that scenarios give them, before a build."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from megtrim.build.engines import Engine
from megtrim.chain.graph import trims_plain_build
from megtrim.config.load import LoadedConfig
from megtrim.config.model import ModelConfig, ScenarioConfig
from megtrim.config.yaml.problems import ConfigError, KeyPath, Problem, closest, listing
from megtrim.load_and_run import npy
from megtrim.load_and_run.app_outputs import NPY
from megtrim.load_and_run.arguments import INPUT_SUFFIXES
from megtrim.models.facts import ModelFacts, UnknownFormat, Variable
from megtrim.models.needs import load_needs
from megtrim.models.reader import read_model
from megtrim.models.show import describe_variable
from megtrim.util.input_files import open_plain_file

_HINT = "`megtrim model show FILE` prints what a model takes"


def expect_runnable_models(loaded: LoadedConfig, engine: Engine) -> tuple[str, ...]:
    """Refuse models and inputs that the program would refuse after the builds; return warnings.

    All mistakes in the inputs are reported at once. What only the engine can read passes.
    """
    problems, warnings = [], []
    for at, model in enumerate(loaded.config.models):
        facts = _read_facts(loaded, model)
        if facts is None:
            continue
        keys: KeyPath = ("models", at)
        formats = engine.formats()
        if formats and facts.format not in formats:
            found = f"{model.file}, a model of the format {facts.format}"
            expected = f"one that this engine reads: {listing(formats)}"
            problems.append(_problem(loaded, (*keys, "file"), found, expected))
            continue
        for number, scenario in enumerate(model.scenarios):
            if scenario.application is not None:
                continue
            own = (*keys, "scenarios", number)
            problems += _input_problems(loaded, own, model, scenario, facts)
            missing = _missing_inputs(scenario, facts)
            if missing and engine.dialect().literal:
                expected = f"{missing}: this engine runs the model only with its inputs"
                problems.append(_problem(loaded, own, "no file for an input", expected))
            elif missing:
                where = f"{loaded.where(*own)}: {model.name}/{scenario.name}"
                warnings.append(f"{where}: no file for the input {missing}: the output may be "
                                "constant, which proves nothing")  # fmt: skip
    if problems:
        raise ConfigError(problems, hint=_HINT)
    return tuple(warnings)


def _read_facts(loaded: LoadedConfig, model: ModelConfig) -> ModelFacts | None:
    """Return what a model's file says; None if only the engine can read it."""
    if not trims_plain_build(loaded.config):
        load_needs(model.file, model.strip_info, folder=loaded.folder)
    with suppress(UnknownFormat):
        return read_model(loaded.resolve(model.file), shown=str(model.file))
    return None


def _input_problems(
    loaded: LoadedConfig,
    keys: KeyPath,
    model: ModelConfig,
    scenario: ScenarioConfig,
    facts: ModelFacts,
) -> Iterator[Problem]:
    """Yield the inputs that the model does not have, or does not take as they are."""
    taken: Mapping[str, Variable] = {each.name: each for each in facts.inputs}
    for name, file in scenario.inputs.items():
        own = (*keys, "inputs", name)
        if name not in taken:
            has = ", ".join(map(describe_variable, facts.inputs)) or "none at all"
            found = f"an input that {model.file} does not have"
            suggestion = closest(name, taken)
            yield _problem(loaded, own, found, f"one of its inputs: {has}", suggestion)
        elif file.suffix not in INPUT_SUFFIXES:
            ends = f"a file whose name ends in {listing(INPUT_SUFFIXES)}"
            yield _problem(loaded, own, str(file), ends)
        elif file.suffix == NPY:
            variable = taken[name]
            header = _read_header(loaded, own, file)
            if not header.fits(variable.dtype, variable.shape, resized=scenario.dynamic_shape):
                expected = f"{describe_variable(variable)}, as {model.file} takes it"
                yield _problem(loaded, own, f"{file} with {header}", expected)


def _read_header(loaded: LoadedConfig, keys: KeyPath, file: Path) -> npy.NpyHeader:
    shown = f"{loaded.where(*keys)}: {file}"
    with open_plain_file(loaded.resolve(file), expected="a .npy file", shown=shown) as stream:
        header = npy.parse_header(stream.read(npy.LONGEST_HEADER), source=shown)
        if header.element:
            npy.expect_whole(header, stream.seek(0, io.SEEK_END), source=shown)
    return header


def _missing_inputs(scenario: ScenarioConfig, facts: ModelFacts) -> str:
    """Return the model's inputs that a scenario gives no file for, in words."""
    missing = (each for each in facts.inputs if each.name not in scenario.inputs)
    return ", ".join(map(describe_variable, missing))


def _problem(
    loaded: LoadedConfig, keys: KeyPath, found: str, expected: str, suggestion: str = ""
) -> Problem:
    place = loaded.place(*keys)
    return Problem(
        file=str(loaded.path.parent / place.file),
        line=place.line,
        key=loaded.show_key(*keys),
        found=found,
        expected=expected,
        suggestion=suggestion,
    )
