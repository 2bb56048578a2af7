"""`perf compare`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.cli.perf.nights import RUNS
from unit.cli.support import Shell


def test_two_commits_are_compared(shell: Shell, history: Path) -> None:
    """The second over the first, with its interval."""
    before, after = RUNS[10].commit.sha, RUNS[30].commit.sha

    answer = shell("perf", "compare", before, after)

    assert answer.status == 0
    assert " to " in answer.out
    found = json.loads(shell("perf", "compare", before, after, "--json").out)
    assert found["ratios"][0]["ratio"] == pytest.approx(1.1, abs=0.02)
    assert found["ratios"][0]["lower"] > 1
