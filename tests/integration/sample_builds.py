"""Building the sample engine without megtrim: CMake, Ninja and a compiler."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import ROOT

_APPLICATION = """\
cmake_minimum_required(VERSION 3.15)
project(NAME C)
add_executable(NAME SOURCE)
target_include_directories(NAME PRIVATE ${MEGTRIM_ENGINE_INCLUDE})
target_link_libraries(NAME PRIVATE ${MEGTRIM_ENGINE_LIBRARIES} ${CMAKE_DL_LIBS})
target_link_options(NAME PRIVATE ${MEGTRIM_ENGINE_LINK_OPTIONS})
"""


def write_application_lists(name: str, source: str) -> str:
    """Return the CMakeLists.txt of an application in C that asks a library what it lacked."""
    return _APPLICATION.replace("NAME", name).replace("SOURCE", source)


def run(*argv: str, env: dict[str, str] | None = None) -> CompletedCommand:
    return ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=600, env=env or {}))


def build(source: Path, folder: Path, **settings: str) -> Path:
    ccache = ProcessRunner(os.environ).which("ccache")
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": ccache} if ccache else {}
    compile_project(source, folder, {**launcher, **settings})
    return folder / "load_and_run"


def compile_project(
    source: Path, folder: Path, settings: Mapping[str, str], *, env: dict[str, str] | None = None
) -> None:
    processes = ProcessRunner(os.environ)
    configure = (
        processes.build_tool("cmake"),
        "-G",
        "Ninja",
        "-S",
        str(source),
        "-B",
        str(folder),
        f"-DCMAKE_MAKE_PROGRAM={processes.build_tool('ninja')}",
        *(f"-D{name}={value}" for name, value in settings.items()),
    )
    for argv in (configure, (processes.build_tool("ninja"), "-C", str(folder), "-j", "2")):
        done = run(*argv, env=env)
        assert done.ok, done.stdout[-3000:] + done.stderr[-3000:]


_LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(MegEngineTrimmed REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE MegEngineTrimmed::shared)
"""


_CROSS = """\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {processor})
set(CMAKE_C_COMPILER {compiler})
"""


def build_c_consumer(release: Path, folder: Path, compiler: str = "aarch64-linux-gnu-gcc") -> Path:
    folder.mkdir()
    toolchain = folder / "cross.cmake"
    processor = compiler.partition("-")[0]
    toolchain.write_text(_CROSS.format(processor=processor, compiler=compiler), encoding="utf-8")
    settings = {"CMAKE_PREFIX_PATH": str(release), "CMAKE_TOOLCHAIN_FILE": str(toolchain)}
    compile_project(ROOT / "examples/applications/sample-in-c", folder / "build", settings)
    return folder / "build/sample-in-c"


def build_consumer(release: Path, folder: Path) -> Path:
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(_LISTS, encoding="utf-8")
    shutil.copy(ROOT / "examples/applications/sample-classify/main.cpp", folder)
    compile_project(folder, folder / "build", {"CMAKE_PREFIX_PATH": str(release)})
    return folder / "build" / "consumer"
