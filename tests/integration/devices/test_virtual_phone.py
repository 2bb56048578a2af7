"""A virtual phone is a phone to adb, to programs for arm64, and to those who rehearse."""

import hashlib
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from integration.devices.rigs import ConnectedPhone, StartPhone
from megtrim.util.process import ProcessRunner
from support.clock import until
from virtual_phone.spec import LOG

TMP = "/data/local/tmp"
MIB = 1024 * 1024
_SOURCE = Path(__file__).with_name("arch.cpp")


@pytest.fixture(scope="session")
def arm64_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("arm64") / "arch"
    compiler = ("aarch64-linux-gnu-g++", "-static", "-O1", str(_SOURCE), "-o", str(program))
    ProcessRunner(os.environ).capture(*compiler)
    return program


@pytest.fixture(scope="session")
def payload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("payload") / "payload"
    path.write_bytes(os.urandom(8 * MIB))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_exit_statuses_and_files_come_back(
    phone: ConnectedPhone, payload: Path, tmp_path: Path
) -> None:
    assert phone.shell("exit 7").rc == 7
    assert phone.shell("kill -9 $$").rc == 137
    assert phone.adb("push", str(payload), TMP).rc == 0
    assert phone.shell(f"sha256sum {TMP}/payload").stdout.split()[0] == sha256(payload)
    assert phone.adb("pull", f"{TMP}/payload", str(tmp_path / "back")).rc == 0
    assert sha256(tmp_path / "back") == sha256(payload)


def test_arm64_programs_run(phone: ConnectedPhone, arm64_program: Path) -> None:
    phone.adb("push", str(arm64_program), f"{TMP}/arch")
    ran = phone.shell(f"chmod 755 {TMP}/arch && cd {TMP} && ./arch")
    assert ran.stdout == "aarch64 part d0b\n"
    assert ran.rc == 3
    assert phone.shell(f"{TMP}/arch segfault").rc == 139


def test_the_shell_is_androids(phone: ConnectedPhone) -> None:
    said = phone.shell('id -un; echo "$KSH_VERSION"; readlink /system/bin/ls; uname -m').stdout
    user, shell, ls, machine = said.splitlines()
    assert user == "shell"
    assert "MIRBSD KSH" in shell
    assert ls.endswith("toybox")
    assert machine == "aarch64"
    assert phone.shell("ls -d /home /root /srv /tmp 2>/dev/null").stdout == ""
    assert 3 <= len(phone.shell("ls -d /proc/[0-9]*").stdout.splitlines()) <= 5


def test_androids_programs(phone: ConnectedPhone) -> None:
    assert phone.shell("getprop ro.product.cpu.abi").stdout == "arm64-v8a\n"
    assert phone.shell("getprop no.such.property; getprop no.such fallback").stdout == (
        "\nfallback\n"
    )
    assert f"[ro.serialno]: [{phone.name}]\n" in phone.shell("getprop").stdout
    assert "  level: 80\n" in phone.shell("dumpsys battery").stdout
    assert phone.shell("dumpsys nonsense").rc == 1
    phone.shell("log -p e -t tester it went wrong")
    assert phone.shell("logcat -d -t 1").stdout.endswith(" E tester: it went wrong\n")
    phone.log("from outside")
    assert phone.shell("logcat -d | tail -n 1").stdout == "from outside\n"
    phone.shell("logcat -c")
    assert phone.shell("logcat -d").stdout == ""
    assert phone.shell("svc power stayon true").rc == 0
    phone.set_properties({"ro.product.model": "Pixel 6"})
    assert phone.shell("getprop ro.product.model").stdout == "Pixel 6\n"


def test_a_rooted_phone_lets_governors_be_set(start_phone: StartPhone) -> None:
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    script = f"echo performance > {governor}; cat {governor}; id -u"
    assert start_phone(rooted=True).shell(script).stdout == "performance\n0\n"
    assert start_phone().shell(script).stdout == "schedutil\n2000\n"


def test_kill_and_revive(phone: ConnectedPhone) -> None:
    before = phone.shell(f"echo kept > {TMP}/file; cat /proc/sys/kernel/random/boot_id").stdout
    phone.fault("kill")
    assert phone.status()["state"] == "dead"
    assert phone.shell("echo no").stdout == ""
    phone.fault("revive")
    phone.connect()
    after = phone.shell(f"cat {TMP}/file /proc/sys/kernel/random/boot_id").stdout
    assert after.startswith("kept\n")
    assert before not in after


def test_a_frozen_phone_hangs_and_goes_on(phone: ConnectedPhone) -> None:
    ticking = f"while :; do echo x >> {TMP}/ticks; sleep 0.05; done"
    phone.shell(f"setsid sh -c '{ticking}' < /dev/null > /dev/null 2>&1 &")

    def ticks() -> int:
        return int(phone.shell(f"cat {TMP}/ticks 2>/dev/null | wc -l").stdout)

    until(lambda: ticks() > 1, "the phone")
    before = ticks()
    phone.fault("freeze")
    assert phone.status()["state"] == "frozen"
    assert phone.shell("echo no", timeout_s=2.0).timed_out
    phone.fault("thaw")
    # At one in 50 ms there would be 40 more.
    assert ticks() - before < 20
    assert phone.status()["state"] == "running"


def test_an_unplugged_phone_comes_back_by_itself(phone: ConnectedPhone) -> None:
    phone.fault("unplug", for_s=1.0)
    until(lambda: phone.shell("echo there").stdout != "there\n", "the phone")
    until(lambda: phone.shell("echo there").stdout == "there\n", "the phone")


def test_a_mute_phone_is_still_called_a_device(phone: ConnectedPhone) -> None:
    phone.fault("mute")
    assert phone.shell("echo no", timeout_s=1.0).timed_out
    assert phone.adb("get-state").stdout == "device\n"
    phone.fault("unmute")
    assert phone.shell("echo yes").stdout == "yes\n"


def test_a_full_disk(phone: ConnectedPhone, payload: Path) -> None:
    phone.fault("disk-full", 2 * MIB)
    available = phone.shell("df -k /data | tail -n 1").stdout.split()[3]
    assert available == "2048"
    failed = phone.adb("push", str(payload), TMP)
    assert failed.rc != 0
    assert "No space left on device" in failed.stdout + failed.stderr
    phone.fault("disk-free")
    assert phone.adb("push", str(payload), TMP).rc == 0


def test_a_slow_link(phone: ConnectedPhone, payload: Path) -> None:
    phone.fault("slow", 32_000_000)
    started = time.monotonic()
    assert phone.adb("push", str(payload), TMP).rc == 0
    assert time.monotonic() - started > 1.9
    phone.fault("full-speed")
    started = time.monotonic()
    assert phone.adb("push", str(payload), TMP).rc == 0
    assert time.monotonic() - started < 1.9


def test_heat_and_battery(phone: ConnectedPhone) -> None:
    phone.fault("hot", 81.5)
    phone.fault("battery", 7)
    look = "cat /sys/class/thermal/thermal_zone0/temp /sys/class/power_supply/battery/capacity"
    assert phone.shell(look).stdout == "81500\n7\n"
    assert "Thermal Status: 3\n" in phone.shell("dumpsys thermalservice").stdout
    assert "  level: 7\n" in phone.shell("dumpsys battery").stdout
    phone.fault("cool")
    assert phone.shell(look).stdout == "33000\n7\n"


def test_vanishing_in_the_midst_of_a_push(phone: ConnectedPhone, payload: Path) -> None:
    phone.fault("vanish", after_bytes=2 * MIB)
    assert phone.status()["waiting"] == ["vanish at push"]
    assert phone.adb("push", str(payload), TMP).rc != 0
    status = phone.status()
    assert (status["state"], status["answers"]) == ("dead", "none")
    assert status["happened"] == ["vanish at push"]
    phone.fault("reset")
    phone.connect()
    arrived = int(phone.shell(f"stat -c %s {TMP}/payload").stdout)
    assert 0 < arrived <= 2 * MIB
    assert phone.status()["happened"] == []


@pytest.mark.parametrize("moment", ["run", "probe", "cleanup"])
def test_a_fault_at_a_step(phone: ConnectedPhone, moment: str) -> None:
    word = {"cleanup": "clean"}.get(moment, moment)
    phone.fault("kill", moment=moment, nth=2)
    assert phone.shell(f"# megtrim:{word}\necho one").stdout == "one\n"
    assert phone.shell("# megtrim:enter\necho other").stdout == "other\n"
    assert phone.status()["happened"] == []
    phone.shell(f"# megtrim:{word}\necho two > {TMP}/two")
    assert phone.status()["happened"] == [f"kill at {moment}"]
    phone.fault("reset")
    phone.connect()
    assert phone.shell(f"cat {TMP}/two 2>/dev/null").stdout == ""


def test_a_fault_in_a_pull_and_between(
    phone: ConnectedPhone, payload: Path, tmp_path: Path
) -> None:
    phone.adb("push", str(payload), TMP)
    phone.fault("kill", moment="pull", after_bytes=MIB)
    assert phone.adb("pull", f"{TMP}/payload", str(tmp_path / "back")).rc != 0
    phone.fault("reset")
    phone.connect()
    phone.fault("unplug", moment="between")
    assert phone.adb("push", str(payload), f"{TMP}/again").rc == 0
    until(lambda: phone.status()["happened"] == ["unplug at between"], "the phone")
    assert phone.shell("echo no").stdout == ""


def test_unauthorized_is_a_stub(phone: ConnectedPhone) -> None:
    phone.fault("unauthorized")
    until(lambda: "unauthorized" in phone.adb("get-state").stderr, "the phone")
    assert phone.status()["state"] == "running"
    phone.fault("authorized")
    phone.adb("disconnect", phone.serial)
    phone.connect()
    assert phone.shell("echo yes").stdout == "yes\n"


@pytest.mark.parametrize("way", ["adb", "shell"])
def test_reboots(start_phone: StartPhone, way: str) -> None:
    phone = start_phone(boot_s=0.5)
    identity = "cat /proc/sys/kernel/random/boot_id"
    before = phone.shell(identity).stdout
    assert re.fullmatch(r"[0-9a-f-]{36}\n", before)
    phone.adb("reboot") if way == "adb" else phone.shell("reboot")
    until(lambda: phone.status()["happened"] == ["reboot at now"], "the phone")
    until(lambda: phone.status()["state"] == "running", "the phone")
    phone.connect()
    until(lambda: phone.shell("getprop sys.boot_completed").stdout == "1\n", "the phone")
    assert phone.shell(identity).stdout not in ("", before)


def test_its_log_is_empty_when_all_went_well(phone: ConnectedPhone) -> None:
    """Faults that are asked for are no errors of the supervisor."""
    for fault in ("freeze", "thaw", "mute", "unmute", "unplug", "replug", "kill", "reset"):
        phone.fault(fault)
    text = (phone.folder / LOG).read_text(encoding="utf-8")
    assert "Traceback" not in text


def test_programs_of_an_android_find_its_loader(
    start_phone: StartPhone, phone: ConnectedPhone, tmp_path: Path
) -> None:
    # Debian's loader plays Android's: what matters is where it lies.
    system, cross = tmp_path / "android" / "system", Path("/usr/aarch64-linux-gnu/lib")
    (system / "bin").mkdir(parents=True)
    (system / "lib64").mkdir()
    shutil.copy(cross / "ld-linux-aarch64.so.1", system / "bin" / "linker64")
    for name in ("libc.so.6", "ld-linux-aarch64.so.1"):
        shutil.copy(cross / name, system / "lib64" / name)
    source = tmp_path / "seven.c"
    source.write_text("int main(void) { return 7; }", encoding="utf-8")
    links = ("-Wl,--dynamic-linker=/system/bin/linker64", "-Wl,-rpath,/system/lib64")
    argv = ("aarch64-linux-gnu-gcc", str(source), *links, "-o", str(tmp_path / "seven"))
    ProcessRunner(os.environ).capture(*argv)

    def run_on(there: ConnectedPhone) -> int:
        assert there.adb("push", str(tmp_path / "seven"), TMP).rc == 0
        return there.shell(f"{TMP}/seven").rc

    assert run_on(start_phone(android=str(tmp_path / "android"))) == 7
    assert run_on(phone) != 7
