"""`perf export`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

from megtrim.history.folder import append_to_folder
from support.history_entries import make_run
from unit.cli.perf.nights import RUNS
from unit.cli.support import Shell


def test_a_run_is_exported(shell: Shell, history: Path) -> None:
    """In both forms; a folder of one device gives one run."""
    commit = RUNS[5].commit.sha
    for form, kind in (("github-action-benchmark", list), ("bencher", dict)):
        answer = shell("perf", "export", commit, "--format", form)
        assert answer.status == 0
        assert isinstance(json.loads(answer.out), kind)


def test_runs_of_two_devices_are_exported_one_by_one(shell: Shell, history: Path) -> None:
    """Their rows would have one name."""
    append_to_folder(history, [make_run(39, device="other")])

    answer = shell("perf", "export", RUNS[39].commit.sha, "--format", "bencher")

    assert answer.status == 2
    assert "found 2 runs" in answer.err
