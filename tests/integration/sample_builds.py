"""Building the sample engine without megtrim: CMake, Ninja and a compiler."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from megtrim.util.process import Command, CompletedCommand, ProcessRunner


def run(*argv: str, env: dict[str, str] | None = None) -> CompletedCommand:
    return ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=600, env=env or {}))


def build(source: Path, folder: Path, **settings: str) -> Path:
    """Build ``load_and_run`` in ``folder`` and return it; ccache spares what others compiled."""
    ccache = ProcessRunner(os.environ).which("ccache")
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": ccache} if ccache else {}
    compile_project(source, folder, {**launcher, **settings})
    return folder / "load_and_run"


def compile_project(
    source: Path, folder: Path, settings: Mapping[str, str], *, env: dict[str, str] | None = None
) -> None:
    """Build what a CMake project has in ``folder``."""
    processes = ProcessRunner(os.environ)
    configure = (
        *(processes.build_tool("cmake"), "-G", "Ninja", "-S", str(source), "-B", str(folder)),
        f"-DCMAKE_MAKE_PROGRAM={processes.build_tool('ninja')}",
        *(f"-D{name}={value}" for name, value in settings.items()),
    )
    for argv in (configure, (processes.build_tool("ninja"), "-C", str(folder), "-j", "2")):
        done = run(*argv, env=env)
        assert done.ok, done.stdout[-3000:] + done.stderr[-3000:]
