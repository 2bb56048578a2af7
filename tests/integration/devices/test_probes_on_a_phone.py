"""A probed twin on a phone: what ran comes back through adb."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from integration.devices.rigs import SYSROOT
from megtrim import devices
from megtrim.devices import DeviceSpec
from megtrim.elf.symbol_table import FunctionTable, read_table
from megtrim.functions import link_map, probes
from megtrim.functions.observables import observables
from megtrim.util.process import ProcessRunner

PROGRAM = """\
#include <cstdio>
#include <thread>
#define APART extern "C" __attribute__((noinline, used))
APART void probed_in_main(const char* what) { std::puts(what); }
APART void probed_in_thread() { std::puts("thread"); }
APART void probed_never() { std::puts("never"); }
int main(int count, char**) {
  probed_in_main("main");
  std::thread(probed_in_thread).join();
  if (count > 9) probed_never();
}
"""


@pytest.fixture
def twin(tmp_path: Path) -> tuple[Path, FunctionTable]:
    processes = ProcessRunner(os.environ)
    ((name, text),) = probes.SOURCES
    for file, content in ((name, text), ("program.cpp", PROGRAM)):
        (tmp_path / file).write_text(content, encoding="utf-8")
    runtime, made = tmp_path / "runtime.o", tmp_path / "twin"
    flags = ("-c", "-O2", "-fno-stack-protector")
    processes.capture("aarch64-linux-gnu-gcc", *flags, str(tmp_path / name), "-o", str(runtime))
    processes.capture(
        *("aarch64-linux-gnu-g++", "-O2", "-static", str(runtime), str(tmp_path / "program.cpp")),
        *(*probes.FLAGS, f"-Wl,-Map={made}.map", "-o", str(made)),
    )
    table = read_table(made)
    platform = link_map.platform_names(link_map.read_map(Path(f"{made}.map")), table)
    observed = observables("0" * 64, table, platform).names()
    made.write_bytes(probes.patch(made.read_bytes(), table, observed))
    return made, table


def test_a_twin_records_on_a_phone(
    twin: tuple[Path, FunctionTable],
    phone_root: Path,
    phone_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    """Its code can be written there, and the record is a file next to the program."""
    program, table = twin
    spec = DeviceSpec(
        name="phone",
        processes=ProcessRunner({**phone_environment, "MEGTRIM_STATE": str(tmp_path / "state")}),
        scratch=tmp_path / "scratch",
        machine="aarch64",
        qemu_cpu="max",
        sysroot=SYSROOT,
        say=lambda _: None,
    )
    device = devices.KINDS["virtual-phone"](spec)
    with device.reserve() as lease, lease.open() as directory:
        directory.put(program, "twin")
        run = directory.run(("twin",), timeout_s=60, env=probes.ENVIRONMENT)
        record = directory.get(probes.RECORD_FILE)

    assert (run.rc, run.stdout.splitlines()) == (0, ["main", "thread"])
    assert record is not None
    names = probes.parse_record(record, table, source="record")
    assert [name for name in names if name.startswith("probed_")] == [
        *("probed_in_main", "probed_in_thread"),
    ]
