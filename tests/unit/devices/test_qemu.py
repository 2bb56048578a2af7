import os
import re
from pathlib import Path

import pytest

from megtrim import devices
from megtrim.devices import DeviceSpec, qemu, virtual_phone
from megtrim.devices.local import read_host_facts
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command, ProcessRunner
from unit.devices.machines import spec_of
from virtual_phone.system import rootfs

FAKE = """\
#!/bin/sh
case "$*" in
"-cpu help") printf 'Available CPUs:\\n  cortex-a76\\n  max\\n'; exit 1;;
"--version") printf 'qemu-aarch64 version 7.2\\nCopyright\\n';;
*) echo "$@";;
esac
"""


@pytest.fixture
def emulated(tmp_path: Path) -> ProcessRunner:
    """A machine whose qemu prints its arguments, and ends its list of CPUs with 1 as some do."""
    emulator = tmp_path / "bin" / "qemu-aarch64-static"
    emulator.parent.mkdir()
    emulator.write_text(FAKE, encoding="utf-8")
    emulator.chmod(0o755)
    return ProcessRunner({"PATH": f"{emulator.parent}:/bin"})


def find(processes: ProcessRunner, tmp_path: Path, cpu: str, sysroot: Path | None) -> qemu.Qemu:
    return qemu.find(
        "arm", processes, tmp_path / "runs", machine="aarch64", cpu=cpu, sysroot=sysroot
    )


@pytest.mark.parametrize("sysroot", [None, Path("/usr/aarch64-linux-gnu")])
def test_the_cpu_and_the_sysroot_are_passed(
    emulated: ProcessRunner, tmp_path: Path, sysroot: Path | None
) -> None:
    (tmp_path / "load_and_run").touch()

    with find(emulated, tmp_path, "cortex-a76", sysroot).open() as directory:
        directory.put(tmp_path / "load_and_run", "load_and_run")
        run = directory.run(("load_and_run", "model.mge", "--cpu"), timeout_s=5)

    reported = run.stdout.split()
    library = ["-L", "/usr/aarch64-linux-gnu"] if sysroot else []
    assert reported[: 2 + len(library)] == ["-cpu", "cortex-a76", *library]
    assert reported[2 + len(library)].endswith("/load_and_run")
    assert reported[-2:] == ["model.mge", "--cpu"]


def test_it_says_what_it_is(emulated: ProcessRunner, tmp_path: Path) -> None:
    """CPU and version enter keys: another qemu may choose other kernels."""
    device = find(emulated, tmp_path, "max", None)

    assert device.name == "arm"
    assert device.identity() == {"kind": "qemu", "cpu": "max", "qemu": "qemu-aarch64 version 7.2"}
    host = read_host_facts(hosted=False)
    assert device.facts() == {"cpu": "max", "emulator": "qemu-aarch64 version 7.2", **host}


@pytest.mark.parametrize("cpu", ["cortex-a77", "cortex", "Available CPUs"])
def test_a_cpu_that_qemu_does_not_know_is_an_input_error(
    emulated: ProcessRunner, tmp_path: Path, cpu: str
) -> None:
    with pytest.raises(InputError) as caught:
        find(emulated, tmp_path, cpu, None)

    assert caught.value.message == f"device arm: this qemu does not know the CPU {cpu!r}"
    assert "-cpu help" in caught.value.hint


def test_without_qemu_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    no_one = ProcessRunner({"PATH": str(tmp_path)})

    assert qemu.program(no_one) is None
    with pytest.raises(InputError) as caught:
        find(no_one, tmp_path, "max", None)
    assert caught.value.message.startswith("qemu-aarch64 is not on the path")
    assert "apt-get install qemu-user-static" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "native", "made"),
    [
        ("auto", "aarch64", "local"),
        ("auto", "x86_64", "qemu"),
        ("qemu", "aarch64", "qemu"),
        ("local", "x86_64", "local"),
    ],
)
def test_auto_runs_natively_where_it_can(
    emulated: ProcessRunner, tmp_path: Path, kind: str, native: str, made: str
) -> None:
    spec = spec_of(emulated, tmp_path)

    assert devices.make(kind, spec, native=native).kind == made


@pytest.mark.chain
def test_the_real_qemu_knows_its_cpus(processes: ProcessRunner, tmp_path: Path) -> None:
    device = find(processes, tmp_path, "cortex-a76", None)

    assert "version" in device.facts()["emulator"]
    with pytest.raises(InputError, match="does not know the CPU 'cortex-a999'"):
        find(processes, tmp_path, "cortex-a999", None)


def test_another_system_is_another_device(tmp_path: Path) -> None:
    """What passed under one Android's C library says nothing of another's."""
    (tmp_path / "system/lib64").mkdir(parents=True)
    here = ProcessRunner(os.environ)
    libc = tmp_path / "system/lib64/libc.so"

    assert qemu.system_of(here, tmp_path) == ""
    libc.write_bytes(b"eleven")
    eleven = qemu.system_of(here, tmp_path)
    libc.write_bytes(b"six")

    assert re.fullmatch("[0-9a-f]{16}", eleven)
    assert qemu.system_of(here, tmp_path) != eleven


QEMU = """\
#!/bin/sh
case "$*" in
"-cpu help") printf 'Available CPUs:\\n  cortex-a76\\n  max\\n';;
"--version") printf 'qemu-aarch64 version 7.2\\nCopyright\\n';;
esac
"""


def make_spec(tmp_path: Path, *, cpu: str = "cortex-a76", machine: str = "aarch64") -> DeviceSpec:
    processes = ProcessRunner({"PATH": str(tmp_path)})
    changes = {"name": "rehearsal", "machine": machine, "qemu_cpu": cpu}
    return spec_of(processes, tmp_path / "runs", **changes)


def has_qemu(tmp_path: Path) -> None:
    (tmp_path / "qemu-aarch64-static").write_text(QEMU, encoding="utf-8")
    (tmp_path / "qemu-aarch64-static").chmod(0o755)


def test_by_qemu(tmp_path: Path) -> None:
    has_qemu(tmp_path)

    device = virtual_phone.find(make_spec(tmp_path), native="x86_64")

    version = "qemu-aarch64 version 7.2"
    assert (device.name, device.kind, device.retries) == ("rehearsal", "virtual-phone", 2)
    assert device.identity() == {"kind": "virtual-phone", "cpu": "cortex-a76", "qemu": version}
    assert device.facts() == {"cpu": "cortex-a76", "emulator": version}


def test_on_arm64_itself(tmp_path: Path) -> None:
    device = virtual_phone.find(make_spec(tmp_path), native="aarch64")

    assert device.identity() == {"kind": "virtual-phone", "machine": "aarch64"}
    assert device.facts() == {"machine": "aarch64"}


NO_QEMU = "qemu-aarch64 is not on the path, and this machine runs no aarch64 programs"
INSTALL = "on Debian: apt-get install qemu-user-static"
OTHER = {"machine": "x86_64"}
WRONG = "device rehearsal: a virtual phone runs aarch64, not x86_64"


@pytest.mark.parametrize(
    ("changes", "native", "message", "hint"),
    [
        ({}, "x86_64", NO_QEMU, INSTALL),
        # A phone runs arm64 and nothing else, wherever it is played.
        (OTHER, "x86_64", WRONG, ""),
        (OTHER, "aarch64", WRONG, ""),
    ],
)
def test_what_no_phone_can_be_played_with_is_refused(
    tmp_path: Path, changes: dict[str, str], native: str, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as failure:
        virtual_phone.find(make_spec(tmp_path, **changes), native=native)

    assert failure.value.message == message
    assert failure.value.hint.startswith(hint)


def test_a_cpu_that_qemu_does_not_know_is_refused(tmp_path: Path) -> None:
    has_qemu(tmp_path)
    with pytest.raises(InputError, match="device rehearsal: this qemu does not know the CPU 'z80'"):
        virtual_phone.find(make_spec(tmp_path, cpu="z80"), native="x86_64")


ADB = """\
#!/bin/sh
echo "Android Debug Bridge version 1.0.41"
"""


def has_adb(tmp_path: Path) -> None:
    (tmp_path / "adb").write_text(ADB, encoding="utf-8")
    (tmp_path / "adb").chmod(0o755)


def test_a_phone_that_cannot_be_started(tmp_path: Path) -> None:
    has_qemu(tmp_path)
    has_adb(tmp_path)
    spec = make_spec(tmp_path)
    spec.processes.env["HOME"] = str(tmp_path)
    device = virtual_phone.find(spec, native="x86_64")

    with pytest.raises(InputError) as failure, device.reserve():
        pass

    assert failure.value.message == "virtual phone: there is no apt-get here"
    assert failure.value.hint.startswith("this needs apt-get and dpkg-deb; ")
    assert list(spec.scratch.iterdir()) == []


def test_what_is_missing(tmp_path: Path) -> None:
    processes = ProcessRunner({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert virtual_phone.missing(processes).startswith("there is no program 'adb'; on Debian: ")

    has_adb(tmp_path)
    has_qemu(tmp_path)
    assert virtual_phone.missing(processes) == (
        "virtual phone: there is no apt-get here; "
        "this needs apt-get and dpkg-deb; elsewhere use the image docker/virtual-phone"
    )


def test_where_nothing_is_missing(tmp_path: Path) -> None:
    has_adb(tmp_path)
    has_qemu(tmp_path)
    made = tmp_path / "megtrim/virtual-phone" / f"{rootfs.SUITE}-amd64-2"
    made.mkdir(parents=True)
    for name, text in (("apt-get", ""), ("dpkg-deb", ""), ("dpkg", "echo amd64")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    processes = ProcessRunner({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})

    assert virtual_phone.missing(processes) == ""
    assert virtual_phone.describe_tools(processes).startswith(f"{made}; arm64 programs by ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"serial": "A", "adb_port": "5037"}', "adb_port: found '5037', expected a whole number"),
        ('{"serial": "A"}', "adb_port: found nothing, expected this key"),
        ('{"serial": "A", "adb_port": 1, "pid": 2}', "pid: found 2, expected no such key"),
        ("", "Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_an_address_of_another_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """The program and megtrim are of one wheel, but not always of one version."""
    ready = tmp_path / "ready.json"
    ready.write_text(text, encoding="utf-8")
    command = Command(argv=("sleep", "60"), timeout_s=60)
    with (
        ProcessRunner({"PATH": "/usr/bin:/bin"}).background(command) as program,
        pytest.raises(InfrastructureFailure) as caught,
    ):
        virtual_phone._await_phone(program, ready, tmp_path / "log")

    assert caught.value.message == f"{ready}: not what virtual-phone writes: {said}"
