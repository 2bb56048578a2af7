"""Which branch of a repository is its default one: the remote's, else the one checked out."""

from __future__ import annotations

from pathlib import Path

from megtrim.util.errors import InputError
from megtrim.util.process import Command, ProcessRunner

_TIMEOUT_S = 30.0
_REMOTE = "refs/remotes/origin/"


def find_default_branch(top: Path, processes: ProcessRunner) -> str:
    """Return what ``origin`` calls its default branch; without a remote, the current branch.

    Raises InputError where git knows neither.
    """
    for reference in (f"{_REMOTE}HEAD", "HEAD"):
        argv = ("git", "-C", str(top), "symbolic-ref", "--quiet", reference)
        answer = processes.run(Command(argv=argv, timeout_s=_TIMEOUT_S))
        name = answer.stdout.strip().removeprefix(_REMOTE).removeprefix("refs/heads/")
        if answer.ok and name:
            return name
    msg = f"the default branch of {top} is not known: no remote names it, and HEAD is detached"
    raise InputError(msg, hint="name it: --branch NAME")
