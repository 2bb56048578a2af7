import os
import re
from pathlib import Path

import pytest

from megtrim import devices
from megtrim.devices import qemu
from megtrim.devices.local import read_host_facts
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.devices.machines import spec_of

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
