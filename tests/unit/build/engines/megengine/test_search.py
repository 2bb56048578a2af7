"""The checkout near a folder: found by its files, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines.megengine.generations import find_checkouts, is_checkout
from unit.build.engines.megengine_trees import NEWEST, OLDEST
from unit.build.engines.support import write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder far below those of other tests."""
    folder = tmp_path / "a" / "b" / "c" / "project"
    folder.mkdir(parents=True)
    return folder


def test_a_checkout_is_known_by_its_files(tmp_path: Path) -> None:
    """Of any generation."""
    assert is_checkout(write(tmp_path / "x", OLDEST))
    assert is_checkout(write(tmp_path / "y", NEWEST))
    assert not is_checkout(tmp_path)


@pytest.mark.parametrize(
    "place", ["MegEngine", "third_party/MegEngine", "../engine", "../../deps/engine"]
)
def test_one_in_or_next_to_the_folder_is_found(project: Path, place: str) -> None:
    """Or where its projects keep what they are built from."""
    root = (project / place).resolve()
    write(root, NEWEST)

    assert find_checkouts(project) == (root,)


def test_the_one_around_the_folder_comes_first(project: Path) -> None:
    """A model may lie in the engine's own tree."""
    write(project.parent, NEWEST)
    write(project / "MegEngine", OLDEST)

    assert find_checkouts(project) == (project.parent,)


def test_the_nearest_comes_before_others(project: Path) -> None:
    """Two that are equally near are both returned."""
    far = [write(project.parent / name, NEWEST) for name in ("one", "two")]
    assert find_checkouts(project) == tuple(far)

    near = write(project / "MegEngine", NEWEST)
    assert find_checkouts(project) == (near,)


def test_where_there_is_none_nothing_is_found(project: Path) -> None:
    """A folder of that name is none."""
    (project / "MegEngine").mkdir()

    assert find_checkouts(project) == ()
