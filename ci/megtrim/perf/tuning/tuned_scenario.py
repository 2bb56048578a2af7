"""The winner of a search as an entry of megtrim.yaml, with the files that it runs with.

A winner that runs a dumped model becomes a model of its own, as a scenario has no other model than
that of its section; any other winner becomes a scenario of its model. Where the others are
files of their own, so is the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from megtrim.config.load import LoadedConfig
from megtrim.config.scenarios import Scenario
from megtrim.config.yaml.document import LARGEST_FILE_BYTES, parse_document
from megtrim.config.yaml.edit import append_item, render_document
from megtrim.config.yaml.problems import KeyPath
from megtrim.experiments.commands import keep_for_experiments, list_flags
from megtrim.experiments.experiment import CacheUse, Experiment, ModelFile
from megtrim.experiments.situation import Situation, choose_backend
from megtrim.load_and_run.arguments import Flag, render_flags, without
from megtrim.util.errors import InputError
from megtrim.util.input_files import read_bytes

FOLDER = PurePosixPath("megtrim/tuned")
"""Of models and caches, next to the configuration; several toolchains have a folder each in it."""
_REPLACED = ("name", "args", "fast_run", "algo_cache", "toolchains")
_COUNTS = ("iter", "warmup_iter")


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedScenario:
    """What is written."""

    sibling: KeyPath
    """An item of the list that grows."""
    item: Mapping[str, object]
    dumped_model: PurePosixPath | None
    """Where the dumped model goes, relative to the configuration."""
    algo_cache: PurePosixPath | None
    """Likewise, the algorithm cache."""


def make_tuned(
    winner: Experiment,
    scenario: Scenario,
    situation: Situation,
    own: tuple[Flag, ...],
    loaded: LoadedConfig,
    name: str,
    *,
    toolchain: str = "",
) -> TunedScenario:
    """Return the entry for a winner; ``own``: the scenario's flags.

    It is for the ``toolchain`` of the file, if there are several: what another one compiles has
    other fastest flags.
    """
    before = _find(loaded, scenario.path)
    stem = f"{scenario.model.name}-{name}"
    measured = winner.measured
    dumped = measured.model is ModelFile.DUMPED
    cached = measured.cache is not CacheUse.NONE
    folder = FOLDER / toolchain
    model = folder / f"{stem}{Path(scenario.model.file).suffix}" if dumped else None
    cache = folder / f"{stem}.algo.cache" if cached else None
    flags = list_flags(
        measured,
        situation.dialect,
        choose_backend(winner, situation),
        situation.architecture,
        threads=scenario.settings.threads,
    )
    # It changes the first warm-up alone, and the engine cannot dump outputs with it.
    flags = without(flags, "fake_first")
    kept = (*keep_for_experiments(own), *(each for each in own if each.name in _COUNTS))
    item: dict[str, object] = {
        "name": name,
        "args": list(render_flags((*flags, *kept), situation.dialect)),
        **({"fast_run": True, "algo_cache": str(cache)} if cache else {}),
        **{key: value for key, value in before.items() if key not in _REPLACED},
        **({"toolchains": [toolchain]} if toolchain else {}),
    }
    if "threads" in item:  # there may be a list, of which this is one
        item["threads"] = scenario.settings.threads
    sibling = scenario.path
    if model is not None:
        # Its operators are read from the file itself.
        item = {"name": stem, "file": str(model), "scenarios": [item]}
        sibling = scenario.path[:2]
    return TunedScenario(sibling=sibling, item=item, dumped_model=model, algo_cache=cache)


def add(loaded: LoadedConfig, tuned: TunedScenario) -> tuple[Path, bytes]:
    """Return the file that gets the entry, and its content then.

    Raises InputError where it cannot be added.
    """
    if loaded.is_shared(*tuned.sibling):
        file, _ = loaded.source(*tuned.sibling)
        msg = f"{file}: other configurations may use this file, too, so nothing is added next to it"
        raise InputError(msg, hint="leave out --write, and add by hand what is printed")
    if tuned.sibling in loaded.files:
        other, _ = loaded.source(*tuned.sibling)
        file = other.with_name(f"{tuned.item['name']}.yaml")
        if file.exists():
            msg = f"{file} exists already"
            raise InputError(msg, hint="choose another name with --name, or remove that file")
        return file, render_document(tuned.item).encode()
    file, path = loaded.source(*tuned.sibling[:-1])
    return file, append_item(_read(file), path, tuned.item, file=str(file))


def expect_free(loaded: LoadedConfig, scenario: Scenario, name: str) -> None:
    """Raise InputError if the name is taken, before anything is measured."""
    if name in {each.name for each in scenario.model.scenarios}:
        msg = f"{loaded.path}: the model {scenario.model.name} has a scenario {name} already"
        raise InputError(msg, hint="choose another with --name, or remove that one")
    # A rehearsal: better now than after an hour of measuring.
    add(
        loaded,
        TunedScenario(
            sibling=scenario.path, item={"name": name}, dumped_model=None, algo_cache=None
        ),
    )


def _find(loaded: LoadedConfig, path: KeyPath) -> Mapping[str, object]:
    file, within = loaded.source(*path)
    found: Any = parse_document(_read(file), file=str(file)).data
    for key in within:
        found = found[key]
    return dict(found)


def _read(file: Path) -> bytes:
    return read_bytes(file, most_bytes=LARGEST_FILE_BYTES, expected="a part of megtrim.yaml")
