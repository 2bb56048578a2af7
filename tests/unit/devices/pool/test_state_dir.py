"""The folder of state: where it is, and how its files are named, locked, read and refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest

from megtrim.devices.pool.state_dir import (
    VARIABLE,
    StateFile,
    lock_file,
    open_shared,
    read_saved,
    slug,
    state_folder,
    try_lock,
)
from megtrim.util.errors import InfrastructureFailure, InputError


class Saved(StateFile):
    """A file of two values."""

    version: Literal[1] = 1
    name: str


def test_different_keys_have_different_files() -> None:
    """Also where they look alike on a disk."""
    assert slug("adb:1A2B") == "adb_1A2B-" + slug("adb:1A2B")[-8:]
    assert slug("adb:a/b") != slug("adb:a_b")
    assert not slug("../x").startswith(".")


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({VARIABLE: "/srv/m", "HOME": "/home/a"}, "/srv/m"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/home/a"}, "/x/megtrim"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/state/megtrim"),
        ({"HOME": "/home/a"}, "/home/a/.local/state/megtrim"),
    ],
)
def test_the_state_folder_comes_from_the_environment(env: dict[str, str], folder: str) -> None:
    """One's own, the desktop's, the user's."""
    assert state_folder(env) == Path(folder)


def test_without_a_home_it_must_be_named() -> None:
    """Rather than somewhere that no one looks."""
    with pytest.raises(InputError, match="neither a home nor MEGTRIM_STATE"):
        state_folder({})


def test_a_state_folder_that_cannot_be_written_is_infrastructure(tmp_path: Path) -> None:
    """The message names it, and how to choose another."""
    (tmp_path / "file").touch()
    with (
        pytest.raises(InfrastructureFailure, match="cannot be used") as refused,
        lock_file(tmp_path / "file" / "lock"),
    ):
        pass
    assert VARIABLE in refused.value.hint


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "Invalid JSON: EOF while parsing a value at line 1 column 0"),
        ('{"version": 2, "name": "a"}', "version: Input should be 1"),
        ('{"version": 1}', "name: Field required"),
        ('{"name": 3}', "name: Input should be a valid string"),
        ('{"name": "a", "more": 1}', "more: Extra inputs are not permitted"),
        ('{"name": "' + "a" * 70_000 + '"}', "found more than 65,536 bytes"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, found: str) -> None:
    """It is not replaced: a person may want to look at it."""
    path = tmp_path / "saved.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_saved(path, Saved)

    assert refused.value.message == f"{path}: {found}, expected what megtrim writes there"
    assert path.read_text(encoding="utf-8") == text


def test_a_file_is_read_or_there_is_none(tmp_path: Path) -> None:
    """A link is refused: it may lead to another user's file."""
    path = tmp_path / "saved.json"
    assert read_saved(path, Saved) is None
    path.write_text('{"name": "a"}', encoding="utf-8")
    assert read_saved(path, Saved) == Saved(name="a")
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(InputError, match="it cannot be read"):
        read_saved(tmp_path / "link", Saved)


def test_a_lock_is_held_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits too long is shown how to find the owner."""
    monkeypatch.setattr("megtrim.devices.pool.state_dir._LONGEST_LOCK_S", 0.05)
    path = tmp_path / "folder" / "lock"
    with lock_file(path) as descriptor:
        assert try_lock(descriptor)
        other = open_shared(path)
        assert not try_lock(other)
        os.close(other)
        with (
            pytest.raises(InfrastructureFailure, match="has been locked for") as failed,
            lock_file(path),
        ):
            pass
    assert failed.value.hint.startswith(f"`fuser {path}`")
    with lock_file(path):
        pass


def test_a_pipe_in_a_files_place_blocks_nothing(tmp_path: Path) -> None:
    """Opening one would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InfrastructureFailure, match="it is not a plain file"):
        open_shared(tmp_path / "pipe")
    with pytest.raises(InputError, match="expected what megtrim writes there"):
        read_saved(tmp_path / "pipe", Saved)
