"""Which runs a person means."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.perf.nights.history import dump_run
from unit.cli.perf.nights import RUNS
from unit.cli.support import Shell


def test_files_folders_and_runs_are_sides_too(shell: Shell, history: Path) -> None:
    """A folder stands for the runs of its newest commit."""
    (shell.folder / "run.json").write_text(dump_run(RUNS[39]), encoding="utf-8")

    answers = [
        shell("perf", "compare", RUNS[0].id, side, "--json").out
        for side in ("run.json", "perf-history", RUNS[39].id)
    ]

    assert len(set(answers)) == 1


@pytest.mark.parametrize("side", ["0" * 38, "abcdef1", "nowhere", "0"])
def test_a_side_that_is_none_or_many_is_refused(shell: Shell, history: Path, side: str) -> None:
    """It is never guessed which run is meant."""
    answer = shell("perf", "compare", side, RUNS[0].id)

    assert answer.status == 2
    assert side in answer.err
