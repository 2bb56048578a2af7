"""A CMake project that links a trimmed engine by its package, as a team writes it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from integration.sample_builds import run
from megtrim.process import ProcessRunner
from support.megtrim_cli import ROOT

_LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(MegEngineTrimmed REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE MegEngineTrimmed::shared)
"""


def build_consumer(release: Path, folder: Path) -> Path:
    """Build the project in ``folder`` with a release; return its program."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(_LISTS, encoding="utf-8")
    shutil.copy(ROOT / "examples/applications/sample-classify/main.cpp", folder)
    processes = ProcessRunner(os.environ)
    cmake, ninja = processes.build_tool("cmake"), processes.build_tool("ninja")
    configured = run(
        *(cmake, "-G", "Ninja", "-S", str(folder), "-B", str(folder / "build")),
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
        f"-DCMAKE_PREFIX_PATH={release}",
    )
    assert configured.ok, configured.stdout + configured.stderr
    compiled = run(ninja, "-C", str(folder / "build"))
    assert compiled.ok, compiled.stdout + compiled.stderr
    return folder / "build" / "consumer"
