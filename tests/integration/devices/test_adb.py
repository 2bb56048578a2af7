"""Run directories over a real adb and a real adbd, and what is left of them: nothing."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import megtrim
from integration.devices.rigs import ConnectedPhone, StartPhone
from megtrim.core.config.device import CoolDown, DeviceSettings
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.devices import adb
from megtrim.places.devices.adb import ROOT, AdbTransport, find_adb
from megtrim.places.devices.device import Timeouts
from megtrim.places.devices.remote import tuning
from megtrim.places.devices.remote.run_directory import open_directory
from megtrim.places.devices.remote.telemetry import FACTS_SCRIPT, parse_facts
from megtrim.places.devices.remote.transport import ConnectionLost, NoSpace, call
from support.clock import until
from support.haste import scale
from unit.places.devices.machines import spec_of

QUICK = Timeouts(heartbeat_s=0.5, probe_s=1.0, poll_s=0.2)
RUNS = f"{adb.ROOT}/runs"


def machine(phone: ConnectedPhone, timeouts: Timeouts = QUICK) -> adb.AdbPhone:
    settings = DeviceSettings(serial=phone.serial)
    spec = spec_of(phone.processes, Path(), name="pixel", settings=settings, timeouts=timeouts)
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
    text = program("sleep 973")
    words = ("-m", "megtrim", "devices", "run", phone.serial, "--", str(text))
    argv = (sys.executable, *words)
    command = Command(argv=argv, timeout_s=60, cwd=text.parent, env=env)
    with phone.processes.background(command) as holder:
        until(lambda: stray(phone, 973), "the phone")
        os.kill(holder.pid, signal.SIGKILL)
        until(lambda: not stray(phone, 973), "the phone")
    with machine(phone).open():
        assert len(left(phone)) == 1
    assert left(phone) == []


def test_a_frozen_phone_is_noticed(phone: ConnectedPhone, program: Callable[[str], Path]) -> None:
    """By default in half a minute; here in a quarter of that, on a machine that is not busy."""
    default = Timeouts()
    assert default.heartbeat_s + 2 * default.probe_s < 30
    began = time.monotonic()
    with (
        pytest.raises(ConnectionLost, match="no sign of life"),
        machine(phone, scale(0.25)).open() as directory,
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


PROGRAM = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What Android's C library does before a signal ends a program: it reports the crash log. */
static void tell(int number) {
    FILE* log = fopen("/phone/logcat", "a");
    const char* dumper = "12-31 23:59:59.000 99999 99999 F DEBUG   :";
    int pid = getpid();
    fprintf(log, "12-31 23:59:59.000 %5d %5d F libc    : ", pid, pid);
    fprintf(log, "Fatal signal %d in tid %d\n", number, pid);
    fprintf(log, "%s *** *** ***\n", dumper);
    fprintf(log, "%s pid: %d, tid: %d, name: x  >>> ./x <<<\n", dumper, pid, pid);
    fprintf(log, "%s       #00 pc 0000000000001000  x (main+4)\n", dumper);
    fclose(log);
    signal(number, SIG_DFL);
    raise(number);
}

int main(int count, char** words) {
    if (count > 1 && !strcmp(words[1], "crash")) {
        signal(SIGSEGV, tell);
        *(volatile int*)0 = 1;
    }
    if (count > 1 && !strcmp(words[1], "die"))
        *(volatile int*)0 = 1;
    char line[200];
    FILE* file = fopen("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "r");
    if (file && fgets(line, sizeof line, file))
        printf("governor %s", line);
    return 0;
}
"""


@pytest.fixture(scope="module")
def probe(processes: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "x.c").write_text(PROGRAM, encoding="utf-8")
    processes.capture(
        "aarch64-linux-gnu-gcc", "-static", "-O1", "-o", str(folder / "x"), str(folder / "x.c")
    )
    return folder / "x"


def link_to(phone: ConnectedPhone) -> AdbTransport:
    return AdbTransport(find_adb(phone.processes), phone.serial, phone.name)


def run(
    phone: ConnectedPhone, probe: Path, *words: str, settings: DeviceSettings | None = None
) -> tuple[ProgramRun, list[str]]:
    said = list[str]()
    asked = settings or DeviceSettings()
    spec = spec_of(phone.processes, Path(), name=phone.name, settings=asked, say=said.append)
    with open_directory(link_to(phone), spec, root=ROOT) as directory:
        directory.put(probe, "x")
        return directory.run(("x", *words), timeout_s=20), said


def governors(phone: ConnectedPhone) -> str:
    return phone.shell("cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor").stdout


def test_a_phone_reports_its_facts_in_one_call(start_phone: StartPhone) -> None:
    phone = start_phone(properties={"ro.build.version.security_patch": "2022-01-05"})
    facts = parse_facts(call(link_to(phone), FACTS_SCRIPT, timeout_s=20))

    assert facts["machine"] == "aarch64"
    assert facts["governor"] == "schedutil"
    assert "arm64-v8a" in facts["ABIs"]
    assert "asimd" in facts["CPU features"]
    assert facts["storage"].endswith(" kB free")
    assert facts["patch level"] == "2022-01-05"
    assert {"fingerprint", "model", "Android", "kernel", "cores", "memory"} <= facts.keys()
    assert re.fullmatch(r"[0-9a-f-]{36}", facts["boot id"])


def test_a_cool_phone_gives_valid_times(phone: ConnectedPhone, probe: Path) -> None:
    ran, _ = run(phone, probe)

    assert ran.rc == 0
    assert ran.conditions is not None
    before = ran.conditions.before
    assert ran.conditions.invalid == ""
    assert before.cpu_c is not None
    assert 20 <= before.cpu_c <= 45
    assert (before.battery_percent, before.charging, before.thermal_status) == (80, True, 0)
    assert [policy.governor for policy in before.policies] == ["schedutil"] * 2
    assert ran.crash == ""


def test_a_phone_that_gets_hot_in_a_run_is_marked(phone: ConnectedPhone, probe: Path) -> None:
    phone.fault("hot", 82.0, moment="run")
    ran, _ = run(phone, probe)

    assert ran.conditions is not None
    assert ran.conditions.before.throttled == ""
    assert ran.conditions.invalid == "throttled after the run: thermal status 3 (severe)"


def test_a_hot_phone_is_waited_for(phone: ConnectedPhone, probe: Path) -> None:
    phone.fault("hot", 82.0)
    phone.fault("cool", delay_s=2.5)
    settings = DeviceSettings(cool_down=CoolDown.model_construct(below_c=45.0, within_s=30.0))
    ran, said = run(phone, probe, settings=settings)

    assert ran.conditions is not None
    assert ran.conditions.invalid == ""
    hot = "82.0 °C (thermal status 3 (severe))"
    assert said[0].startswith(f"  cool  {phone.name}: {hot}, requested: below 45 °C, at most")


TUNED = DeviceSettings(governor="performance", cpus="0")


def test_a_rooted_phone_is_tuned_and_put_back(start_phone: StartPhone, probe: Path) -> None:
    phone = start_phone(rooted=True)
    ran, said = run(phone, probe, settings=TUNED)

    assert ran.stdout == "governor performance\n"
    assert ran.conditions is not None
    assert ran.conditions.invalid == ""
    assert [policy.governor for policy in ran.conditions.before.policies] == ["performance"] * 2
    assert governors(phone) == "schedutil\nschedutil\n"
    assert said == []


def test_what_a_killed_holder_left_is_mended_at_the_next_entry(
    start_phone: StartPhone, probe: Path
) -> None:
    phone = start_phone(rooted=True)
    phone.shell(f"mkdir -p {ROOT}")
    call(link_to(phone), tuning.TUNE_SCRIPT, ROOT, "powersave", "", timeout_s=20)
    assert governors(phone) == "powersave\npowersave\n"

    ran, _ = run(phone, probe)

    assert ran.stdout == "governor schedutil\n"
    assert governors(phone) == "schedutil\nschedutil\n"
    assert phone.shell(f"ls {ROOT}/tuned").rc != 0


def test_a_crash_leaves_what_the_phone_knows(phone: ConnectedPhone, probe: Path) -> None:
    phone.log("12-31 23:59:58.000     1     1 F libc    : Fatal signal 6 in tid 1\n")
    ran, _ = run(phone, probe, "crash")

    lines = ran.crash.splitlines()
    assert ran.rc == 139
    assert lines[:2] == ["ended by signal 11 (SIGSEGV)", "crash log:"]
    assert re.fullmatch(r"  libc: Fatal signal 11 in tid (\d+)", lines[2])
    assert lines[3] == "  *** *** ***"
    assert re.fullmatch(r"  pid: (\d+), tid: \1, name: x  >>> \./x <<<", lines[4])
    assert lines[5:] == ["        #00 pc 0000000000001000  x (main+4)"]
