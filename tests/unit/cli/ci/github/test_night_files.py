"""What jobs of a night read."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.cli.ci.github.client import read_runs, read_verdict
from megtrim.history.folder import append_to_folder
from megtrim.util.errors import InputError
from support.history_entries import make_run


def test_a_first_night_has_no_history(tmp_path: Path) -> None:
    """That is no error."""
    assert read_runs(tmp_path / "history") == ()
    append_to_folder(tmp_path / "history", [make_run(1), make_run(0)])
    assert read_runs(tmp_path / "history") == (make_run(0), make_run(1))


def test_a_report_must_have_a_verdict(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(InputError, match=r"verdict\.json"):
        read_verdict(tmp_path)
