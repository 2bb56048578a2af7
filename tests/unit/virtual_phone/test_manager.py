"""Phones from outside: what plays them on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from virtual_phone import manager


def test_what_runs_arm64_programs(tmp_path: Path) -> None:
    """The emulator by its real path, for it is opened where links lead elsewhere."""
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "qemu-aarch64-static"
    real.touch()
    real.chmod(0o755)
    (tmp_path / "qemu-aarch64").symlink_to(real)
    processes = ProcessRunner({"PATH": str(tmp_path)})

    assert manager.emulator(processes, native="x86_64") == str(real)
    assert manager.emulator(processes, native="aarch64") == ""


def test_without_an_emulator(tmp_path: Path) -> None:
    """A machine of another kind needs one, and the hint says how to get it."""
    with pytest.raises(InputError) as failure:
        manager.emulator(ProcessRunner({"PATH": str(tmp_path)}), native="x86_64")

    assert failure.value.message == (
        "virtual phone: there is no qemu-aarch64 here, and the machine is no aarch64"
    )
    assert failure.value.hint == "on Debian: apt-get install qemu-user-static"
