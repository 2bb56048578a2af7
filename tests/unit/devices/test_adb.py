"""Phones are found by serial or properties; every call names its phone."""

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
from megtrim.devices.remote.adb_client import find_adb
from megtrim.devices.remote.transport import ConnectionLost
from megtrim.errors import InfrastructureFailure
from megtrim.process import ProcessRunner
from unit.devices.fake_adb import Server, serving, write_client

GETPROP = """\
#!/bin/sh
[ $# = 0 ] || { echo 1; exit; }
printf '[ro.product.model]: [Pixel 6]\\r\\n[ro.x]: []\\nnoise\\n'
"""


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


def calls(client: Path) -> list[str]:
    return Path(f"{client}.calls").read_text().splitlines()


def test_what_is_attached(spec: DeviceSpec, server: Server) -> None:
    """With properties, of those that answer."""
    server.answers["host:devices"] = "B\tunauthorized\nA1\tdevice\n"
    assert adb.list_phones(spec.processes) == (
        adb.AttachedPhone(
            serial="A1", state="device", properties={"ro.product.model": "Pixel 6", "ro.x": ""}
        ),
        adb.AttachedPhone(serial="B", state="unauthorized", properties={}),
    )


def test_by_serial_without_asking_it(spec: DeviceSpec, client: Path) -> None:
    """Also one that is not attached now: it may come back."""
    power = PowerPort(hub="1-1", port=2)
    (phone,) = adb.find(named(spec, serial="Z", power=power))
    assert (phone.name, phone.key, phone.kind) == ("pixel-6", "adb:Z", "adb")
    assert (phone.link.label, phone.power) == ("pixel-6 (serial Z)", power)
    assert calls(client) == ["version"]


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


def test_several_that_fit_have_names_of_their_own(spec: DeviceSpec, server: Server) -> None:
    server.answers["host:devices"] = "A1\tdevice\n10.0.0.2:5555\tdevice\nB\toffline\n"
    phones = adb.find(spec)
    assert [phone.name for phone in phones] == ["pixel-6.10.0.0.2-5555", "pixel-6.A1"]
    assert [phone.key for phone in phones] == ["adb:10.0.0.2:5555", "adb:A1"]


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


def test_every_call_names_its_phone(spec: DeviceSpec, client: Path, tmp_path: Path) -> None:
    """And the server's address."""
    (phone,) = adb.find(named(spec, serial="A1"))
    (tmp_path / "source").write_text("x")
    phone.link.push(tmp_path / "source", str(tmp_path / "there"), timeout_s=5)
    phone.link.pull(str(tmp_path / "there"), tmp_path / "back", timeout_s=5)
    assert phone.link.shell("exit 3", timeout_s=5).rc == 3
    assert (tmp_path / "back").read_text() == "x"
    where = f"-H 127.0.0.1 -P {find_adb(spec.processes).port} -s A1"
    own = [call for call in calls(client) if call != "version"]
    assert len(own) == 3
    assert all(call.startswith(where) for call in own)


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
    assert calls(client) == ["version"]


def test_a_reconnection(spec: DeviceSpec, client: Path) -> None:
    """Over the network it must be given up first."""
    for serial in ("A1", "10.0.0.2:5555"):
        adb.find(named(spec, serial=serial))[0].reconnect()
    words = [call.split(" ", 4)[4] for call in calls(client) if call != "version"]
    assert words == ["-s A1 reconnect", "disconnect 10.0.0.2:5555", "connect 10.0.0.2:5555"]


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
