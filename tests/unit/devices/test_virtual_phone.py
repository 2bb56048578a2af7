from pathlib import Path

import pytest

from megtrim.devices import DeviceSpec, virtual_phone
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command, ProcessRunner
from unit.devices.machines import spec_of
from virtual_phone.system import rootfs

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
