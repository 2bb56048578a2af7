"""`perf history`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

from support.history_entries import SCENARIO
from unit.cli.perf.nights import RUNS
from unit.cli.support import Shell


def test_a_history_shows_its_changes(shell: Shell, history: Path) -> None:
    """With days and commits, and in JSON as well."""
    answer = shell("perf", "history")

    assert answer.status == 0
    assert "1 change in 40 nights" in answer.out
    assert "after 2026-01-20, by 2026-01-21" in answer.out
    (series,) = json.loads(shell("perf", "history", "--json").out)["series"]
    assert int(series["changes"][0]["first_bad"]["commit"], 16) == 20


def test_since_and_scenario_narrow_a_history(shell: Shell, history: Path) -> None:
    """After its change, the series is too short to be judged."""
    shown = shell("perf", "history", "--since", "2026-01-28", "--scenario", SCENARIO).out

    assert "13 runs, 1 series" in shown
    assert "not enough history: 1 night more needed" in shown
    assert "0 series" in shell("perf", "history", "--scenario", "other").out
    assert shell("perf", "history", "--since", "soon").status == 2


def test_a_damaged_file_is_named(shell: Shell, history: Path) -> None:
    """All others are read."""
    (history / RUNS[3].path).write_text("{\n", encoding="utf-8")

    answer = shell("perf", "history")

    assert answer.status == 0
    assert "39 runs" in answer.out
    assert f"left out: {RUNS[3].path}:2:" in answer.err
