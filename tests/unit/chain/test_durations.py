"""What tasks took when they were last done on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from megtrim.chain.session import DurationLog, open_durations


def test_what_each_task_took_last_is_summed_up(tmp_path: Path) -> None:
    """In the same setting alone; nothing is said of a task that was never done."""
    log = DurationLog(tmp_path / "d.json", "sample zig 2")
    for task, time_s in (("build/plain", 100), ("build/plain", 61), ("verify/m", 2)):
        log.add(task, time_s)

    reason = "when these tasks were last done on this machine"
    assert log.describe(["build/plain", "verify/m"]) == f"1 min 3 s {reason}"
    assert log.describe(["verify/m"]) == f"2 s {reason}"
    assert log.describe(["verify/m", "verify/new"]) == log.describe([]) == ""
    assert DurationLog(tmp_path / "d.json", "sample zig 4").describe(["verify/m"]) == ""


def test_a_file_that_cannot_be_used_counts_as_none(tmp_path: Path) -> None:
    """It serves a line of text: no run fails for it."""
    file = tmp_path / "d.json"
    for text in ("", "{}", "[1]", '{"version": 2, "durations": []}', "\0"):
        file.write_text(text, encoding="utf-8")
        log = DurationLog(file, "s")
        assert log.describe(["a"]) == ""
        log.add("a", 1)
        assert log.describe(["a"])
    file.unlink()
    file.mkdir()
    DurationLog(file, "s").add("a", 1)


def test_the_last_500_tasks_are_kept(tmp_path: Path) -> None:
    """The file does not grow without bounds."""
    log = DurationLog(tmp_path / "d.json", "s")
    log.add("first", 1)
    document = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))
    document["durations"] += [{"task": f"s {number}", "time_s": 1} for number in range(499)]
    (tmp_path / "d.json").write_text(json.dumps(document), encoding="utf-8")
    assert log.describe(["first"])

    log.add("new", 1)

    assert log.describe(["498", "new"])
    assert log.describe(["first"]) == ""


@pytest.mark.parametrize(("name", "there"), [("MEGTRIM_STATE", True), ("NONE", False)])
def test_a_user_without_a_home_has_none(tmp_path: Path, name: str, there: bool) -> None:
    """With one, the file is there."""
    log = open_durations({name: str(tmp_path)}, "s")

    assert (log is not None) is there
    if log is not None:
        log.add("a", 1)
        assert (tmp_path / "durations.json").is_file()
