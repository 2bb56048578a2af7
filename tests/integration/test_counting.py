"""Programs of a few known instructions, counted by the real plugin in the real emulator."""

import os
import re
from pathlib import Path

import pytest

from megtrim.core.size.counted import Count
from megtrim.libs.elf.layout import segments
from megtrim.libs.elf.symbol_table import read_table
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.counting import CountingEmulator
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import Local, open_measuring_file
from megtrim.times.counts.stage import start_timed
from megtrim.times.counts.system_calls import list_numbers
from megtrim.times.counts.use import (
    LARGEST_BYTES,
    LONGEST_PEAK,
    Blocks,
    find_code,
    name_functions,
    parse_blocks,
    parse_peak,
)

ARM = """\
.globl _start, kernel
.type _start, %function
.type kernel, %function
_start: mov x20, #{calls}
1: bl kernel
   subs x20, x20, #1
   b.ne 1b
   mov x0, #0
   mov x8, #94
   svc #0
.size _start, . - _start
kernel: mov x1, #{rounds}
2: ldr x2, [sp]
   str x2, [sp]
   subs x1, x1, #1
   b.ne 2b
   ret
.size kernel, . - kernel
"""
X86 = """\
.globl _start, kernel
.type _start, %function
.type kernel, %function
_start: mov ${calls}, %ebx
1: call kernel
   dec %ebx
   jnz 1b
   xor %edi, %edi
   mov $231, %eax
   syscall
.size _start, . - _start
.p2align 12
.skip 4096 - {before}
kernel: mov ${rounds}, %ecx
2: mov (%rsp), %rdx
   mov %rdx, (%rsp)
   add $0x12345678, %esi
   dec %ecx
   jnz 2b
   ret
.size kernel, . - kernel
"""
_GUESTS = {"aarch64": ("aarch64-linux-gnu-gcc", ARM, 0), "x86_64": ("gcc", X86, 2)}
"""Compiler, program, and accesses of memory that each call costs: x86 keeps addresses there."""


def count(
    folder: Path, machine: str, *, calls: int, rounds: int, pie: bool, before: int = 64
) -> dict[str, Count]:
    """``before``: bytes of the kernel before the end of a page."""
    compiler, text, _ = _GUESTS[machine]
    processes = ProcessRunner(os.environ)
    source = folder / "program.s"
    program = folder / "program"
    source.write_text(text.format(calls=calls, rounds=rounds, before=before), encoding="utf-8")
    kind = "-static-pie" if pie else "-static"
    processes.capture(compiler, "-nostdlib", kind, "-o", str(program), str(source))
    table = read_table(program)
    code = find_code(segments(program.read_bytes(), source="program"))
    return name_functions(run_counted(folder, program, machine), table, code)


def run_counted(folder: Path, program: Path, machine: str, *arguments: str) -> Blocks:
    with (
        emulator(folder, machine).open() as counting,
        counting.device.reserve() as lease,
        lease.open() as directory,
    ):
        directory.put(program, "program")
        assert directory.run(["program", *arguments], timeout_s=60).rc == 0
        return parse_blocks(counting.counts.take(LARGEST_BYTES), source="counts")


def emulator(folder: Path, machine: str, env: dict[str, str] | None = None) -> CountingEmulator:
    spec = DeviceSpec(
        name="emulator",
        processes=ProcessRunner(os.environ if env is None else env),
        scratch=folder / "runs",
        machine=machine,
        qemu_cpu="max",
        sysroot=Path("/usr/aarch64-linux-gnu") if machine == "aarch64" else None,
    )
    return CountingEmulator(spec=spec, compilers=(("gcc",), ("clang-14",)))


@pytest.mark.parametrize("machine", _GUESTS)
@pytest.mark.parametrize("pie", [False, True])
def test_every_instruction_and_access_is_counted(tmp_path: Path, machine: str, pie: bool) -> None:
    """One round more of a hundred is seen, and where."""
    accesses = _GUESTS[machine][2]
    each = 4 if machine == "aarch64" else 5
    for rounds in (100, 101):
        found = count(tmp_path, machine, calls=7, rounds=rounds, pie=pie)

        assert found == {
            "_start": Count(1 + 3 * 7 + 3, 7 * accesses // 2),
            "kernel": Count(7 * (2 + each * rounds), 7 * (2 * rounds + accesses // 2)),
        }


@pytest.mark.parametrize("before", [7, 12, 17, 21])
def test_an_instruction_on_two_pages_is_counted_once(tmp_path: Path, before: int) -> None:
    found = count(tmp_path, "x86_64", calls=3, rounds=10, pie=False, before=before)

    assert found["kernel"] == Count(3 * (2 + 5 * 10), 3 * (2 * 10 + 1))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    bare = {"PATH": str(tmp_path)}
    found = tmp_path / "qemu-aarch64"
    for elsewhere in ("nowhere", "/usr/bin/qemu-aarch64-static"):
        found.unlink(missing_ok=True)
        found.symlink_to(elsewhere)
        with pytest.raises(InputError, match="qemu-aarch64, which takes plugins, is not on"):
            emulator(tmp_path, "aarch64", bare).identity()
    found.unlink()
    found.symlink_to("/usr/bin/qemu-aarch64")
    (tmp_path / "sha256sum").symlink_to("/usr/bin/sha256sum")
    with (
        pytest.raises(InputError, match="no C compiler for its own programs"),
        emulator(tmp_path, "aarch64", bare).open(),
    ):
        pass


_COMPILERS = {
    "aarch64": "aarch64-linux-gnu-gcc",
    "x86_64": "gcc",
    "arm": "arm-linux-gnueabihf-gcc",
}


@pytest.mark.parametrize("machine", _COMPILERS)
def test_calls_have_the_numbers_of_the_system(tmp_path: Path, machine: str) -> None:
    """Of each machine, as its C library's headers have them; older headers lack the newest."""
    known = list_numbers(machine)
    source = tmp_path / "calls.c"
    lines = (f"#ifdef SYS_{name}\n{name} = SYS_{name}\n#endif\n" for name in known.values())
    source.write_text(f"#include <sys/syscall.h>\n{''.join(lines)}", encoding="utf-8")
    text = ProcessRunner(os.environ).capture(_COMPILERS[machine], "-E", "-P", str(source))
    found = re.findall(r"^(\w+) = .*?(\d+)\)?$", text, re.MULTILINE)

    assert len(found) > len(known) - 4
    assert {name: int(number) for name, number in found}.items() <= {
        (name, number) for number, name in known.items()
    }


@pytest.mark.parametrize("status", [0, 3, 255])
def test_the_peak_of_a_program_that_ends_with_any_status(tmp_path: Path, status: int) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
    device = Local("here", ProcessRunner(os.environ), tmp_path / "runs")
    with open_measuring_file(tmp_path) as written:
        with start_timed(device, written).reserve() as lease, lease.open() as directory:
            directory.put(program, "program")
            assert directory.run(["program"], timeout_s=60).rc == status
        assert parse_peak(written.take(LONGEST_PEAK)) > 0
