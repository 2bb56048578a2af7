"""megtrim as a process of its own that is forked instead of started.

Starting Python and loading all of megtrim takes a second, and tests run it a thousand times. One
server per worker loads it; each run is a fork of it, with its own words, folder, environment and
session. Tests of how a process starts, or is interrupted, start one.
"""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from megtrim import cli
from megtrim.util.process import CompletedCommand
from support.tally.sitecustomize import note

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        # megtrim itself loads these where it uses them.
        *("jinja2", "scipy.optimize", "scipy.sparse.csgraph", "scipy.stats"),
        "megtrim.__main__",
        *(each.name for each in pkgutil.walk_packages(cli.__path__, "megtrim.cli.")),
    ]
)


def run_megtrim(
    *words: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 600,
) -> CompletedCommand:
    """Run megtrim to its end; ``env`` is added to the environment of the tests."""
    note("megtrim")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        streams = (Path(folder, "stdout"), Path(folder, "stderr"))
        given = ({**os.environ, **(env or {})}, cwd or Path.cwd(), streams, words)
        process = _CONTEXT.Process(target=_be_megtrim, args=given)
        process.start()
        process.join(timeout_s)
        timed_out = process.exitcode is None
        if timed_out:
            process.kill()
            process.join()
        rc = process.exitcode or 0
        process.close()
        stdout, stderr = (path.read_text("utf-8", "replace") for path in streams)
    return CompletedCommand(
        argv=("megtrim", *words),
        rc=rc if rc >= 0 else 128 - rc,
        stdout=stdout,
        stderr=stderr,
        wall_s=time.monotonic() - started,
        timed_out=timed_out,
    )


def _be_megtrim(
    env: Mapping[str, str], cwd: Path, streams: tuple[Path, Path], words: tuple[str, ...]
) -> NoReturn:
    os.setsid()
    for number, path in enumerate((Path(os.devnull), *streams)):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["megtrim", *words]

    from megtrim.__main__ import run

    run()
    sys.exit()
