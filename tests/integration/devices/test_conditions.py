"""On a virtual phone: what is measured around a run, tuning that leaves no trace, and a crash."""

import re
from pathlib import Path

import pytest

from integration.devices.rigs import ConnectedPhone, StartPhone
from megtrim.config.device import CoolDown, DeviceSettings
from megtrim.devices.adb import ROOT, AdbTransport, find_adb
from megtrim.devices.device import DeviceSpec
from megtrim.devices.remote import tuning
from megtrim.devices.remote.run_directory import open_directory
from megtrim.devices.remote.telemetry import FACTS_SCRIPT, parse_facts
from megtrim.devices.remote.transport import call
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.util.process import ProcessRunner

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
def program(processes: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "x.c").write_text(PROGRAM, encoding="utf-8")
    processes.capture(
        "aarch64-linux-gnu-gcc", "-static", "-O1", "-o", str(folder / "x"), str(folder / "x.c")
    )
    return folder / "x"


def link_to(phone: ConnectedPhone) -> AdbTransport:
    return AdbTransport(find_adb(phone.processes), phone.serial, phone.name)


def run(
    phone: ConnectedPhone, program: Path, *words: str, settings: DeviceSettings | None = None
) -> tuple[ProgramRun, list[str]]:
    said = list[str]()
    spec = DeviceSpec(
        name=phone.name,
        processes=phone.processes,
        scratch=Path(),
        machine="aarch64",
        qemu_cpu="max",
        sysroot=None,
        settings=settings or DeviceSettings(),
        say=said.append,
    )
    with open_directory(link_to(phone), spec, root=ROOT) as directory:
        directory.put(program, "x")
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


def test_a_cool_phone_gives_valid_times(phone: ConnectedPhone, program: Path) -> None:
    ran, _ = run(phone, program)

    assert ran.rc == 0
    assert ran.conditions is not None
    before = ran.conditions.before
    assert ran.conditions.invalid == ""
    assert before.cpu_c is not None
    assert 20 <= before.cpu_c <= 45
    assert (before.battery_percent, before.charging, before.thermal_status) == (80, True, 0)
    assert [policy.governor for policy in before.policies] == ["schedutil"] * 2
    assert ran.crash == ""


def test_a_phone_that_gets_hot_in_a_run_is_marked(phone: ConnectedPhone, program: Path) -> None:
    phone.fault("hot", 82.0, moment="run")
    ran, _ = run(phone, program)

    assert ran.conditions is not None
    assert ran.conditions.before.throttled == ""
    assert ran.conditions.invalid == "throttled after the run: thermal status 3 (severe)"


def test_a_hot_phone_is_waited_for(phone: ConnectedPhone, program: Path) -> None:
    phone.fault("hot", 82.0)
    phone.fault("cool", delay_s=2.5)
    settings = DeviceSettings(cool_down=CoolDown.model_construct(below_c=45.0, within_s=30.0))
    ran, said = run(phone, program, settings=settings)

    assert ran.conditions is not None
    assert ran.conditions.invalid == ""
    hot = "82.0 °C (thermal status 3 (severe))"
    assert said[0].startswith(f"  cool  {phone.name}: {hot}, requested: below 45 °C, at most")


TUNED = DeviceSettings(governor="performance", cpus="0")


def test_a_rooted_phone_is_tuned_and_put_back(start_phone: StartPhone, program: Path) -> None:
    phone = start_phone(rooted=True)
    ran, said = run(phone, program, settings=TUNED)

    assert ran.stdout == "governor performance\n"
    assert ran.conditions is not None
    assert ran.conditions.invalid == ""
    assert [policy.governor for policy in ran.conditions.before.policies] == ["performance"] * 2
    assert governors(phone) == "schedutil\nschedutil\n"
    assert said == []


def test_what_a_killed_holder_left_is_mended_at_the_next_entry(
    start_phone: StartPhone, program: Path
) -> None:
    phone = start_phone(rooted=True)
    phone.shell(f"mkdir -p {ROOT}")
    call(link_to(phone), tuning.TUNE_SCRIPT, ROOT, "powersave", "", timeout_s=20)
    assert governors(phone) == "powersave\npowersave\n"

    ran, _ = run(phone, program)

    assert ran.stdout == "governor schedutil\n"
    assert governors(phone) == "schedutil\nschedutil\n"
    assert phone.shell(f"ls {ROOT}/tuned").rc != 0


def test_a_crash_leaves_what_the_phone_knows(phone: ConnectedPhone, program: Path) -> None:
    phone.log("12-31 23:59:58.000     1     1 F libc    : Fatal signal 6 in tid 1\n")
    ran, _ = run(phone, program, "crash")

    lines = ran.crash.splitlines()
    assert ran.rc == 139
    assert lines[:2] == ["ended by signal 11 (SIGSEGV)", "crash log:"]
    assert re.fullmatch(r"  libc: Fatal signal 11 in tid (\d+)", lines[2])
    assert lines[3] == "  *** *** ***"
    assert re.fullmatch(r"  pid: (\d+), tid: \1, name: x  >>> \./x <<<", lines[4])
    assert lines[5:] == ["        #00 pc 0000000000001000  x (main+4)"]
