"""Which files and folders megtrim.yaml names, and whether they are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from megtrim.config.model import Config
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath, Problem, show
from megtrim.util.input_files import FOLDER, kind_at


def find_missing_files(config: Config, document: Document, folder: Path) -> Iterator[Problem]:
    """Yield files and folders that are named but do not exist, relative to ``folder``."""
    engine: KeyPath = ("engine", "source")
    if config.engine.source is None and config.engine.kind == "megengine":
        expected = "the folder of a MegEngine checkout (or --engine PATH)"
        yield document.problem(engine, "nothing", expected)
    folders = {engine: (config.engine.source, "engine's source (or --engine PATH)")} | {
        ("applications", i, "source"): (each.source, "application's source")
        for i, each in enumerate(config.applications)
    }
    for path, (source, what) in folders.items():
        if source is None:
            continue
        written = show(document.value(path))
        if kind_at(folder / source) != FOLDER:
            yield document.problem(path, f"{written}, no such folder", f"the folder of the {what}")
        elif path != engine and kind_at(folder / source / "CMakeLists.txt"):
            found = f"{written}, a folder without CMakeLists.txt"
            yield document.problem(path, found, "the folder of a CMake project")
    for path, file in _list_files(config):
        if found := kind_at(folder / file):
            place = document.nearest(path)  # a single path counts as a list of one
            written = show(document.value(place))
            yield document.problem(place, f"{written}, {found}", "a file that is there")


def _list_files(config: Config) -> Iterator[tuple[KeyPath, Path]]:
    for i, model in enumerate(config.models):
        at: KeyPath = ("models", i)
        yield (*at, "file"), model.file
        yield from (((*at, "strip_info", j), file) for j, file in enumerate(model.strip_info))
        yield from (((*at, "also", j), file) for j, file in enumerate(model.also))
        for j, scenario in enumerate(model.scenarios):
            place = (*at, "scenarios", j)
            if scenario.algo_cache is not None:
                yield (*place, "algo_cache"), scenario.algo_cache
            for name, file in scenario.inputs.items():
                yield (*place, "inputs", name), file
