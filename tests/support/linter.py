"""The linter of imports, on a copy of the tree."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from megtrim.util.process import Command, CompletedCommand, ProcessRunner


def lint_imports(root: Path) -> CompletedCommand:
    """Hold the packages in ``root``/ci to the contracts in its pyproject.toml."""
    linter = str(Path(sys.executable).parent / "lint-imports")
    # Wide, or the name of a contract is broken into two lines.
    env = {**os.environ, "PYTHONPATH": str(root / "ci"), "COLUMNS": "200"}
    command = Command(argv=(linter, "--no-cache"), cwd=root, timeout_s=120, merge_stderr=True)
    return ProcessRunner(env).run(command)
