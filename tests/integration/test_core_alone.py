"""A tree without the parts and MegEngine's package installs, and trims the sample engine."""

import os
import sys

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from support.megtrim_cli import ROOT

pytestmark = [pytest.mark.chain]


def test_the_core_alone_trims_the_sample_engine() -> None:
    script = (sys.executable, str(ROOT / "scripts/core_alone.py"), "--no-tests")
    done = ProcessRunner(os.environ).run(Command(argv=script, timeout_s=600, merge_stderr=True))

    assert done.ok, done.stdout
    assert "verdict: pass. load_and_run: " in done.stdout
    assert "1 of 1 scenario verified" in done.stdout
