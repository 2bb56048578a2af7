from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import Linkage, Variant
from megtrim.core.config.model import EngineConfig
from megtrim.engines.cmake import CMakeProject
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from unit.places.compile.projects.support import TOOLCHAIN


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("CMakeLists.txt", "build/cmake/CMakeLists.txt", "lib/zstd.h", "include/a.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def open_project(source: Path, target: str = "tool", **keys: Any) -> CMakeProject:
    project = CMakeProject(source, ProcessRunner({}))
    asked = {"kind": "cmake", "target": target, **keys}
    project.choose(EngineConfig.model_validate(asked))
    return project


def test_a_folder_of_its_own_is_built_with_sections(source: Path) -> None:
    project = open_project(source, folder="build/cmake")
    made = project.make_spec(
        Variant.PLAIN, TOOLCHAIN, targets=("tool",), minimum_size=True, header={}
    )

    assert made.folder == "build/cmake"
    assert made.compile_flags == ("-ffunction-sections", "-fdata-sections")
    assert dict(made.options) == {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_POLICY_VERSION_MINIMUM": "3.5",  # without it, CMake 4 refuses old projects
    }


def test_a_program_finds_the_library_next_to_itself(source: Path) -> None:
    made = open_project(source, "libtool.so").make_spec(
        Variant.PLAIN, TOOLCHAIN, targets=("tool",), minimum_size=True, header={}
    )

    assert dict(made.options)["CMAKE_INSTALL_RPATH"] == "$ORIGIN"


@pytest.mark.parametrize(
    ("target", "linkage", "include"),
    [
        ("libtool.so", Linkage.SHARED, {}),
        ("libtool.a", Linkage.STATIC, {"include": ["lib", "include"]}),
    ],
)
def test_a_library_is_its_target(
    source: Path, target: str, linkage: Linkage, include: dict[str, list[str]]
) -> None:
    found = open_project(source, target, **include).library(linkage, TOOLCHAIN)

    assert (found.file, found.linkage, found.whole) == (target, linkage, False)
    assert found.include == tuple(include.get("include", ["include"]))


def test_a_program_is_no_library(source: Path) -> None:
    with pytest.raises(InputError, match=r"found the target tool, expected a library") as caught:
        open_project(source).library(Linkage.SHARED, TOOLCHAIN)
    assert "engine.target: libtool.so" in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"folder": "lib"}, "has no lib/CMakeLists.txt, so it is no CMake project"),
        ({"include": ["src"]}, "has no folder src, which engine.include names"),
    ],
)
def test_a_wrong_folder_is_named(source: Path, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_project(source, **keys)
