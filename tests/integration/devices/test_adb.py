"""Run directories over a real adb and a real adbd, and what is left of them: nothing."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import megtrim
from integration.devices.rigs import ConnectedPhone, StartPhone
from megtrim.config.device import DeviceSettings
from megtrim.devices import adb
from megtrim.devices.adb import find_adb
from megtrim.devices.device import DeviceSpec, Timeouts
from megtrim.devices.remote.transport import ConnectionLost, NoSpace
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import Command, ProcessRunner
from support.clock import until

QUICK = Timeouts(heartbeat_s=0.5, probe_s=1.0, poll_s=0.2)
RUNS = f"{adb.ROOT}/runs"

HOLDER = """\
import os, pathlib, sys
from megtrim.devices import adb
from megtrim.devices.device import DeviceSpec
from megtrim.config.device import DeviceSettings
from megtrim.util.process import ProcessRunner
order = DeviceSpec(name="p", processes=ProcessRunner(os.environ), scratch=pathlib.Path("."),
    machine="", qemu_cpu="", sysroot=None, settings=DeviceSettings(serial=sys.argv[1]))
with adb.find(order)[0].open() as directory:
    directory.put(pathlib.Path(sys.argv[2]), "p")
    directory.run(("p",), timeout_s=100)
"""


def machine(phone: ConnectedPhone, timeouts: Timeouts = QUICK) -> adb.AdbPhone:
    spec = DeviceSpec(
        name="pixel",
        processes=phone.processes,
        scratch=Path(),
        machine="aarch64",
        qemu_cpu="",
        sysroot=None,
        settings=DeviceSettings(serial=phone.serial),
        timeouts=timeouts,
    )
    return adb.find(spec)[0]


def left(phone: ConnectedPhone) -> list[str]:
    return phone.shell(f"ls {RUNS}").stdout.split()


def stray(phone: ConnectedPhone, seconds: int) -> bool:
    return f"sleep {seconds}" in phone.shell("ps -A -o ARGS").stdout


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "program"
        path.write_text(f"#!/system/bin/sh\n{text}\n", encoding="utf-8")
        return path

    return write


def test_a_phone_that_stops_for_a_while(
    phone: ConnectedPhone, program: Callable[[str], Path]
) -> None:
    """Its shell takes a program that was stopped for one that ended: its status must not count."""
    text = "(sleep 0.6; kill -CONT $$) & kill -STOP $$; echo on; exit 5"
    with machine(phone).open() as directory:
        directory.put(program(text), "p")
        run = directory.run(("p",), timeout_s=9)
        assert (run.rc, run.stdout) == (5, "on\n")
        directory.put(program("sleep 0.8; exit 6"), "q")
        phone.fault("freeze", moment="run", delay_s=0.45, for_s=0.8)
        assert directory.run(("q",), timeout_s=9).rc == 6


def test_a_holder_that_is_killed(phone: ConnectedPhone, program: Callable[[str], Path]) -> None:
    """Its link breaks, so the phone ends the program by itself; the next entry finds no trace."""
    env = {**phone.processes.env, "PYTHONPATH": str(Path(megtrim.__file__).parents[1])}
    script = Command(
        argv=(sys.executable, "-c", HOLDER, phone.serial, str(program("sleep 973"))),
        timeout_s=60,
        env=env,
    )
    with phone.processes.background(script) as holder:
        until(lambda: stray(phone, 973), "the phone")
        os.kill(holder.pid, signal.SIGKILL)
        until(lambda: not stray(phone, 973), "the phone")
    with machine(phone).open():
        assert len(left(phone)) == 1
    assert left(phone) == []


def test_a_frozen_phone_is_noticed(phone: ConnectedPhone, program: Callable[[str], Path]) -> None:
    began = time.monotonic()
    with (
        pytest.raises(ConnectionLost, match="no sign of life"),
        machine(phone, Timeouts()).open() as directory,
    ):
        directory.put(program("sleep 974"), "p")
        phone.fault("freeze", moment="run")
        directory.run(("p",), timeout_s=600)
    assert time.monotonic() - began < 30
    phone.fault("thaw")
    until(lambda: machine(phone).alive(), "the phone")
    with machine(phone).open():
        assert len(left(phone)) == 1
    assert left(phone) == []


@pytest.mark.parametrize("moment", ["enter", "push", "put", "run", "pull", "cleanup"])
def test_a_phone_that_dies(
    phone: ConnectedPhone, program: Callable[[str], Path], moment: str
) -> None:
    phone.fault("kill", moment=moment)
    results: list[bytes | None] = []
    try:
        with machine(phone).open() as directory:
            directory.put(program("sleep 0.2; echo trace >t"), "p")
            directory.run(("p",), timeout_s=30)
            results.append(directory.get("t"))
    except InfrastructureFailure:
        assert results == []
    else:
        assert (moment, results) == ("cleanup", [b"trace\n"])


def test_a_full_phone(start_phone: StartPhone, program: Callable[[str], Path]) -> None:
    phone = start_phone(data_bytes=20_000_000)
    with pytest.raises(NoSpace), machine(phone).open() as directory:
        directory.put(program("exec cat /dev/zero >big"), "p")
        directory.run(("p",), timeout_s=60)
    assert left(phone) == []
    big = program("")
    big.write_bytes(os.urandom(11_000_000))
    with pytest.raises(NoSpace, match="MiB are needed for p"), machine(phone).open() as directory:
        directory.put(big, "p")
    with machine(phone).open() as directory:
        directory.put(program("echo 1 >t"), "p")
        directory.run(("p",), timeout_s=9)
        assert directory.get("t") == b"1\n"


def test_another_version_never_meets_the_server(phone: ConnectedPhone, tmp_path: Path) -> None:
    program = find_adb(phone.processes).program
    older = tmp_path / "adb"
    older.write_text(f"#!/bin/sh\n{program} \"$@\" | sed 's/1[.]0[.]41/1.0.40/'\n")
    older.chmod(0o755)
    spec = ProcessRunner({**phone.processes.env, "MEGTRIM_ADB": str(older)})
    with pytest.raises(InfrastructureFailure, match="using it would kill the server"):
        adb.list_phones(spec)
    assert phone.shell("echo there").stdout == "there\n"
    no_one = ProcessRunner({**phone.processes.env, "ANDROID_ADB_SERVER_PORT": "1"})
    with pytest.raises(InfrastructureFailure, match="no adb server listens"):
        adb.list_phones(no_one)
