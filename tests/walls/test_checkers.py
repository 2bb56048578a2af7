from __future__ import annotations

import sys
from pathlib import Path

import pytest

from megtrim.util.process import Command, ProcessRunner

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "argv",
    [
        ("ruff", "check"),
        ("ruff", "format", "--check"),
        ("mypy", "benchmarks", "ci", "noxfile.py", "scripts", "tests"),
        ("lint-imports",),
    ],
    ids=" ".join,
)
def test_checker_is_clean(argv: tuple[str, ...], processes: ProcessRunner) -> None:
    command = Command(argv=(str(BIN / argv[0]), *argv[1:]), cwd=ROOT, timeout_s=600)
    outcome = processes.run(command)

    assert outcome.rc == 0, outcome.stdout + outcome.stderr
