"""A virtual phone is a phone to adb, to programs for arm64, and to those who rehearse."""

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.devices.rigs import ConnectedPhone, StartPhone, find_processes
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, ProcessRunner
from support.clock import alive, until
from virtual_phone import manager
from virtual_phone.spec import LOG, PhoneSpec

TMP = "/data/local/tmp"
MIB = 1024 * 1024


@pytest.fixture(scope="session")
def payload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("payload") / "payload"
    path.write_bytes(os.urandom(8 * MIB))
    return path


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
    system = tmp_path / "android" / "system"
    cross = Path("/usr/aarch64-linux-gnu/lib")
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


_SOURCES = str(Path(manager.__file__).parents[1])
_PROGRAM = (sys.executable, "-m", "virtual_phone")


@pytest.fixture
def places(tmp_path: Path, phone_environment: dict[str, str]) -> dict[str, str]:
    folder = Path(phone_environment["XDG_RUNTIME_DIR"]) / tmp_path.name[-12:]
    folder.mkdir()
    return {**phone_environment, "XDG_RUNTIME_DIR": str(folder), "PYTHONPATH": _SOURCES}


@pytest.fixture
def own_root(tmp_path: Path, phone_root: Path) -> Path:
    alias = tmp_path / "root"
    alias.symlink_to(phone_root)
    return alias


@contextmanager
def by_hand(
    env: dict[str, str], root: Path
) -> Iterator[tuple[int, manager.RunningPhone, set[int]]]:
    processes = ProcessRunner(env)
    argv = (*_PROGRAM, "start", "mine", "--root", str(root))
    with processes.background(Command(argv=argv, timeout_s=30)) as command:
        until(lambda: manager.running(processes), "the phone", 20.0)
        yield (
            command.pid,
            manager.running(processes)[0],
            find_processes("virtual_phone.", str(root)),
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_command_ends(places: dict[str, str], own_root: Path, number: signal.Signals) -> None:
    with by_hand(places, own_root) as (pid, phone, inside):
        assert len(inside) >= 3  # the supervisor, the boot, and the first process of the phone
        os.kill(pid, number)
        until(lambda: not any(map(alive, {pid, phone.pid, *inside})), "their end", 5.0)
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


@pytest.mark.parametrize("frozen", [False, True])
def test_the_supervisor_is_killed(places: dict[str, str], own_root: Path, frozen: bool) -> None:
    with by_hand(places, own_root) as (pid, phone, inside):
        if frozen:
            phone.fault("freeze")
        os.kill(phone.pid, signal.SIGKILL)
        until(lambda: not any(map(alive, {pid, *inside})), "their end", 5.0)
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


def test_what_dead_ones_left_is_removed(places: dict[str, str], own_root: Path) -> None:
    with by_hand(places, own_root) as (pid, phone, inside):
        os.kill(pid, signal.SIGSTOP)
        os.kill(phone.pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(alive, {pid, *inside})), "their end", 5.0)
    assert phone.folder.is_dir()
    assert manager.running(ProcessRunner(places)) == ()
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


def test_commands_of_a_person(places: dict[str, str], own_root: Path) -> None:
    processes = ProcessRunner(places)
    with by_hand(places, own_root) as (_pid, phone, _inside):
        listed = processes.capture(*_PROGRAM, "list")
        assert listed == f"mine\t{phone.serial}\trunning\n"
        processes.capture(*_PROGRAM, "fault", "mine", "kill", "--when", "push", "--after", "9")
        assert processes.capture(*_PROGRAM, "list").endswith("\trunning\tkill at push\n")
        processes.capture(*_PROGRAM, "fault", "mine", "battery", "12")
        assert phone.status()["battery"] == 12


def test_two_of_one_name(start_phone: StartPhone) -> None:
    first = start_phone(name="twin")
    with pytest.raises(InputError, match="a virtual phone named 'twin' runs already"):
        start_phone(name="twin")
    assert first.shell("echo on").stdout == "on\n"


def test_two_phones_share_nothing(start_phone: StartPhone) -> None:
    first = start_phone()
    second = start_phone()
    first.shell("echo mine > /data/local/tmp/file")
    assert second.shell("ls /data/local/tmp").stdout == ""
    first.fault("freeze")
    assert second.shell("echo on").stdout == "on\n"
    first.fault("thaw")


def test_a_root_that_is_none(places: dict[str, str], tmp_path: Path) -> None:
    with (
        pytest.raises(InfrastructureFailure, match="virtual phone odd did not start: "),
        manager.run_phone(ProcessRunner(places), tmp_path, PhoneSpec(name="odd")),
    ):
        pass
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


@pytest.mark.parametrize("name", ["", "../up", "a b", "-x", "x" * 61])
def test_names(places: dict[str, str], tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(InputError),
        manager.run_phone(ProcessRunner(places), tmp_path, PhoneSpec(name=name)),
    ):
        pass


def test_odd_requests_are_refused(phone: ConnectedPhone) -> None:
    import socket

    for line in (b"\n", b"{}\n", b"[]\n", b'{"do": "dance"}\n', b'{"do": "fault", "request": 3}\n'):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(10)
            door.connect(str(phone.folder / "control"))
            door.sendall(line)
            assert "error" in json.loads(door.makefile("rb").readline())
    assert phone.shell("echo on").stdout == "on\n"
