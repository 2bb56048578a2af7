"""Files and folders that megtrim.yaml names are there, relative to its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.config.checks.files import load_file_problems
from unit.config.checks.found import found_by


def problems(folder: Path, text: str) -> list[str]:
    return found_by(lambda document: load_file_problems(document, folder), text)


def test_every_file_of_a_model_is_looked_for(tmp_path: Path) -> None:
    """Each missing one is named with its key."""
    (tmp_path / "m.mge").touch()
    text = (
        "models:\n- file: m.mge\n  strip_info: [a.json, b.json]\n  also: c.mge\n"
        "  scenarios: [{algo_cache: d.cache, inputs: {x: e.npy}}]\n"
    )

    assert [each.partition(", expected")[0] for each in problems(tmp_path, text)] == [
        "f:3: models[0].strip_info[0]: found 'a.json', no such file",
        "f:3: models[0].strip_info[1]: found 'b.json', no such file",
        "f:4: models[0].also: found 'c.mge', no such file",
        "f:5: models[0].scenarios[0].algo_cache: found 'd.cache', no such file",
        "f:5: models[0].scenarios[0].inputs.x: found 'e.npy', no such file",
    ]
    for name in ("a.json", "b.json", "c.mge", "d.cache", "e.npy"):
        (tmp_path / name).touch()
    assert problems(tmp_path, text) == []


@pytest.mark.parametrize("engine", ["{kind: sample}", "{kind: megengine, source: there}"])
def test_the_engine_has_a_folder_or_is_the_sample(tmp_path: Path, engine: str) -> None:
    """Only the sample engine is in the package."""
    (tmp_path / "there").mkdir()

    assert problems(tmp_path, f"engine: {engine}\n") == []


@pytest.mark.parametrize(
    ("engine", "found"),
    [
        ("{kind: megengine}", "nothing"),
        ("{kind: megengine, source: absent}", "'absent', no such folder"),
        ("{kind: sample, source: file}", "'file', no such folder"),
    ],
)
def test_another_engine_is_a_folder(tmp_path: Path, engine: str, found: str) -> None:
    """The command line can name it, too."""
    (tmp_path / "file").touch()
    [problem] = problems(tmp_path, f"engine: {engine}\n")

    assert problem.startswith(f"f:1: engine.source: found {found}, expected the folder of ")
    assert problem.endswith("(or --engine PATH)")


def test_a_folder_in_place_of_a_model_is_called_one(tmp_path: Path) -> None:
    """It exists, and still no program can load it."""
    (tmp_path / "m.mge").mkdir()

    [problem] = problems(tmp_path, "models: [{file: m.mge}]\n")
    assert problem == "f:1: models[0].file: found 'm.mge', a folder, expected a file that is there"


def test_the_source_of_an_application_is_a_cmake_project(tmp_path: Path) -> None:
    """A folder without CMakeLists.txt is reported as such, and a missing one only once."""
    text = "applications: [{name: a, source: app}]\n"
    [absent] = problems(tmp_path, text)
    (tmp_path / "app").mkdir()
    [empty] = problems(tmp_path, text)
    (tmp_path / "app/CMakeLists.txt").touch()

    assert "found 'app', no such folder" in absent
    assert "found 'app', a folder without CMakeLists.txt, expected the folder of a CMake" in empty
    assert problems(tmp_path, text) == []
