"""Names of source files in programs: the same in any folder, with a compiler cache and without."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from integration.sample_builds import compile_project
from megtrim.build import toolchains
from megtrim.build.engines.cmake.toolchain_file import render
from megtrim.config.model import ToolchainConfig
from megtrim.util.process import ProcessRunner
from unit.build.engines.support import write

pytestmark = [pytest.mark.chain]

CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(names LANGUAGES CXX)
file(WRITE "${CMAKE_BINARY_DIR}/made/made.h" "inline const char* made() { return __FILE__; }\\n")
add_library(names STATIC names.cpp)
target_include_directories(names PRIVATE "${CMAKE_BINARY_DIR}/made" "${HEADERS}")
"""
SOURCE = """\
#include "header.h"
#include "made.h"
const char* names(int which) { return which == 0 ? __FILE__ : which == 1 ? header() : made(); }
"""
HEADER = "inline const char* header() { return __FILE__; }\n"
APPLICATION = "applications/app"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (".", {b"./names.cpp", b"./header.h", b"made/made.h"}),
        (APPLICATION, {b"./names.cpp", b"engine/header.h", b"made/made.h"}),
    ],
)
def test_a_compiler_cache_changes_no_byte(place: str, expected: set[bytes], tmp_path: Path) -> None:
    """It names files as seen from the build folder, and a build without it by their whole path."""
    cached, direct = (
        compile_in(tmp_path / folder, place, launcher)
        for folder, launcher in (("here", shutil.which("ccache")), ("else/where", None))
    )

    assert cached == direct
    assert all(name + b"\0" in direct for name in expected)


def compile_in(root: Path, place: str, launcher: str | None) -> bytes:
    """Return the object of a tree at ``place`` below the engine's tree ``root``."""
    processes = ProcessRunner(os.environ)
    tree = root / place
    way = "" if tree == root else os.path.relpath(root, tree)
    toolchain = toolchains.KINDS["host"](ToolchainConfig(kind="host"), processes)
    files = {
        f"{place}/toolchain.cmake": render(toolchain, quoted_include=False, engine_tree=way),
        f"{place}/src/CMakeLists.txt": CMAKE,
        f"{place}/src/names.cpp": SOURCE,
        "src/header.h": HEADER,
    }
    write(root, files)
    env = {"CCACHE_BASEDIR": str(root), "CCACHE_DIR": str(root / "cache"), "CCACHE_NOHASHDIR": "1"}
    env["CCACHE_NODEPEND"] = "1"  # as megtrim builds; the tests' own builds leave paths as they are
    settings = {
        "CMAKE_TOOLCHAIN_FILE": str(tree / "toolchain.cmake"),
        "HEADERS": str(root / "src"),
        **({"CMAKE_CXX_COMPILER_LAUNCHER": launcher} if launcher else {}),
    }
    compile_project(tree / "src", tree / "build", settings, env=env)
    return (tree / "build/CMakeFiles/names.dir/names.cpp.o").read_bytes()
