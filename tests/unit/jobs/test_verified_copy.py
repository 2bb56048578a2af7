"""Files of a bundle are taken once, and never through a link."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from megtrim.jobs.verified_copy import take
from megtrim.util.errors import InputError


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


def test_a_file_may_be_no_link(place: Place, tmp_path: Path) -> None:
    """Nor lead to one that the runner's owner alone should read, even if it is the right one."""
    digest = place.put("model")
    (place.folder / "files" / digest).rename(tmp_path / "elsewhere")
    (place.folder / "files" / digest).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InputError, match="found no plain file"):
        take(place.folder, digest, place.work / "model")


@pytest.mark.parametrize("text", ["modem", "mode", "models", ""], ids=repr)
def test_a_file_that_is_not_what_it_is_called_is_not_run(place: Place, text: str) -> None:
    """Whether it is as long as before or not; nothing has its name that could be taken for it."""
    digest = place.put("model")
    (place.folder / "files" / digest).write_text(text, encoding="utf-8")

    with pytest.raises(InputError) as caught:
        take(place.folder, digest, place.work / "model")

    found = hashlib.sha256(text.encode()).hexdigest()
    path = place.folder / "files" / digest
    assert caught.value.message == f"{path}: its sha256 is {found}, expected that of its name"
    assert not (place.work / "model").exists()
