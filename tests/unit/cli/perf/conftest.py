"""A history where the verbs look for it."""

from pathlib import Path

import pytest

from megtrim.history.folder import append_to_folder
from unit.cli.perf.nights import RUNS
from unit.cli.support import Shell


@pytest.fixture
def history(shell: Shell) -> Path:
    append_to_folder(shell.folder / "perf-history", RUNS)
    return shell.folder / "perf-history"
