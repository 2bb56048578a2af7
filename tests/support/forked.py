"""The command line in a fork of the test process: a real exit status, without its imports again."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from megtrim.cli import main

_LIMIT_S = 300
"""After which a run that hangs is ended by a signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run of the command line ended."""

    rc: int
    stdout: str
    stderr: str


def run(
    arguments: Sequence[str], *, cwd: Path, scratch: Path, env: Mapping[str, str] | None = None
) -> Ended:
    """Run ``megtrim ARGUMENTS`` in ``cwd`` to its end; ``scratch`` gets what it prints."""
    scratch.mkdir(parents=True, exist_ok=True)
    files = scratch / "stdout", scratch / "stderr"
    child = os.fork()
    if child == 0:
        os._exit(_inside(arguments, cwd, files, env or {}))
    _, status = os.waitpid(child, 0)
    stdout, stderr = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return Ended(rc=os.waitstatus_to_exitcode(status), stdout=stdout, stderr=stderr)


def _inside(
    arguments: Sequence[str], cwd: Path, files: tuple[Path, Path], env: Mapping[str, str]
) -> int:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    # The test runner's own streams may be replaced by what keeps their text.
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
    os.environ.update(env)
    signal.alarm(_LIMIT_S)
    warnings.resetwarnings()  # to the command line's own; here they are errors
    os.chdir(cwd)
    sys.argv = ["megtrim", *arguments]
    try:
        main.run()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        return 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0
