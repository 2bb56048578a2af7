"""Which files and folders megtrim.yaml names, and whether they are there.

Pure, except that ``load_file_problems`` looks whether each file exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath, Problem, show
from megtrim.config.yaml.sections import Placed, items, sections
from megtrim.input_files import FOLDER, kind_at


def load_file_problems(document: Document, folder: Path) -> Iterator[Problem]:
    """Yield files that are named but do not exist, relative to ``folder``."""
    engine = document.data.get("engine")
    if isinstance(engine, dict):
        yield from _engine_problems(document, engine, folder)
    for path, each in sections(document.data, "applications"):
        yield from _application_problems(document, path, each.get("source"), folder)
    for path, model in sections(document.data, "models"):
        yield from _missing(
            document, _model_files(model, path), folder, "file", "a file that is there"
        )
        for scenario_path, scenario in sections(model, "scenarios", path):
            files = _scenario_files(scenario, scenario_path)
            yield from _missing(document, files, folder, "file", "a file that is there")


def _engine_problems(
    document: Document, engine: Mapping[str, object], folder: Path
) -> Iterator[Problem]:
    path: KeyPath = ("engine", "source")
    source = engine.get("source")
    if source is None and engine.get("kind") == "megengine":
        expected = "the folder of a MegEngine checkout (or --engine PATH)"
        yield document.problem(path, "nothing", expected)
    expected = "the folder of the engine's source (or --engine PATH)"
    yield from _missing(document, [(path, source)], folder, "folder", expected)


def _application_problems(
    document: Document, path: KeyPath, source: object, folder: Path
) -> Iterator[Problem]:
    key = (*path, "source")
    expected = "the folder of the application's source"
    missing = list(_missing(document, [(key, source)], folder, "folder", expected))
    yield from missing
    if isinstance(source, str) and not missing and kind_at(folder / source / "CMakeLists.txt"):
        lacking = f"{show(source)}, a folder without CMakeLists.txt"
        yield document.problem(key, lacking, "the folder of a CMake project")


def _model_files(model: Mapping[str, object], path: KeyPath) -> Iterator[Placed]:
    yield (*path, "file"), model.get("file")
    yield (*path, "strip_info"), model.get("strip_info")
    yield from items(model, "strip_info", path)
    yield (*path, "also"), model.get("also")
    yield from items(model, "also", path)


def _scenario_files(scenario: Mapping[str, object], path: KeyPath) -> Iterator[Placed]:
    yield (*path, "algo_cache"), scenario.get("algo_cache")
    inputs = scenario.get("inputs")
    if isinstance(inputs, dict):
        for name, file in inputs.items():
            yield (*path, "inputs", name), file


def _missing(
    document: Document,
    files: Iterator[Placed] | list[Placed],
    folder: Path,
    noun: Literal["file", "folder"],
    expected: str,
) -> Iterator[Problem]:
    for path, file in files:
        if isinstance(file, str) and file.strip():
            found = kind_at(folder / file)
            if noun == "folder":
                found = "" if found == FOLDER else "no such folder"
            if found:
                yield document.problem(path, f"{show(file)}, {found}", expected)
