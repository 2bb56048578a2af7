"""Functions that are cut by blocks for x86-64, in a program that its own Makefile builds."""

import platform
import shutil
from pathlib import Path

import pytest

from attacks.test_blocks import SOURCES
from megtrim.core.build_spec import REST_SUFFIX
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import Project

MAKEFILE = """\
CXX = clang++-22
sums: main.o parts.o
\t$(CXX) -fuse-ld=lld-22 -o $@ main.o parts.o
%.o: %.cc
\t$(CXX) -O2 -c -o $@ $<
"""
CONFIG = {
    "version": 1,
    "engine": {
        "kind": "link",
        "source": "source",
        "target": "sums",
        "compiler": "clang++-22",
        "build": [["make"]],
    },
    "trim": {"level": "blocks"},
    "devices": [{"name": "emulated", "kind": "qemu", "class": "any"}],
    "scenarios": [{"name": "run", "args": ["{input:a}"], "inputs": {"a": "in.txt"}}],
}


def run(program: Path, *arguments: Path) -> CompletedCommand:
    argv = (str(program), *map(str, arguments))
    return ProcessRunner({}).run(Command(argv=argv, timeout_s=60))


@pytest.mark.blocks
@pytest.mark.skipif(platform.machine() != "x86_64", reason="builds for this machine")
def test_a_program_is_cut(tmp_path: Path) -> None:
    shutil.copytree(SOURCES, tmp_path / "source")
    (tmp_path / "source" / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    (tmp_path / "in.txt").write_text("1\n5\n20\n", encoding="utf-8")
    large = tmp_path / "large.txt"
    large.write_text("60\n100\nx\n", encoding="utf-8")
    project = Project(tmp_path)
    project.write(CONFIG)
    ended = project.expect("trim")
    assert "verdict: pass" in ended.stdout
    assert "no function was cut" not in ended.stdout

    made = project.out / "final" / "bin"
    alone = tmp_path / "sums"
    shutil.copy2(made / "sums", alone)
    whole = run(project.file("build/plain", "bin/sums"), large)
    assert whole.rc == 1
    assert "60 is large" in whole.stdout
    assert "not a number: x" in whole.stderr
    found = run(made / "sums", large)
    assert (found.rc, found.stdout, found.stderr) == (whole.rc, whole.stdout, whole.stderr)
    missed = run(alone, large)
    assert missed.rc != whole.rc
    assert f"sums{REST_SUFFIX}, which is not there" in missed.stderr
    assert run(alone, tmp_path / "in.txt").stdout == "0\n30\n2470\n"
