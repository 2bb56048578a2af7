"""The wheel of this tree, in an environment of its own: it has all that a trim needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from megtrim.process import Command, ProcessRunner
from support.megtrim_cli import ROOT

SCRIPT = ROOT / "scripts" / "kit_release.py"


@pytest.mark.chain
def test_the_wheel_trims_without_a_checkout(tmp_path: Path) -> None:
    """Built, installed, checked for its libraries; then ``init`` and ``trim``, as a user types."""
    python = sys.executable
    for argv in (
        ("build", "dist", "--python", python),
        ("try", "dist", "--libraries", python),
    ):
        command = Command(
            argv=(python, str(SCRIPT), *argv), timeout_s=900, cwd=tmp_path, merge_stderr=True
        )
        done = ProcessRunner(os.environ).run(command)
        assert done.ok, done.stdout

    assert done.stdout.endswith("installed, checked, and trimmed the sample engine\n")
    assert "verdict: pass" in done.stdout
