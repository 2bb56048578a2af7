"""CMake projects that link a trimmed engine by its package, as teams write them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from integration.sample_builds import run
from megtrim.util.process import ProcessRunner
from support.megtrim_cli import ROOT

_LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(MegEngineTrimmed REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE MegEngineTrimmed::shared)
"""


_IN_C = ROOT / "examples/applications/sample-in-c"
_ARM64 = """\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
"""


def build_c_consumer_for_arm64(release: Path, folder: Path) -> Path:
    """Build the example in C with Debian's cross compiler; return its program."""
    folder.mkdir()
    toolchain = folder / "arm64.cmake"
    toolchain.write_text(_ARM64, encoding="utf-8")
    _build(_IN_C, release, folder / "build", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}")
    return folder / "build/sample-in-c"


def build_consumer(release: Path, folder: Path) -> Path:
    """Build the project in ``folder`` with a release; return its program."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(_LISTS, encoding="utf-8")
    shutil.copy(ROOT / "examples/applications/sample-classify/main.cpp", folder)
    _build(folder, release, folder / "build")
    return folder / "build" / "consumer"


def _build(source: Path, release: Path, build: Path, *options: str) -> None:
    processes = ProcessRunner(os.environ)
    cmake, ninja = processes.build_tool("cmake"), processes.build_tool("ninja")
    configured = run(
        *(cmake, "-G", "Ninja", "-S", str(source), "-B", str(build)),
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
        f"-DCMAKE_PREFIX_PATH={release}",
        *options,
    )
    assert configured.ok, configured.stdout + configured.stderr
    compiled = run(ninja, "-C", str(build))
    assert compiled.ok, compiled.stdout + compiled.stderr
