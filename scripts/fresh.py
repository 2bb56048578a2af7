#!/usr/bin/env python3
"""Run a nox session on a machine that has Python 3.11 or newer, and nothing else.

usage: python3 scripts/fresh.py SESSION [ARGUMENT ...]

    python3 scripts/fresh.py demo       trim the sample engine
    python3 scripts/fresh.py tests      run every test lane that this machine can run

Creates `.venv` with nox from requirements/nox.txt (by hash), once, and runs it. Uses only the
standard library, because it runs before anything is installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements" / "nox.txt"
STAMP = VENV / "nox.txt"


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this script is run by whatever is there
        return _refuse(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(__doc__ or "")
        return 0 if arguments else 2
    if not STAMP.exists() or STAMP.read_bytes() != LOCK.read_bytes():
        problem = _prepare()
        if problem:
            return _refuse(problem)
    extra = ["--", *arguments[1:]] if arguments[1:] else []
    nox = [str(VENV / "bin" / "nox"), "-s", arguments[0], *extra]
    return subprocess.run(nox, cwd=ROOT, check=False).returncode


def _prepare() -> str:
    """Return what failed, or an empty text."""
    if importlib.util.find_spec("ensurepip") is None and not _install_venv():
        return "this Python has no ensurepip; on Debian: apt-get install python3-venv"
    python = str(VENV / "bin" / "python")
    # A terminal that stands still looks dead; in a log pip's lines are of no use.
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    pip = [python, "-m", "pip", "install", *quiet, "--disable-pip-version-check"]
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(VENV)],
        [*pip, "--require-hashes", "-r", str(LOCK)],
    )
    for step in steps:
        sys.stderr.write(f"fresh.py: {' '.join(step)}\n")
        if subprocess.run(step, check=False).returncode != 0:
            return f"this failed: {' '.join(step)}"
    shutil.copyfile(LOCK, STAMP)
    return ""


def _install_venv() -> bool:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    subprocess.run(["apt-get", "update", "-qq"], check=False)
    package = f"python3.{sys.version_info.minor}-venv"
    return subprocess.run(["apt-get", "install", "-y", "-qq", package], check=False).returncode == 0


def _refuse(problem: str) -> int:
    sys.stderr.write(f"fresh.py: {problem}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
