#!/usr/bin/env python3
"""Run a nox session on a machine that has Python 3.11 or newer, and nothing else.

usage: python3 scripts/fresh.py SESSION [ARGUMENT ...]

    python3 scripts/fresh.py demo       trim the sample engine

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

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kit

VENV = kit.ROOT / ".venv"
LOCK = kit.ROOT / "requirements" / "nox.txt"


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(__doc__ or "")
        return 0 if arguments else 2
    ready = VENV / kit.READY
    if not ready.exists() or ready.read_bytes() != LOCK.read_bytes():
        try:
            _bring_venv()
            kit.install(LOCK, VENV)
        except kit.Refusal as refusal:
            sys.stderr.write(f"fresh.py: {refusal}\n")
            return 2
    extra = ["--", *arguments[1:]] if arguments[1:] else []
    nox = [str(VENV / "bin" / "nox"), "-s", arguments[0], *extra]
    return subprocess.run(nox, cwd=kit.ROOT, check=False).returncode


def _bring_venv() -> None:
    """Install what Debian leaves out of Python, where that is possible."""
    is_missing = importlib.util.find_spec("ensurepip") is None
    if is_missing and os.geteuid() == 0 and shutil.which("apt-get"):
        kit.bring([f"python3.{sys.version_info.minor}-venv"], os.environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
