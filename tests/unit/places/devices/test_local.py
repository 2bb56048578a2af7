import os
import platform
import re
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.util.environment import PASSED
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices import local, qemu, virtual_phone
from megtrim.places.devices.cpu import (
    parse_children_s,
    parse_features,
    read_cpu_features,
    read_device_features,
    share_of_others,
)
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import Local, read_host_facts
from unit.places.devices.machines import spec_of
from virtual_phone.system import rootfs


@pytest.fixture
def device(processes: ProcessRunner, tmp_path: Path) -> Local:
    return Local("here", processes, tmp_path / "runs")


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    return path


def test_a_program_does_not_see_the_variables_of_a_shell(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    """What an emulator, a loader or a C library reads there would be in no key of a result."""
    shell = {"LD_BIND_NOW": "1", "GLIBC_TUNABLES": "glibc.malloc.check=3", "QEMU_STRACE": "1"}
    changed = ProcessRunner({**processes.env, **shell, "MALLOC_PERTURB_": "7"})
    spec = spec_of(changed, tmp_path / "runs", machine="any")
    program = script(tmp_path, "env")

    with (
        device_kinds.make("local", spec, native="any").reserve() as lease,
        lease.open() as directory,
    ):
        directory.put(program, "load_and_run")
        run = directory.run(("load_and_run",), timeout_s=5, env={"OWN": "1"})

    seen = dict(line.split("=", 1) for line in run.stdout.splitlines())
    assert seen.keys() - {"PWD", "OLDPWD", "SHLVL", "_"} <= PASSED.keys() | {"OWN"}
    assert seen["OWN"] == "1"


def test_a_program_runs_in_its_folder(device: Local, tmp_path: Path) -> None:
    program = script(tmp_path, 'cat model.mge; echo "$X $@" >&2; echo made > dump/out; exit 3')
    model = tmp_path / "m"
    model.write_text("weights\n", encoding="utf-8")

    with device.open() as directory:
        directory.put(program, "load_and_run")
        directory.put(model, "model.mge")
        directory.make("dump")
        run = directory.run(("load_and_run", "a", "b c"), timeout_s=5, env={"X": "1"})

        assert (run.argv, run.rc, run.timed_out) == (("load_and_run", "a", "b c"), 3, False)
        assert (run.stdout, run.stderr, run.crash) == ("weights\n", "1 a b c\n", "")
        assert directory.names("dump") == ("out",)
        assert directory.get("dump/out") == b"made\n"
        assert directory.get("dump/none") is None
        assert directory.get("dump") is None
        assert directory.names("nowhere") == directory.names("model.mge") == ()


@pytest.mark.skipif(sys.platform != "linux", reason="others do not count like this")
def test_other_programs_are_noticed(
    device: Local, processes: ProcessRunner, tmp_path: Path
) -> None:
    """As many that never pause as there are CPUs leave nothing idle."""
    spin = "while True: pass"
    busy = Command(argv=(sys.executable, "-c", spin), timeout_s=60)
    with device.open() as directory, ExitStack() as stack:
        directory.put(script(tmp_path, "sleep 0.5"), "program")
        for _ in range(os.cpu_count() or 1):
            stack.enter_context(processes.background(busy))
        run = directory.run(("program",), timeout_s=5)

    assert run.other_load is not None
    assert run.other_load > 0.9


def test_a_scratch_folder_that_cannot_be_made_is_infrastructure(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    device = Local("here", processes, tmp_path / "file" / "runs")

    with pytest.raises(InfrastructureFailure, match="cannot be used for runs"), device.open():
        pass


def test_it_gives_out_itself(device: Local) -> None:
    with device.reserve() as first, device.reserve() as second:
        assert (first.name, second.name, device.retries) == ("here", "here", 0)


X86 = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum\nprocessor\t: 1\n"
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"


@pytest.mark.parametrize(
    ("cpu_info", "machine_id", "hosted", "facts"),
    [
        (X86, "a", False, {"CPU model": "Intel(R) Xeon(R) Platinum", "host": ...}),
        (ARM, None, False, {"CPU model": "0x41, 0xd0c"}),
        ("", "a", True, {}),
        (X86, "a", True, {"CPU model": ...}),
        (None, None, False, {}),
        ("", "", False, {}),
        ("", "uninitialized\n", False, {}),
    ],
)
def test_a_host_says_which_machine_times_were_taken_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cpu_info: str | None,
    machine_id: str | None,
    hosted: bool,
    facts: dict[str, object],
) -> None:
    for name, text in (("_CPU_INFO", cpu_info), ("_MACHINE_ID", machine_id)):
        path = tmp_path / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        monkeypatch.setattr(local, name, path)
    found = local.read_host_facts(hosted=hosted)
    assert found.keys() == facts.keys()
    assert [found[label] for label, fact in facts.items() if fact is not ...] == [
        fact for fact in facts.values() if fact is not ...
    ]
    assert len(found.get("host", 12 * "x")) == 12


BEFORE = "cpu  100 10 50 1000 40 5 5 0 30 0\n"


@pytest.mark.parametrize(
    ("after", "own_s", "share"),
    [
        ("cpu  100 10 50 1200 40 5 5 0 30 0", 0.0, 0.0),
        ("cpu  200 10 50 1100 40 5 5 0 30 0", 1.0, 0.0),
        ("cpu  300 10 50 1000 40 5 5 0 30 0", 1.0, 0.5),
        ("cpu  200 60 100 1000 40 5 5 0 30 0", 0.0, 1.0),
        ("cpu  100 10 50 1000 240 5 5 0 30 0", 0.0, 0.0),
        ("cpu  100 10 50 1100 40 15 15 80 30 0", 0.0, 0.5),
        ("cpu  200 10 50 1100 40 5 5 0 130 0", 0.0, 0.5),
        ("cpu  200 10 50 1100 40 5 5 0 30 0", 1.3, 0.0),
    ],
    ids=["idle", "own", "half", "nice and system", "disk", "steal", "guest", "coarse counters"],
)
def test_what_is_neither_idle_nor_ours_is_of_others(after: str, own_s: float, share: float) -> None:
    assert share_of_others(BEFORE, after, own_s) == pytest.approx(share)


@pytest.mark.parametrize(
    "after", ["", "cpu  1 2 3", "cpu0 200 10 50 1100 40 5 5 0 30 0", "cpu  105 10 50 1010 40 5 5 0"]
)
def test_what_was_not_counted_is_not_known(after: str) -> None:
    assert share_of_others(BEFORE, after, 0.0) is None
    assert share_of_others(after, BEFORE, 0.0) is None


def test_a_shell_says_what_its_programs_used() -> None:
    line = "7 (a (b) 1 2) S 1 7 7 0 -1 4194304 1 2 3 4 11 12 150 25 20 0 1 0 5"

    assert parse_children_s(line) == pytest.approx(1.75)
    assert parse_children_s("7 (sh) S 1 7") is None
    assert parse_children_s("") is None
    assert parse_children_s(line.replace("150", "x")) is None


@given(st.text(), st.text(), st.floats(0, 1e6))
def test_nonsense_is_no_load(before: str, after: str, own_s: float) -> None:
    assert share_of_others(before, f"cpu {after}", own_s) is None or "cpu  " in before
    parse_children_s(after)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flags\t\t: fpu sse2 avx avx2\n", {"avx2"}),
        ("Features\t: fp asimd asimddp\n", {"dotprod"}),
        ("flags : avx2\n\nflags : sse2\n", set()),
        ("processor : 0\n", None),
        ("", None),
    ],
)
def test_features_that_all_cpus_have(text: str, expected: set[str] | None) -> None:
    assert parse_features(text) == expected


def test_features_are_known_of_this_machine_alone() -> None:
    here = platform.machine()

    assert read_device_features("local", here) == read_cpu_features()
    assert read_device_features("adb", here) is None
    assert read_device_features("local", "riscv64") is None


@pytest.mark.parametrize(
    ("kind", "machine", "listed", "expected"),
    [
        ("adb", "aarch64", "fp asimd evtstrm aes asimdhp asimddp", {"dotprod"}),
        ("ssh", "aarch64", "fp asimd crc32", set()),
        ("ssh", "x86_64", "fpu sse2 avx avx2", {"avx2"}),
        ("adb", "aarch64", "fpu sse2 avx2", None),
        ("ssh", "x86_64", "", None),
        ("ssh", "armv7l", "half thumb neon", None),
        ("virtual-phone", "x86_64", "fpu sse2", None),
    ],
)
def test_a_phone_or_board_says_what_its_cpu_has(
    kind: str, machine: str, listed: str, expected: set[str] | None
) -> None:
    facts = {"CPU features": listed} if listed else {}

    assert read_device_features(kind, machine, facts) == expected


FAKE = """\
case "$*" in
"-cpu help") printf 'Available CPUs:\\n  cortex-a76\\n  max\\n'; exit 1;;
"--version") printf 'qemu-aarch64 version 7.2\\nCopyright\\n';;
*) echo "$@";;
esac
"""


@pytest.fixture
def emulated(tmp_path: Path) -> ProcessRunner:
    """A machine whose qemu prints its arguments, and ends its list of CPUs with 1 as some do."""
    (tmp_path / "bin").mkdir()
    has_qemu(tmp_path / "bin")
    return ProcessRunner({"PATH": f"{tmp_path}/bin:/bin"})


def find(processes: ProcessRunner, tmp_path: Path, cpu: str, sysroot: Path | None) -> qemu.Qemu:
    changes = {"name": "arm", "qemu_cpu": cpu, "sysroot": sysroot}
    return qemu.find(spec_of(processes, tmp_path / "runs", **changes))


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

    assert device_kinds.make(kind, spec, native=native).kind == made


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


def make_spec(tmp_path: Path, *, cpu: str = "cortex-a76", machine: str = "aarch64") -> DeviceSpec:
    processes = ProcessRunner({"PATH": str(tmp_path)})
    changes = {"name": "rehearsal", "machine": machine, "qemu_cpu": cpu}
    return spec_of(processes, tmp_path / "runs", **changes)


def install(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def has_qemu(tmp_path: Path) -> None:
    install(tmp_path, "qemu-aarch64-static", FAKE)


def has_adb(tmp_path: Path) -> None:
    install(tmp_path, "adb", 'echo "Android Debug Bridge version 1.0.41"')


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


@pytest.mark.parametrize(
    ("machine", "name"),
    [("aarch64", "aarch64"), ("arm", "arm"), ("armv7l", "arm"), ("i686", "i386")],
)
def test_qemu_has_its_own_names_of_machines(machine: str, name: str) -> None:
    assert qemu.name_machine(machine) == name


def test_a_cpu_that_qemu_does_not_know_is_refused(tmp_path: Path) -> None:
    has_qemu(tmp_path)
    with pytest.raises(InputError, match="device rehearsal: this qemu does not know the CPU 'z80'"):
        virtual_phone.find(make_spec(tmp_path, cpu="z80"), native="x86_64")


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
    assert list(spec.scratch.glob("[!.]*")) == []


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
        install(tmp_path, name, text)
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
