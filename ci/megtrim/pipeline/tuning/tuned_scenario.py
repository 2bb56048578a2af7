"""The winner of a race as an entry of megtrim.yaml, with the files that it runs with.

A winner that runs a dumped model becomes a model of its own, as a scenario has no other model than
that of its section; any other winner becomes a scenario of its model. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from megtrim.config.yaml.document import parse_document
from megtrim.config.yaml.edit import append_item
from megtrim.config.yaml.problems import KeyPath
from megtrim.errors import InputError
from megtrim.load_and_run.argument_mutation import render_flags, without
from megtrim.load_and_run.arguments import Flag
from megtrim.perf.experiments.commands import list_flags
from megtrim.perf.experiments.experiment import CacheUse, Experiment, ModelFile
from megtrim.perf.experiments.situation import choose_backend
from megtrim.pipeline.tuning.field import Field

FOLDER = PurePosixPath("megtrim/tuned")
"""Of models and caches, next to the configuration."""
_REPLACED = ("name", "args", "fast_run", "algo_cache")
_COUNTS = ("iter", "warmup_iter")


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedScenario:
    """What is written."""

    place: KeyPath
    """The list in the configuration that grows."""
    item: Mapping[str, object]
    dumped_model: PurePosixPath | None
    """Where the dumped model goes, relative to the configuration."""
    algo_cache: PurePosixPath | None
    """Likewise, the algorithm cache."""


def make_tuned(
    winner: Experiment, field: Field, own: tuple[Flag, ...], raw: bytes, name: str
) -> TunedScenario:
    """Return the entry for a winner; ``own``: the scenario's flags, ``raw``: the configuration."""
    scenario = field.scenario
    before = _find(raw, scenario.path)
    stem = f"{scenario.model.name}-{name}"
    measured = winner.measured
    dumped = measured.model is ModelFile.DUMPED
    cached = measured.cache is not CacheUse.NONE
    model = FOLDER / f"{stem}{Path(scenario.model.file).suffix}" if dumped else None
    cache = FOLDER / f"{stem}.algo.cache" if cached else None
    flags = list_flags(
        measured,
        field.situation.dialect,
        choose_backend(winner, field.situation),
        field.situation.architecture,
        threads=scenario.settings.threads,
    )
    # It changes the first warm-up alone, and the engine cannot dump outputs with it.
    flags = without(flags, "fake_first")
    counts = tuple(each for each in own if each.name in _COUNTS)
    item: dict[str, object] = {
        "name": name,
        "args": list(render_flags((*flags, *field.kept, *counts), field.situation.dialect)),
        **({"fast_run": True, "algo_cache": str(cache)} if cache else {}),
        **{key: value for key, value in before.items() if key not in _REPLACED},
    }
    place: KeyPath = scenario.path[:-1]
    if model is not None:
        # Its operators are read from the file itself.
        item = {"name": stem, "file": str(model), "scenarios": [item]}
        place = ("models",)
    return TunedScenario(place=place, item=item, dumped_model=model, algo_cache=cache)


def add(raw: bytes, tuned: TunedScenario, *, file: str) -> bytes:
    """Return the configuration with the entry. Raises InputError where it cannot be added."""
    return append_item(raw, tuned.place, tuned.item, file=file)


def expect_free(raw: bytes, field: Field, name: str, *, file: str) -> None:
    """Raise InputError if the name is taken, before anything is raced."""
    taken = {each.name for each in field.scenario.model.scenarios}
    if name in taken:
        msg = f"{file}: the model {field.scenario.model.name} has a scenario {name} already"
        raise InputError(msg, hint="choose another with --name, or remove that one")
    # A rehearsal: better now than after an hour of racing.
    append_item(raw, field.scenario.path[:-1], {"name": name}, file=file)


def _find(raw: bytes, path: KeyPath) -> Mapping[str, object]:
    found: Any = parse_document(raw, file="").data
    for key in path:
        found = found[key]
    return dict(found)
