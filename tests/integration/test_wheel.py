"""The wheel of this tree, in an environment of its own: it has all that a trim needs."""

import os
import sys
from pathlib import Path

import pytest

from megtrim.util.process import Command, ProcessRunner
from support.megtrim_cli import ROOT

SCRIPT = ROOT / "scripts" / "kit_release.py"


def run(*argv: str, cwd: Path) -> str:
    whole = (sys.executable, str(SCRIPT), *argv)
    command = Command(argv=whole, timeout_s=900, cwd=cwd, merge_stderr=True)
    done = ProcessRunner(os.environ).run(command)
    assert done.ok, done.stdout
    return done.stdout


@pytest.mark.chain
def test_the_wheel_trims_without_a_checkout(tmp_path: Path) -> None:
    """Built, installed, checked for its libraries; then the demo, ``init`` and ``trim``."""
    run("build", "dist", "--python", sys.executable, cwd=tmp_path)
    said = run("try", "dist", "--libraries", sys.executable, cwd=tmp_path)

    assert said.endswith("installed, checked, ran the demo, and trimmed a model\n")
    assert said.count("verdict: pass") == 2
    assert "4 of 4 scenarios verified" in said
