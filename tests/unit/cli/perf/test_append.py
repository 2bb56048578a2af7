"""`perf append`, as a person calls it."""

from __future__ import annotations

from megtrim.perf.nights.history import dump_run
from unit.cli.perf.nights import RUNS
from unit.cli.support import Shell


def test_runs_are_appended_once(shell: Shell) -> None:
    """A job that is repeated changes nothing."""
    (shell.folder / "run.json").write_text(dump_run(RUNS[0]), encoding="utf-8")

    first, again = (shell("perf", "append", "run.json") for _ in range(2))

    assert (first.status, first.out) == (0, f"{RUNS[0].path} in perf-history\n")
    assert again == first
    assert (shell.folder / "perf-history" / RUNS[0].path).is_file()


def test_a_damaged_run_is_not_appended(shell: Shell) -> None:
    """Nothing of the call is."""
    (shell.folder / "good.json").write_text(dump_run(RUNS[0]), encoding="utf-8")
    (shell.folder / "bad.json").write_text("{", encoding="utf-8")

    assert shell("perf", "append", "good.json", "bad.json").status == 2
    assert not (shell.folder / "perf-history").exists()
