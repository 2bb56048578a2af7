"""A run of the tests leaves the checkout as it was: it looks before and after, and fails if not."""

import os
import shutil
from pathlib import Path

import pytest

from megtrim.util.process import Command, ProcessRunner
from support.starts import report_failure

_CHECKOUT = Path(__file__).parents[2]
_BEFORE = pytest.StashKey[frozenset[str] | None]()
_CACHES = (
    *("__pycache__/", ".hypothesis/", ".import_linter_cache/"),
    *(".mypy_cache/", ".pytest_cache/", ".ruff_cache/"),
)
"""What Python and the checkers keep next to what they read; ignored by git."""


def _state() -> frozenset[str] | None:
    """Return what git says of the checkout, or None where there is no git or no repository."""
    if shutil.which("git") is None:
        return None
    argv = ("git", "--no-optional-locks", "status", "--porcelain", "--ignored")
    reported = ProcessRunner(os.environ).run(Command(argv=argv, cwd=_CHECKOUT, timeout_s=60))
    lines = frozenset(line for line in reported.stdout.splitlines() if not line.endswith(_CACHES))
    return lines if reported.ok else None


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.stash[_BEFORE] = _state()


def pytest_sessionfinish(session: pytest.Session) -> None:
    before = session.config.stash.get(_BEFORE, None)
    if before is None or not (changed := sorted((_state() or before) ^ before)):
        return
    report_failure(session, "the checkout", "changed while the tests ran:\n" + "\n".join(changed))
