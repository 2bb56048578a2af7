"""The first hour: a model that no one configured is trimmed and proved by one command."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from support.megtrim_cli import run_megtrim
from unit.cli.support import SAMPLE_MODELS

pytestmark = [pytest.mark.chain]

_LONGEST_SILENCE_S = 15
"""Five on a machine that has nothing else to do; without a heartbeat, a compiler is silent for
a minute."""


def at_a_terminal(*words: str, cwd: Path) -> tuple[int, str, float]:
    """Run megtrim on a terminal: exit status, what it wrote, and its longest silence in seconds."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ.pop("CI", None)  # a person's terminal
        os.execv(sys.executable, [sys.executable, "-m", "megtrim", *words])
    written, times = b"", [time.monotonic()]
    while data := _read(terminal):
        written += data
        times.append(time.monotonic())
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    silence_s = max(later - sooner for sooner, later in pairwise(times))
    return os.waitstatus_to_exitcode(status), written.decode(errors="replace"), silence_s


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so when the last program at a terminal ends
        return b""


def test_one_command_from_a_model_to_a_proof(tmp_path: Path) -> None:
    """Without an edit. The screen never stands still, and the next run knows how long it takes."""
    shutil.copy(SAMPLE_MODELS / "tiny-quant.sample", tmp_path / "mine.sample")

    status, written, silence_s = at_a_terminal("trim", "mine.sample", cwd=tmp_path)

    assert status == 0, written
    verdict = json.loads((tmp_path / "megtrim-out/final/verdict.json").read_text("utf-8"))
    assert (verdict["verdict"], len(verdict["scenarios"])) == ("pass", 1)
    assert silence_s <= _LONGEST_SILENCE_S

    planned = run_megtrim("plan", "--out", "elsewhere", cwd=tmp_path)
    assert re.search("^time: .* when these tasks were last done", planned.stdout, re.MULTILINE)
