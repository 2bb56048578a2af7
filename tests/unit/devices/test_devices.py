"""The table of kinds: every kind of the configuration has one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim import devices
from megtrim.config import device as settings
from megtrim.devices.local import Local
from megtrim.util.errors import InputError
from unit.devices.machines import make_spec


def test_every_kind_that_can_be_configured_can_be_made() -> None:
    """``auto`` is none of its own."""
    assert set(settings.KINDS) == {"auto", *devices.KINDS}


def test_auto_runs_natively_where_it_can(tmp_path: Path) -> None:
    """Else it emulates, which needs qemu."""
    spec = make_spec(tmp_path, path="/nowhere")

    assert isinstance(devices.make("auto", spec, native=spec.machine), Local)
    with pytest.raises(InputError, match="qemu"):
        devices.make("auto", spec, native="aarch64")


@pytest.mark.parametrize("kind", ["adb", "ssh"])
def test_machines_that_others_use_are_pools(tmp_path: Path, kind: str) -> None:
    """Nothing is contacted before a lease is asked for."""
    device = devices.make(kind, make_spec(tmp_path, path="/nowhere"), native="x86_64")

    assert (device.kind, device.name) == (kind, "phones")
