"""This machine and one phone, for the tests of the verbs for devices."""

from collections.abc import Sequence

import pytest

from megtrim import devices as room
from megtrim.devices.device import Device, DeviceSpec, Machine
from megtrim.devices.pool import device_pool
from megtrim.util.process import ProcessRunner
from unit.cli.devices.bench import CONFIG, Bench, Server, quick
from unit.cli.support import Shell


@pytest.fixture
def bench(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(shell)
    shell.model("resnet18-s.mge")
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("MEGTRIM_STATE", str(shell.folder / "state"))

    def phones(spec: DeviceSpec) -> Device:
        def find() -> Sequence[Machine]:
            return [bench.phone]

        return device_pool.make_pool(quick(spec), kind="adb", find=find)

    def server(_processes: ProcessRunner) -> Server:
        return Server(bench.phone)

    monkeypatch.setattr("megtrim.cli.devices.inventory.find_adb", server)
    monkeypatch.setattr(room, "KINDS", {**room.KINDS, "adb": phones})
    monkeypatch.setattr("megtrim.devices.KINDS", {**room.KINDS, "adb": phones})
    monkeypatch.setattr("megtrim.cli.devices.group._SHELLS", {})
    return bench
