from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.config.device import DeviceSettings, PowerPort
from megtrim.devices import adb
from megtrim.devices.device import DeviceSpec
from megtrim.devices.pool.machine import ConnectionState
from megtrim.devices.remote.adb_transport import SHARED_SERIAL, find_adb
from megtrim.devices.remote.transport import ConnectionLost
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import ProcessRunner
from unit.devices.fake_adb import Server, serving, write_client

GETPROP = """\
#!/bin/sh
[ $# = 0 ] || { echo 1; exit; }
printf '[ro.product.model]: [Pixel 6]\\r\\n[ro.x]: []\\nnoise\\n'
"""
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def client(tmp_path: Path) -> Path:
    client = write_client(tmp_path / "bin")
    (client.parent / "getprop").write_text(GETPROP)
    (client.parent / "getprop").chmod(0o755)
    return client


@pytest.fixture
def spec(client: Path, server: Server, tmp_path: Path) -> DeviceSpec:
    path = f"{client.parent}:{os.environ['PATH']}"
    env = {"PATH": path, "ANDROID_ADB_SERVER_PORT": str(server.port)}
    return DeviceSpec(
        name="pixel-6",
        processes=ProcessRunner(env),
        scratch=tmp_path,
        machine="aarch64",
        qemu_cpu="",
        sysroot=None,
    )


def named(spec: DeviceSpec, **settings: Any) -> DeviceSpec:
    return replace(spec, settings=DeviceSettings.model_construct(**settings))


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of tests may have a port that another one had."""
    monkeypatch.setattr(adb, "_KNOWN", {})


def calls(client: Path) -> list[str]:
    return Path(f"{client}.calls").read_text().splitlines()


def test_what_is_attached(spec: DeviceSpec, server: Server) -> None:
    server.answers["host:devices"] = "B\tunauthorized\nA1\tdevice\n"
    assert adb.list_phones(spec.processes) == (
        adb.AttachedPhone(
            serial="A1",
            state="device",
            properties={"ro.product.model": "Pixel 6", "ro.x": "", "boot id": BOOT},
            keys=("adb:A1",),
        ),
        adb.AttachedPhone(serial="B", state="unauthorized", properties={}, keys=("adb:B",)),
    )


def test_by_a_serial_that_is_not_attached_now(spec: DeviceSpec) -> None:
    power = PowerPort(hub="1-1", port=2)
    (phone,) = adb.find(named(spec, serial="Z", power=power))
    assert (phone.name, phone.key, phone.kind) == ("pixel-6", "adb:Z", "adb")
    assert (phone.link.label, phone.power) == ("pixel-6 (serial Z)", power)


@pytest.mark.parametrize(
    ("match", "count"),
    [
        ({"ro.product.model": "Pixel 6"}, 1),
        ({"ro.product.model": "Pixel 6", "ro.x": ""}, 1),
        ({"ro.product.model": "Pixel 6", "ro.x": "y"}, 0),
        ({"ro.product.model": "Pixel"}, 0),
        ({}, 1),
    ],
)
def test_by_all_properties(spec: DeviceSpec, match: dict[str, str], count: int) -> None:
    assert [phone.name for phone in adb.find(named(spec, match=match))] == ["pixel-6"] * count


ONE, TWO, LATER = ("S", "b1"), ("T", "b2"), ("S", "b3")
NETWORK = ("127.0.0.1:5555", "[::1]:5555", "localhost:5555", "rack.lan:5555")
TLS = "adb-S-aBcDeF (2)._adb-tls-connect._tcp"


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        ({"S": ONE, "T": TWO}, ["S adb:S", "T adb:T"]),
        ({"S": ONE, "10.0.0.7:5555": ONE, TLS: ONE}, [f"S adb:S adb:10.0.0.7:5555 adb:{TLS}"]),
        ({TLS: ONE, "10.0.0.7:5555": ONE}, [f"10.0.0.7:5555 adb:S adb:10.0.0.7:5555 adb:{TLS}"]),
        (
            dict.fromkeys(NETWORK, ONE),
            [" adb:".join(("127.0.0.1:5555 adb:S", *NETWORK))],
        ),
        (
            {"emulator-5554": ONE, "localhost:5555": ONE},
            ["emulator-5554 adb:S adb:emulator-5554 adb:localhost:5555"],
        ),
        ({"a:1": ONE, "b:1": LATER}, ["a:1 adb:a:1", "b:1 adb:b:1"]),
        ({"a:1": ONE, "b:1": LATER, "c:1": ONE}, ["a:1 adb:a:1 adb:c:1", "b:1 adb:b:1"]),
        ({"a:1": ("", "b1"), "b:1": ("", "b1")}, ["a:1 adb:a:1 adb:b:1"]),
        ({"a:1": ("", "b1"), "b:1": ("", "b2")}, ["a:1 adb:a:1", "b:1 adb:b:1"]),
        ({"S": None, "a:1": ONE}, ["a:1 adb:S adb:a:1"]),
        ({"S": None, "a:1": TWO}, ["S adb:S", "a:1 adb:T adb:a:1"]),
    ],
)
def test_one_phone_has_one_row_whatever_its_addresses(
    spec: DeviceSpec,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    said: dict[str, tuple[str, str] | None],
    rows: list[str],
) -> None:
    """One serial and one boot are one phone; two phones of one serial have each its address."""
    server.answers["host:devices"] = "".join(
        f"{address}\t{'device' if own else 'offline'}\n" for address, own in said.items()
    )

    def answer(_adb: object, serial: str, _timeouts: object) -> dict[str, str]:
        own = said[serial]
        return {"ro.serialno": own[0], "boot id": own[1]} if own else {}

    monkeypatch.setattr(adb, "_properties", answer)
    found = [" ".join((each.serial, *each.keys)) for each in adb.list_phones(spec.processes)]
    assert found == rows
    phones = adb.find(named(spec, serial="S" if "adb:S" in rows[0] else "b:1"))
    assert [phone.name for phone in phones] == ["pixel-6"]


@pytest.mark.parametrize(
    ("address", "called"),
    [
        ("S", True),
        ("s", False),
        ("10.0.0.7", True),
        ("10.0.0.7:5555", True),
        ("10.0.0.7:5556", False),
        ("RACK.lan:5555", True),
        ("rack.lan.:5555", True),
        ("rack.lan", True),
        ("[::1]:5555", True),
        ("adb-S-aBcDeF._adb-tls-connect._tcp", True),
        ("adb-S-aBcDeF._adb-tls-connect._tcp.", True),
        ("adb-S", False),
    ],
)
def test_a_phone_is_called_by_each_of_its_addresses(address: str, called: bool) -> None:
    keys = ("S", "10.0.0.7:5555", "rack.lan:5555", "[::1]:5555")
    tls = "adb-S-aBcDeF._adb-tls-connect._tcp."
    phone = adb.AttachedPhone(
        serial="S", state="device", properties={}, keys=tuple(f"adb:{key}" for key in (*keys, tls))
    )
    assert phone.is_called(address) is called


def test_two_phones_of_one_serial_are_named_by_their_ports(
    spec: DeviceSpec, server: Server
) -> None:
    """By USB, adb takes a port for a name; a server that shows none cannot reach either."""
    server.answers["host:devices"] = "S\tdevice\nS\tdevice\nT\tdevice\n"
    lines = "".join(f"S   device usb:1-{n} product:x transport_id:{n}\n" for n in (1, 2))
    server.answers["host:devices-l"] = f"{lines}T   device usb:1-3 transport_id:3\n"
    states = find_adb(spec.processes).states()
    assert states == {"T": "device", "usb:1-1": "device", "usb:1-2": "device"}

    server.answers["host:devices-l"] = "S\tdevice\nS\tdevice\nT\tdevice\n"
    states = find_adb(spec.processes).states()
    assert states == {"T": "device", "S": SHARED_SERIAL}
    (twin,) = adb.find(named(spec, serial="S"))
    assert (twin.presence(), twin.trouble) == (ConnectionState.OFFLINE, SHARED_SERIAL)


@pytest.mark.parametrize(
    ("state", "presence"),
    [
        ("device", ConnectionState.READY),
        ("unauthorized", ConnectionState.UNAUTHORIZED),
        ("offline", ConnectionState.OFFLINE),
        ("recovery", ConnectionState.OFFLINE),
    ],
)
def test_presence(spec: DeviceSpec, server: Server, state: str, presence: ConnectionState) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    server.answers["host:devices"] = f"A1\t{state}\n"
    assert phone.presence() is presence
    server.answers["host:devices"] = f"A2\t{state}\n"
    assert phone.presence() is ConnectionState.ABSENT


def test_a_phone_is_alive_once_it_has_booted(spec: DeviceSpec, client: Path) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    assert (phone.alive(), phone.trouble) == (True, "")
    (client.parent / "getprop").write_text("#!/bin/sh\necho 0\n")
    assert not phone.alive()
    (client.parent / "getprop").unlink()
    assert phone.alive()
    client.write_text("#!/bin/sh\necho 'error: closed' >&2; exit 1\n")
    assert not phone.alive()
    assert phone.trouble == (
        "pixel-6 (serial A1): the link was lost while asking whether it is there: error: closed"
    )


def test_facts(spec: DeviceSpec) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    facts = phone.facts()
    assert facts["serial"] == "A1"
    assert facts["machine"]


def test_a_call_without_a_server_of_our_version_is_none(
    spec: DeviceSpec, client: Path, server: Server
) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    server.answers["host:version"] = "0028"
    with pytest.raises(InfrastructureFailure, match="of version 40"):
        phone.link.shell("exit 0", timeout_s=5)
    with pytest.raises(InfrastructureFailure, match="of version 40"):
        phone.reconnect()
    assert not phone.alive()
    assert len(calls(client)) == 2


def test_a_reconnection(spec: DeviceSpec, client: Path) -> None:
    """Over the network it must be given up first."""
    for serial in ("A1", "10.0.0.2:5555"):
        adb.find(named(spec, serial=serial))[0].reconnect()
    words = [call.split(" ", 4)[4] for call in calls(client) if call != "version"]
    assert [each for each in words if " shell " not in each] == [
        "-s A1 reconnect",
        "disconnect 10.0.0.2:5555",
        "connect 10.0.0.2:5555",
    ]


def test_a_reboot_that_cannot_be_asked_for(spec: DeviceSpec) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    with pytest.raises(ConnectionLost, match="while asking for a reboot: error: closed"):
        phone.reboot()


def test_what_doctor_says(spec: DeviceSpec, client: Path, server: Server) -> None:
    assert adb.missing(spec.processes) == ""
    said = f"{client} (protocol 41, server on port {server.port}, 1 phone)"
    assert adb.describe_tools(spec.processes) == said
    server.answers["host:version"] = "0028"
    assert "using it would kill the server" in adb.missing(spec.processes)
    assert "no program 'adb'" in adb.missing(ProcessRunner({"PATH": "/nowhere"}))
