"""The error of a damaged log."""

from __future__ import annotations

from megtrim.errors import InputError
from megtrim.load_and_run.timing_logs.timing_log import DamagedLog


def test_a_damaged_log_names_file_and_line() -> None:
    """What was found there, what was expected, and what to do."""
    error = DamagedLog("run.log", 7, "iteration 3", "iteration 2")

    assert isinstance(error, InputError)
    assert error.message == "run.log:7: found iteration 3, expected iteration 2"
    assert "leave its times out" in error.hint
