"""Looking for programs on the path of the environment that megtrim was given."""

from __future__ import annotations

import shutil

from megtrim.errors import InputError
from megtrim.process import Processes


def which(processes: Processes, name: str) -> str | None:
    """Return the program's full path, or None."""
    return shutil.which(name, path=processes.env.get("PATH", ""))


def need(processes: Processes, name: str, *, hint: str) -> str:
    """Return the program's full path; a missing one is an input error with ``hint``."""
    path = which(processes, name)
    if path is None:
        msg = f"{name} is not on the path"
        raise InputError(msg, hint=hint)
    return path


def first_line(processes: Processes, *argv: str) -> str:
    """Return the first line that a tool prints about itself."""
    return processes.capture(*argv).splitlines()[0].strip()
