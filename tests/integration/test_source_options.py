"""What CMake makes of the file that compiles everything but the kernels for size."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from megtrim.build.engines.cmake import driver, source_options
from megtrim.build.engines.cmake.driver import Job
from megtrim.build_spec import SourceOptions
from megtrim.util.errors import InputError
from megtrim.util.process import Command, ProcessRunner
from unit.build.engines.support import write

pytestmark = pytest.mark.chain

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
    hook = tmp_path / source_options.FILE
    hook.write_text(source_options.render(WANTED), encoding="utf-8")
    name = source_options.option_name(TREE["CMakeLists.txt"], root="tree")

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
    """In a new folder and in one that was configured with it before."""
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
        with pytest.raises(InputError, match=r"^a:1: RAED: the engine does not use this CMake opt"):
            build("READ", "RAED")
    write(source, {"more.cmake": ""})
    with pytest.raises(InputError, match=r"^a:1: ALSO_READ: the engine does not use"):
        build("READ", "ALSO_READ")


def _configured(folder: Path, name: str, hook: Path) -> dict[tuple[str, str], list[str]]:
    """Return the options of each target's sources behind the build type's."""
    processes = ProcessRunner(os.environ)
    argv = (
        *(processes.build_tool("cmake"), "-G", "Ninja", "-S", str(folder / "src")),
        *("-B", str(folder / "build"), f"-DCMAKE_MAKE_PROGRAM={processes.build_tool('ninja')}"),
        *("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_BUILD_TYPE=Release", f"-D{name}={hook}"),
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
