"""Building the sample engine without megtrim: CMake, Ninja and a compiler."""

from __future__ import annotations

import os
from pathlib import Path

from megtrim.process import Command, CompletedCommand, ProcessRunner


def run(*argv: str, env: dict[str, str] | None = None) -> CompletedCommand:
    """Run a program to its end."""
    return ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=600, env=env or {}))


def build(source: Path, folder: Path, **settings: str) -> Path:
    """Build ``load_and_run`` in ``folder`` and return it; ccache spares what others compiled."""
    processes = ProcessRunner(os.environ)
    ccache = processes.which("ccache")
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": ccache} if ccache else {}
    configure = (
        *(processes.build_tool("cmake"), "-G", "Ninja", "-S", str(source), "-B", str(folder)),
        f"-DCMAKE_MAKE_PROGRAM={processes.build_tool('ninja')}",
        *(f"-D{name}={value}" for name, value in {**launcher, **settings}.items()),
    )
    for argv in (configure, (processes.build_tool("ninja"), "-C", str(folder), "-j", "2")):
        done = run(*argv)
        assert done.ok, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "load_and_run"
