"""From a scenario to its neighbours and the runs of them: which there are, and their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.chain.session import Session, TrimRequest
from megtrim.config.scenarios import Scenario
from megtrim.load_and_run import npy
from megtrim.load_and_run.app_outputs import NPY
from megtrim.load_and_run.npy import NpyMutation
from megtrim.models.reader import read_model
from megtrim.proof.neighbours.plan import Neighbour, NeighbourKind, neighbours
from megtrim.trim.runs.execution import RunSpec
from megtrim.trim.runs.scenario_runs import cache_of, make_run_spec
from megtrim.util.errors import InputError
from megtrim.util.input_files import read_bytes


def near(scenario: Scenario, session: Session) -> tuple[Neighbour, ...]:
    """Return all neighbours of a scenario."""
    changes = [
        change for change in NpyMutation if _mutate_inputs(scenario, session.request, change)
    ]
    return neighbours(scenario, dialect=session.services.engine.dialect(), changes=changes)


def order_of(
    neighbour: Neighbour, scenario: Scenario, session: Session, program: Path, folder: Path
) -> RunSpec:
    """Return the run of a neighbour; inputs that it changes are written to ``folder``."""
    own = make_run_spec(scenario, session, program, cache=cache_of(scenario, session))
    return replace(
        own,
        model=own.model if neighbour.model is None else session.request.path(neighbour.model),
        without_model=neighbour.model is None,
        arguments=neighbour.arguments,
        threads=neighbour.threads,
        cache=own.cache if neighbour.cached else None,
        inputs=_inputs(neighbour, scenario, session.request, folder),
    )


def _inputs(
    neighbour: Neighbour, scenario: Scenario, request: TrimRequest, folder: Path
) -> dict[str, Path]:
    given = {name: request.path(path) for name, path in scenario.settings.inputs.items()}
    if neighbour.change is None:
        return given
    folder.mkdir(exist_ok=True)
    for number, (name, data) in enumerate(
        _mutate_inputs(scenario, request, neighbour.change).items()
    ):
        given[name] = folder / f"input{number}{NPY}"
        given[name].write_bytes(data)
    return given


def _mutate_inputs(
    scenario: Scenario, request: TrimRequest, change: NpyMutation
) -> dict[str, bytes]:
    """Return every input that can be changed so, by name."""
    settings = scenario.settings
    if not settings.inputs and settings.application is None and change is NpyMutation.VALUES:
        return dict(_made_up(request.path(scenario.model.file)))
    return dict(_changed_files(settings.inputs, request, change))


def _changed_files(
    inputs: Mapping[str, Path], request: TrimRequest, change: NpyMutation
) -> Iterator[tuple[str, bytes]]:
    for name, relative in sorted(inputs.items()):
        path = request.path(relative)
        if path.suffix == NPY:
            data = read_bytes(
                path, most_bytes=npy.LARGEST_BYTES, expected="a .npy file", shown=str(relative)
            )
            made = npy.apply_change(data, change, source=str(relative))
            if made is not None:
                yield name, made


def _made_up(model: Path) -> Iterator[tuple[str, bytes]]:
    """Yield inputs for a model that is run without any, as far as its file says what it takes."""
    try:
        inputs = read_model(model).inputs
    except InputError:
        return  # of a format that is not known: it runs, with what else is not known
    for each in inputs:
        made = npy.generate_input(each.dtype, each.shape) if each.shape else None
        if made is not None:
            yield each.name, made


def complains(neighbour: Neighbour) -> bool:
    """Tell whether the program is to say something, not to compute."""
    return neighbour.kind is NeighbourKind.COMPLAINT
