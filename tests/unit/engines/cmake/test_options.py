"""Which options a tree has: its own files first, what it brings along only when it must."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.engines import checkout
from megtrim.engines.cmake import options as tree_options
from megtrim.engines.cmake.options import SET_BY_MEGTRIM, TreeOptions
from megtrim.errors import InputError
from megtrim.process import ProcessRunner
from unit.engines.support import write

TREE = {
    "CMakeLists.txt": "project(x)\noption(MGE_WITH_JIT x ON)\n"
    "if(CUSTOM_NAME)\nendif()\nfind_package(Threads)\nset(BIN_REDUCE ${PROJECT_SOURCE_DIR}/x)\n"
    "message(${BIN_REDUCE})\n",
    "cmake/cpuinfo.cmake": "\noption(MGE_WITH_CPUINFO x ON)\noption(MGE_WITH_JIT x ON)\n",
    "third_party/json/CMakeLists.txt": "option(JSON_BuildTests x ON)\n",
    "src/text.txt": "option(NOT_CMAKE x ON)\n",
    "src/CMakeLists.txt.in": "option(NOT_CMAKE x ON)\n",
}


@pytest.fixture
def options(processes: ProcessRunner, tmp_path: Path) -> TreeOptions:
    return TreeOptions(checkout.take(write(tmp_path, TREE), processes))


@pytest.mark.parametrize(
    "name",
    [
        *("MGE_WITH_JIT", "MGE_WITH_CPUINFO", "CUSTOM_NAME", "JSON_BuildTests"),
        *("CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS", "ANDROID_STL", "BUILD_SHARED_LIBS"),
        *("BUILD_TESTING", "Threads_ROOT", "Threads_DIR"),
    ],
)
def test_options_that_change_something(options: TreeOptions, name: str) -> None:
    """Declared, asked for, of what the engine brings along, or of CMake and the NDK."""
    assert options.knows(name)


@pytest.mark.parametrize(
    "name",
    [
        *("MGE_WITH_JTI", "MGE_BIN_REDUCE", "BIN_REDUCE", "NOT_CMAKE", "PROJECT", "Other_DIR"),
        *("", "CMAKE_", "XCMAKE_X", "BUILD_SHARED_LIB", "mge_with_jit"),
    ],
)
def test_options_that_no_one_asks_for(options: TreeOptions, name: str) -> None:
    """CMake would take each, and say nothing."""
    assert not options.knows(name)


def test_where_options_are_declared(options: TreeOptions) -> None:
    """By the engine itself; the file that is first by name wins."""
    assert dict(options.declared) == {
        "MGE_WITH_JIT": "CMakeLists.txt:2",
        "MGE_WITH_CPUINFO": "cmake/cpuinfo.cmake:2",
    }


@pytest.mark.parametrize(
    ("wrong", "meant"), [("MGE_WITH_JTI", "MGE_WITH_JIT"), ("WITH_CPUINFO", "MGE_WITH_CPUINFO")]
)
def test_the_closest_option(options: TreeOptions, wrong: str, meant: str) -> None:
    """Of those that are declared."""
    assert options.closest(wrong) == meant
    assert options.closest("ZZZ") == ""


def test_own_options_are_kept_where_they_are_known(options: TreeOptions) -> None:
    """One that is off, or a value, may be left out; one that is switched on may not."""
    own = (("MGE_WITH_JIT", "ON"), ("GOLD", "OFF"), ("CMAKE_X", "3.5"), ("VALUE", "1"))

    assert options.filter_known(own) == (("MGE_WITH_JIT", "ON"), ("CMAKE_X", "3.5"))
    with pytest.raises(InputError) as caught:
        options.filter_known([("GOLD", "ON")])
    assert caught.value.message.endswith("has no CMake option GOLD, which megtrim needs")


def test_a_link_is_not_followed(processes: ProcessRunner, tmp_path: Path) -> None:
    """It may lead to anything, such as a device that never ends."""
    write(tmp_path / "outside", {"x.cmake": "option(OUTSIDE x ON)\n"})
    root = write(tmp_path / "tree", {"CMakeLists.txt": "option(INSIDE x ON)\n"})
    (root / "endless.cmake").symlink_to("/dev/zero")
    (root / "x.cmake").symlink_to(tmp_path / "outside/x.cmake")
    options = TreeOptions(checkout.take(root, processes))

    assert options.knows("INSIDE")
    assert not options.knows("OUTSIDE")


def test_sizes_are_bounded(
    processes: ProcessRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A huge file is passed over; behind the most bytes and the most files nothing is read."""
    files = {f"{name}.cmake": f"option({name} x ON)\n" for name in "ABCDEF"}
    root = write(tmp_path, {**files, "A.cmake": "option(A x ON)\n" + " " * 100})
    taken = checkout.take(root, processes)
    monkeypatch.setattr(tree_options, "_LARGEST_FILE_BYTES", 99)
    assert "A" not in TreeOptions(taken).declared
    monkeypatch.setattr(tree_options, "_MOST_BYTES", 50)
    assert set(TreeOptions(taken).declared) == {"B", "C", "D"}
    monkeypatch.setattr(tree_options, "_MOST_FILES", 3)
    assert set(TreeOptions(taken).declared) == {"B", "C"}


def test_what_megtrim_sets_is_said_with_its_place() -> None:
    """Every one of them distinguishes the variants."""
    assert set(SET_BY_MEGTRIM) == {
        *("CMAKE_TOOLCHAIN_FILE", "MGE_BIN_REDUCE"),
        *("CMAKE_PROJECT_MegEngine_INCLUDE", "CMAKE_PROJECT_sample_engine_INCLUDE"),
        *("MGE_WITH_MIDOUT_PROFILE", "MGE_WITH_MINIMUM_SIZE"),
    }
