"""Space on the machine: checked before, checked after, and given back."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.devices.link import NoSpace
from megtrim.devices.patience import Patience
from megtrim.devices.remote import open_directory, wipe
from megtrim.process import Processes
from unit.devices.folder_link import FolderLink

PATIENCE = Patience().scaled(0.5)


@pytest.fixture
def link(processes: Processes) -> FolderLink:
    return FolderLink(processes)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "machine" / "megtrim"


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        return path

    return write


def opened(link: FolderLink, root: Path, patience: Patience = PATIENCE):  # type: ignore[no-untyped-def]
    return open_directory(link, root=str(root), patience=patience)


def left(root: Path) -> list[str]:
    return [path.name for path in (root / "runs").iterdir()]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def gone(pid: int) -> bool:
    """Tell whether it ended, be it that nobody has asked for its status yet."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_too_little_space_is_told_before_anything_is_brought(
    link: FolderLink, root: Path, tmp_path: Path, program: Callable[[str], Path]
) -> None:
    """Twice the size must be free; what no job needs goes first."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "df").write_text("#!/bin/sh\necho Filesystem\necho d 900 1 $(cat $0.free) 9 /\n")
    (tools / "df").chmod(0o755)
    free = tools / "df.free"
    link.path = f"{tools}:{link.path}"
    model = tmp_path / "m"
    model.write_bytes(os.urandom(100 * 1024))
    free.write_text("10000")
    with opened(link, root) as directory:
        directory.put(model, "m")
        directory.put(program(f"echo 9000 >{free}"), "p")
        directory.run(("p",), timeout_s=9)
    assert len(list((root / "files").iterdir())) == 2
    free.write_text("207")
    model.write_bytes(os.urandom(100 * 1024))
    with opened(link, root) as directory:
        link.calls.clear()
        with pytest.raises(NoSpace, match=r"0\.2 MiB are free, 0\.2 MiB are needed for m"):
            directory.put(model, "m")
        assert link.calls == ["put"]
        assert list((root / "files").iterdir()) == []
    free.write_text("208")
    with opened(link, root) as directory:
        directory.put(model, "m")
        assert directory.get("m") == model.read_bytes()


def test_a_run_that_filled_the_disk_is_no_run(
    link: FolderLink, root: Path, tmp_path: Path, program: Callable[[str], Path]
) -> None:
    """What it wrote may be cut short, whatever it ended with."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "df").write_text("#!/bin/sh\necho Filesystem\necho d 900 1 $(cat $0.free) 9 /\n")
    (tools / "df").chmod(0o755)
    free = tools / "df.free"
    free.write_text("10000")
    link.path = f"{tools}:{link.path}"
    with (
        pytest.raises(NoSpace, match="no space left while running p"),
        opened(link, root) as directory,
    ):
        directory.put(program(f"echo 63 >{free}"), "p")
        directory.run(("p",), timeout_s=9)
    assert left(root) == []


def test_a_wipe_leaves_nothing_of_ours(link: FolderLink, root: Path, tmp_path: Path) -> None:
    """Also where there never was anything."""
    wipe(link, root=str(root), patience=PATIENCE)
    (tmp_path / "m").write_bytes(b"")
    with opened(link, root) as directory:
        directory.put(tmp_path / "m", "m")
        directory.get("m")
    (root / "runs" / "run-x").mkdir()
    wipe(link, root=str(root), patience=PATIENCE)
    assert list(root.iterdir()) == []
