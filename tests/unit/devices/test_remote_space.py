import os
from pathlib import Path

import pytest

from megtrim.devices.remote.run_directory import wipe
from megtrim.devices.remote.transport import NoSpace
from unit.devices.remote_rig import TIMEOUTS, FolderMachine


@pytest.fixture
def free(machine: FolderMachine, tmp_path: Path) -> Path:
    """Holds the free space of the machine, in KiB."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "df").write_text("#!/bin/sh\necho Filesystem\necho d 900 1 $(cat $0.free) 9 /\n")
    (tools / "df").chmod(0o755)
    machine.link.path = f"{tools}:{machine.link.path}"
    return tools / "df.free"


def test_too_little_space_is_reported_before_anything_is_brought(
    machine: FolderMachine, tmp_path: Path, free: Path
) -> None:
    model = tmp_path / "m"
    model.write_bytes(os.urandom(100 * 1024))
    free.write_text("10000")
    with machine.open() as directory:
        directory.put(model, "m")
        directory.put(machine.program(f"echo 9000 >{free}"), "p")
        directory.run(("p",), timeout_s=9)
    assert len(list((machine.root / "files").iterdir())) == 2
    free.write_text("207")
    model.write_bytes(os.urandom(100 * 1024))
    with machine.open() as directory:
        machine.link.calls.clear()
        with pytest.raises(NoSpace, match=r"0\.2 MiB are free, 0\.2 MiB are needed for m"):
            directory.put(model, "m")
        assert machine.link.calls == ["put"]
        assert list((machine.root / "files").iterdir()) == []
    free.write_text("208")
    with machine.open() as directory:
        directory.put(model, "m")
        assert directory.get("m") == model.read_bytes()


def test_a_run_that_filled_the_disk_is_no_run(machine: FolderMachine, free: Path) -> None:
    """What it wrote may be cut short, whatever it ended with."""
    free.write_text("10000")
    with pytest.raises(NoSpace, match="no space left while running p"):
        machine.run(f"echo 63 >{free}")
    assert machine.left() == []


def test_a_wipe_leaves_nothing_of_ours(machine: FolderMachine, tmp_path: Path) -> None:
    wipe(machine.link, root=str(machine.root), timeouts=TIMEOUTS)
    (tmp_path / "m").write_bytes(b"")
    with machine.open() as directory:
        directory.put(tmp_path / "m", "m")
        directory.get("m")
    (machine.root / "runs" / "run-x").mkdir()
    wipe(machine.link, root=str(machine.root), timeouts=TIMEOUTS)
    assert list(machine.root.iterdir()) == []
