"""What the check of memory pages refuses, a loader refuses too where pages are that large."""

import os
from pathlib import Path

import pytest

from megtrim.libs.elf.pages import find_misfit
from megtrim.libs.util.process import Command, ProcessRunner

pytestmark = pytest.mark.clang

LIBRARY = """
int puts(const char *);
int (*const calls[400])(const char *) = {puts};
int count = 1;
int ran(void) { return calls[0]("ran") + count++; }
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) return puts(dlerror()), 1;
  return ((int (*)(void))dlsym(library, "ran"))() < 0;
}
"""
SYSROOT = "/usr/aarch64-linux-gnu"
CLANG = ("clang-14", "--target=aarch64-linux-gnu", "-fuse-ld=lld-14", "-fPIC")
PROCESSES = ProcessRunner(dict(os.environ))


def build(text: str, to: Path, *flags: str) -> Path:
    source = to.with_suffix(".c")
    source.write_text(text, encoding="utf-8")
    PROCESSES.capture(*CLANG, str(source), *flags, "-o", str(to))
    return to


@pytest.mark.parametrize(
    ("page_bytes", "misfit", "said"),
    [
        (4096, "aligned to 4,096 bytes, expected 16,384", "not page-aligned\n"),
        (16_384, "", "ran\n"),
    ],
)
def test_a_loader_agrees(tmp_path: Path, page_bytes: int, misfit: str, said: str) -> None:
    sizes = f"-Wl,-z,max-page-size={page_bytes},-z,common-page-size={page_bytes}"
    library = build(LIBRARY, tmp_path / "lib.so", "-shared", sizes)
    program = build(PROGRAM, tmp_path / "program")

    found = find_misfit(library.read_bytes(), 16_384, source="lib.so")
    assert found.endswith(misfit)
    assert bool(found) == bool(misfit)
    qemu = ("qemu-aarch64-static", "-p", "16384", "-L", SYSROOT, str(program), str(library))
    assert PROCESSES.run(Command(argv=qemu, timeout_s=60)).stdout.endswith(said)
