"""Looking for programs on the path of the environment that megtrim was given."""

from __future__ import annotations

from megtrim.errors import InputError
from megtrim.process import ProcessRunner


def need(processes: ProcessRunner, name: str, *, hint: str) -> str:
    """Return the program's full path; a missing one is an input error with ``hint``."""
    path = processes.which(name)
    if path is None:
        msg = f"{name} is not on the path of {processes.where}"
        raise InputError(msg, hint=hint)
    return path


def first_line(processes: ProcessRunner, *argv: str) -> str:
    """Return the first line that a tool prints about itself; one that says nothing is refused."""
    lines = processes.capture(*argv).splitlines()
    if not lines:
        msg = f"{' '.join(argv)} says nothing"
        raise InputError(msg, hint="is it the tool of that name?")
    return lines[0].strip()
