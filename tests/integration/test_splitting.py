"""Compilers that split functions by a list of blocks: which do it right, which not at all."""

import os
import sys
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner

SCRIPT = Path(__file__).parents[2] / "benchmarks/splitting.py"
CASES = 55
CUTS = 5
ARM64_STATIC = f"{sys.executable} -m ziglang c++ -target aarch64-linux-musl"


def try_compiler(compiler: str, *options: str) -> CompletedCommand:
    argv = (sys.executable, str(SCRIPT), compiler, *options)
    return ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=1800))


@pytest.mark.chain
def test_zigs_clang_splits_for_arm64_as_it_should() -> None:
    outcome = try_compiler(ARM64_STATIC, "--run", "qemu-aarch64-static")
    assert outcome.rc == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.count(f"{CASES} of {CASES} cases as whole") == CUTS


@pytest.mark.blocks
@pytest.mark.parametrize(
    ("target", "run"),
    [
        ("x86_64-linux-gnu", ""),
        ("aarch64-linux-gnu", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    ],
)
def test_clang_22_splits_as_it_should(target: str, run: str) -> None:
    options = ("--run", run) if run else ()
    outcome = try_compiler(f"clang++-22 --target={target}", *options)
    assert outcome.rc == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.count(f"{CASES} of {CASES} cases as whole") == CUTS


@pytest.mark.clang
@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "aarch64-linux-gnu"])
def test_clang_14_is_refused(target: str) -> None:
    outcome = try_compiler(f"clang++-14 --target={target}")
    assert outcome.rc == 2
    assert outcome.stderr.startswith(f"clang++-14 --target={target} does not split functions: ")
