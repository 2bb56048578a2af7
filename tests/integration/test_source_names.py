"""Names of source files in programs: the same in any folder, with a compiler cache and without."""

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from integration.sample_builds import compile_project
from megtrim.core.build_spec import SourceOptions
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.projects.cmake import driver, toolchain_file
from megtrim.places.compile.projects.cmake.driver import Job
from megtrim.places.compile.projects.cmake.toolchain_file import render
from megtrim.places.compile.toolchains import kinds as toolchain_kinds
from unit.places.compile.projects.support import write

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
    processes = ProcessRunner(os.environ)
    tree = root / place
    way = "" if tree == root else os.path.relpath(root, tree)
    toolchain = toolchain_kinds.KINDS["host"](ToolchainConfig(kind="host"), processes)
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


WANTED = SourceOptions(options=("-Oz",), fast=("-fsums", "-ffused"), outside=("src/a+b", "k"))
TREE = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(tree LANGUAGES C)\n"
    "set(CMAKE_C_FLAGS_RELEASE -O3)\nset(CMAKE_CXX_FLAGS_RELEASE -@SPEED@)\n"
    "add_library(first OBJECT src/main.c src/a+b/kernel.c src/a+bc/near.c k/kernel.c k.c)\n"
    "target_compile_options(first PRIVATE -Dfirst)\n"
    "add_library(second STATIC src/main.c $<TARGET_OBJECTS:first> made.c)\n"
    "add_custom_command(OUTPUT made.c COMMAND touch made.c)\n"
    "add_library(third INTERFACE)\nadd_custom_target(fourth)\nadd_subdirectory(below)\n",
    "below/CMakeLists.txt": "add_executable(program main.c)\n",
    **dict.fromkeys(("src/main.c", "src/a+b/kernel.c", "src/a+bc/near.c", "k/kernel.c"), ""),
    **dict.fromkeys(("k.c", "below/main.c"), ""),
}


@pytest.mark.parametrize(("speed", "added"), [("O3", []), ("Ofast", ["-fsums", "-ffused"])])
def test_cmake_gives_them_to_all_but_the_kernels(
    tmp_path: Path, speed: str, added: list[str]
) -> None:
    """Behind the target's own, once for a source of two targets; those that are made, too."""
    write(tmp_path / "src", {name: text.replace("@SPEED@", speed) for name, text in TREE.items()})
    hook = tmp_path / toolchain_file.SOURCES_FILE
    hook.write_text(toolchain_file.render_sources(WANTED), encoding="utf-8")
    name = toolchain_file.option_name(TREE["CMakeLists.txt"], root="tree")

    given = _configured(tmp_path, name, hook)

    least = ["-Oz", *added]
    assert given == {
        ("first", "src/main.c"): ["-Dfirst", *least],
        ("first", "src/a+bc/near.c"): ["-Dfirst", *least],
        ("first", "k.c"): ["-Dfirst", *least],
        ("first", "src/a+b/kernel.c"): ["-Dfirst"],
        ("first", "k/kernel.c"): ["-Dfirst"],
        ("second", "src/main.c"): least,
        ("second", "made.c"): least,
        ("program", "main.c"): least,
    }


def test_cmake_names_an_option_that_no_file_reads(tmp_path: Path) -> None:
    source = write(
        tmp_path / "src",
        {
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(tree LANGUAGES NONE)\n"
            "option(READ x OFF)\ninclude(more.cmake)\nadd_custom_target(all_of_it)\n",
            "more.cmake": "if(ALSO_READ)\nendif()\n",
        },
    )
    processes = ProcessRunner(os.environ)

    def build(*names: str) -> None:
        job = Job(
            source=source,
            build=tmp_path / "build",
            options=tuple((name, "ON") for name in names),
            targets=("all_of_it",),
            log=tmp_path / "log",
            jobs=1,
            env={},
            places={name: f"a:1: {name}" for name in names},
        )
        driver.run(job, processes, lambda *_: None)

    for _ in range(2):
        build("READ", "ALSO_READ", "CMAKE_MADE_UP")
        with pytest.raises(InputError, match=r"^a:1: RAED: the source does not use this CMake opt"):
            build("READ", "RAED")
    write(source, {"more.cmake": ""})
    with pytest.raises(InputError, match=r"^a:1: ALSO_READ: the source does not use"):
        build("READ", "ALSO_READ")


def _configured(folder: Path, name: str, hook: Path) -> dict[tuple[str, str], list[str]]:
    processes = ProcessRunner(os.environ)
    argv = (
        processes.build_tool("cmake"),
        "-G",
        "Ninja",
        "-S",
        str(folder / "src"),
        "-B",
        str(folder / "build"),
        f"-DCMAKE_MAKE_PROGRAM={processes.build_tool('ninja')}",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-D{name}={hook}",
    )
    outcome = processes.run(Command(argv=argv, timeout_s=120))
    assert outcome.ok, outcome.stdout + outcome.stderr
    given = {}
    for entry in json.loads((folder / "build/compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        target, _, source = words[words.index("-o") + 1].partition("CMakeFiles/")[2].partition("/")
        options = words[words.index("-O3") + 1 : words.index("-o")]
        given[target.removesuffix(".dir"), source.removesuffix(".o")] = options
    return given
