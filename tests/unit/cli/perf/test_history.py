"""`perf history`, as a person calls it."""

import json
from pathlib import Path

import pytest

from megtrim.util.strict_json import dump
from support.history_entries import SCENARIO
from unit.cli.perf.nights import RUNS
from unit.cli.support import Shell


def test_a_history_shows_its_changes(shell: Shell, history: Path) -> None:
    answer = shell("perf", "history").expect(0)
    assert "1 change in 40 nights" in answer.out
    assert "after 2026-01-20, by 2026-01-21" in answer.out
    (series,) = json.loads(shell("perf", "history", "--json").out)["series"]
    assert int(series["changes"][0]["first_bad"]["commit"], 16) == 20


def test_since_and_scenario_narrow_a_history(shell: Shell, history: Path) -> None:
    shown = shell("perf", "history", "--since", "2026-01-28", "--scenario", SCENARIO).out

    assert "13 runs, 1 series" in shown
    assert "not enough history: 1 night more needed" in shown
    assert "0 series" in shell("perf", "history", "--scenario", "other").out
    assert shell("perf", "history", "--since", "soon").status == 2


def test_a_damaged_file_is_named(shell: Shell, history: Path) -> None:
    (history / RUNS[3].path).write_text("{\n", encoding="utf-8")

    answer = shell("perf", "history").expect(0)
    assert "39 runs" in answer.out
    assert f"left out: {RUNS[3].path}:2:" in answer.err


def test_runs_are_appended_once(shell: Shell) -> None:
    (shell.folder / "run.json").write_text(dump(RUNS[0]), encoding="utf-8")

    first, again = (shell("perf", "append", "run.json") for _ in range(2))

    assert (first.status, first.out) == (0, f"{RUNS[0].path} in perf-history\n")
    assert again == first
    assert (shell.folder / "perf-history" / RUNS[0].path).is_file()


def test_a_damaged_run_is_not_appended(shell: Shell) -> None:
    (shell.folder / "good.json").write_text(dump(RUNS[0]), encoding="utf-8")
    (shell.folder / "bad.json").write_text("{", encoding="utf-8")

    assert shell("perf", "append", "good.json", "bad.json").status == 2
    assert not (shell.folder / "perf-history").exists()


def test_two_commits_are_compared(shell: Shell, history: Path) -> None:
    before, after = RUNS[10].commit.sha, RUNS[30].commit.sha

    answer = shell("perf", "compare", before, after).expect(0)
    assert " to " in answer.out
    found = json.loads(shell("perf", "compare", before, after, "--json").out)
    (ratio,) = found["rows"][0]["ratios"]
    assert ratio["ratio"] == pytest.approx(1.1, abs=0.02)
    assert ratio["lower"] > 1


def test_files_folders_and_runs_are_sides_too(shell: Shell, history: Path) -> None:
    (shell.folder / "run.json").write_text(dump(RUNS[39]), encoding="utf-8")

    answers = [
        shell("perf", "compare", RUNS[0].id, side, "--json").out
        for side in ("run.json", "perf-history", RUNS[39].id)
    ]

    assert len(set(answers)) == 1


@pytest.mark.parametrize("side", ["0" * 38, "abcdef1", "nowhere", "0"])
def test_a_side_that_is_none_or_many_is_refused(shell: Shell, history: Path, side: str) -> None:
    shell("perf", "compare", side, RUNS[0].id).expect(2, side)
