"""A folder of results that is taken away, or that no build can have: the right category."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from megtrim.process import Command, CompletedCommand, ProcessRunner

pytestmark = pytest.mark.chain

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "examples" / "sample-engine" / "megtrim.yaml"
COMPILER = """\
#!/bin/sh
case "$*" in *file.cpp*) {then} ;; esac
exec {real} "$@"
"""


def build(tmp_path: Path, processes: ProcessRunner, then: str) -> CompletedCommand:
    """Build the plain variant with a compiler that does something else at one source."""
    project = shutil.copytree(CONFIG.parent, tmp_path / "project")
    text = CONFIG.read_text(encoding="utf-8").replace("kind: auto", "kind: host")
    (project / CONFIG.name).write_text(text, encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    compiler = programs / "g++"
    compiler.write_text(COMPILER.format(then=then, real=processes.which("g++")), encoding="utf-8")
    compiler.chmod(0o755)
    words = ("stage", "build", "-j", "2", "--out", str(tmp_path / "out"))
    argv = (sys.executable, "-m", "megtrim", *words)
    env = {
        "PATH": f"{programs}:{processes.env['PATH']}",
        "PYTHONPATH": str(ROOT / "ci"),
        "CCACHE_DISABLE": "1",
    }
    return processes.run(Command(argv=argv, timeout_s=600, cwd=project, env=env))


@pytest.mark.parametrize("gone", ["out", "out/work"])
def test_results_that_are_removed_meanwhile_are_infrastructure(
    tmp_path: Path, processes: ProcessRunner, gone: str
) -> None:
    """The compiler complains, and it is not the engine's fault."""
    ended = build(tmp_path, processes, then=f"rm -rf {tmp_path / gone}")

    assert ended.rc == 3, ended.stderr
    assert "does not compile" not in ended.stderr
    assert "was removed or unmounted" in ended.stderr


def test_a_full_disk_is_infrastructure(tmp_path: Path, processes: ProcessRunner) -> None:
    """As a compiler says it."""
    said = "echo 'fatal error: error writing to /tmp/x.s: No space left on device' >&2; exit 1"
    ended = build(tmp_path, processes, then=said)

    assert ended.rc == 3, ended.stderr
    assert "the disk is full" in ended.stderr


def test_an_engine_that_does_not_compile_is_still_reported(
    tmp_path: Path, processes: ProcessRunner
) -> None:
    """Where nothing was taken away."""
    ended = build(tmp_path, processes, then="echo 'file.cpp:1: error: bad' >&2; exit 1")

    assert ended.rc == 1, ended.stderr
    assert "the engine does not compile" in ended.stderr
