import hashlib
import json
import os
import time
from dataclasses import astuple
from pathlib import Path

import pytest

from megtrim.util import integrity

TEXT = b"result"
SHA256 = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute have passed since the file was written."""
    later = time.time_ns() + 60_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)


def test_a_file_that_has_just_changed_is_not_known_yet(file: Path) -> None:
    """It may change again within one tick of the disk's clock, and no one could tell."""
    assert integrity.read_damage(file.parent, {"file": SHA256}) == ("", {})
    assert not (file.parent / integrity.MEMORY).exists()


@pytest.mark.usefixtures("settled")
def test_a_settled_file_is_remembered(file: Path) -> None:
    found = integrity.read_damage(file.parent, {"file": SHA256})

    said = file.stat()
    times = (said.st_mtime_ns, said.st_ctime_ns)
    expected = integrity.KnownDigests(SHA256, len(TEXT), said.st_ino, *times)
    assert found == ("", {"file": expected})
    memory = (file.parent / integrity.MEMORY).read_text(encoding="utf-8")
    assert json.loads(memory) == {"file": list(astuple(expected))}


@pytest.mark.usefixtures("settled")
def test_nothing_is_left_where_it_cannot_be_remembered(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "replace", refuse)

    assert integrity.read_damage(file.parent, {"file": SHA256})[0] == ""
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("sha256", ["0" * 64, ""])
def test_another_digest_is_damage(file: Path, sha256: str) -> None:
    assert integrity.read_damage(file.parent, {"file": SHA256})[1]

    assert integrity.read_damage(file.parent, {"file": sha256}) == ("file", {})
    assert integrity.read_known(file, sha256) is None


def test_a_file_that_changes_while_it_is_read_is_not_known(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = integrity._digest

    def slow(path: Path) -> str:
        found = real(path)
        path.write_bytes(b"other!")
        return found

    monkeypatch.setattr(integrity, "_digest", slow)

    assert integrity.read_known(file, SHA256) is None


def test_a_text_too_large_is_not_loaded(file: Path) -> None:
    os.truncate(file, 17 * 1024 * 1024)

    with pytest.raises(ValueError, match="no plain file of reasonable size"):
        integrity.load_text(file)
