"""Files of a bundle are taken once, and never through a link."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from megtrim.errors import InputError
from megtrim.stages.taken import take


class Place:
    """A bundle's folder, and one for copies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bundle"
        (self.folder / "files").mkdir(parents=True)
        self.work = folder / "work"
        self.work.mkdir()

    def put(self, text: str) -> str:
        digest = hashlib.sha256(text.encode()).hexdigest()
        (self.folder / "files" / digest).write_text(text, encoding="utf-8")
        return digest


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_file_is_taken_once(place: Place) -> None:
    """The copy is what is used, so a change after that means nothing."""
    digest = place.put("model")
    target = place.work / "a" / "model"
    assert take(place.folder, digest, target) == target
    (place.folder / "files" / digest).write_bytes(b"other")

    assert take(place.folder, digest, target).read_bytes() == b"model"
    assert sorted(path.name for path in target.parent.iterdir()) == ["model"]


def test_the_folder_of_files_may_be_no_link(place: Place, tmp_path: Path) -> None:
    """It could lead to any folder of the runner."""
    digest = place.put("model")
    (place.folder / "files").rename(tmp_path / "elsewhere")
    (place.folder / "files").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InputError, match="found no plain file"):
        take(place.folder, digest, place.work / "model")
