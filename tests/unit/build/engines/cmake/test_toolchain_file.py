import re
from dataclasses import replace

import pytest

from megtrim.build.engines.cmake.toolchain_file import option_name, render, render_sources
from megtrim.build_spec import SourceOptions
from megtrim.util.errors import InputError
from unit.build.engines.support import TOOLCHAIN

WANTED = SourceOptions(options=("-Oz",), fast=("-fsums", "-ffused"), outside=("src/a+b", "k"))


def test_the_whole_text() -> None:
    toolchain = replace(
        TOOLCHAIN,
        c_compiler=("/z/zig", "cc"),
        cxx_compiler=("/z/zig", "c++"),
        compile_flags=("-target", "aarch64-linux-musl"),
        link_flags=("-static", "-s"),
        archiver="/b/llvm-ar",
        ranlib="/b/llvm-ranlib",
    )

    text = render(toolchain, quoted_include=True, link_flags=("-Wl,--icf=all",))

    assert text == (
        "# Written by megtrim: the toolchain that was found.\n"
        "set(CMAKE_FIND_USE_PACKAGE_REGISTRY OFF)\n"
        "set(CMAKE_SYSTEM_NAME Linux)\n"
        "set(CMAKE_SYSTEM_PROCESSOR aarch64)\n"
        "set(ARM_CROSS_BUILD_ARCH aarch64)\n"
        'set(CMAKE_C_COMPILER "/z/zig")\n'
        'set(CMAKE_C_COMPILER_ARG1 "cc")\n'
        'set(CMAKE_CXX_COMPILER "/z/zig")\n'
        'set(CMAKE_CXX_COMPILER_ARG1 "c++")\n'
        'set(CMAKE_AR "/b/llvm-ar")\n'
        'set(CMAKE_RANLIB "/b/llvm-ranlib")\n'
        'set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -s -Wl,--icf=all")\n'
        'set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static -s -Wl,--icf=all")\n'
        'set(CMAKE_C_FLAGS_INIT "-target aarch64-linux-musl")\n'
        'set(CMAKE_CXX_FLAGS_INIT "-target aarch64-linux-musl")\n'
        'get_filename_component(MEGTRIM_TREE "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)\n'
        'add_compile_options("-g0")\n'
        'add_compile_options("-ffile-prefix-map=${MEGTRIM_TREE}/src=.")\n'
        'add_compile_options("-ffile-prefix-map=../src=.")\n'
        'add_compile_options("-ffile-prefix-map=${MEGTRIM_TREE}/build/=")\n'
        'add_compile_options("SHELL:-iquote ${MEGTRIM_TREE}/include")\n'
    )


def test_a_plain_build_has_no_include_folder_of_ours() -> None:
    text = render(TOOLCHAIN, quoted_include=False)

    assert "iquote" not in text
    assert "ARG1" not in text
    assert "CMAKE_AR " not in text
    assert 'set(CMAKE_CXX_COMPILER "/bin/c++")\n' in text


def test_no_path_of_this_machine_is_in_it_but_the_compilers() -> None:
    assert render(TOOLCHAIN, quoted_include=True).count("/bin/") == 2


def test_an_ndk_is_left_to_its_own_file() -> None:
    toolchain = replace(
        TOOLCHAIN,
        link_flags=("-Wl,--build-id=none",),
        includes="/ndk/build/cmake/android.toolchain.cmake",
        settings=(("ANDROID_ABI", "arm64-v8a"), ("ANDROID_PLATFORM", "android-23")),
    )

    text = render(toolchain, quoted_include=False, compile_flags=("-O0",), link_flags=("-Wl,-x",))

    assert text == (
        "# Written by megtrim: the toolchain that was found.\n"
        "set(CMAKE_FIND_USE_PACKAGE_REGISTRY OFF)\n"
        'set(ANDROID_ABI "arm64-v8a")\n'
        'set(ANDROID_PLATFORM "android-23")\n'
        'include("/ndk/build/cmake/android.toolchain.cmake")\n'
        'add_link_options("-Wl,--build-id=none")\n'
        'add_link_options("-Wl,-x")\n'
        'get_filename_component(MEGTRIM_TREE "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)\n'
        'add_compile_options("-g0")\n'
        'add_compile_options("-ffile-prefix-map=${MEGTRIM_TREE}/src=.")\n'
        'add_compile_options("-ffile-prefix-map=../src=.")\n'
        'add_compile_options("-ffile-prefix-map=${MEGTRIM_TREE}/build/=")\n'
        'add_compile_options("-O0")\n'
    )


def test_an_application_names_the_files_of_the_engine_without_its_place() -> None:
    text = render(TOOLCHAIN, quoted_include=False, engine_tree="../..")

    assert 'get_filename_component(MEGTRIM_ENGINE_TREE "${MEGTRIM_TREE}/../.." ABSOLUTE)\n' in text
    assert [line for line in text.splitlines() if "=engine" in line] == [
        'add_compile_options("-ffile-prefix-map=${MEGTRIM_ENGINE_TREE}/src=engine")',
        'add_compile_options("-ffile-prefix-map=../../../src=engine")',
        'add_compile_options("-ffile-prefix-map=${MEGTRIM_ENGINE_TREE}/build=engine/build")',
        'add_compile_options("-ffile-prefix-map=../../../build=engine/build")',
    ]


@pytest.mark.parametrize(
    ("lists", "name"),
    [
        ("project(MegEngine LANGUAGES C)", "CMAKE_PROJECT_MegEngine_INCLUDE"),
        ("# project(no)\nproject(\n  sample_engine\n  C)", "CMAKE_PROJECT_sample_engine_INCLUDE"),
    ],
)
def test_the_entry_is_the_projects_own(lists: str, name: str) -> None:
    """So a CMAKE_PROJECT_INCLUDE of the user's stays in force."""
    assert option_name(lists, root="tree") == name


@pytest.mark.parametrize("lists", ["", "message(project)", "project(${NAME})", "project()"])
def test_a_tree_without_a_plain_project_is_refused(lists: str) -> None:
    with pytest.raises(InputError, match=r"tree/CMakeLists\.txt has no project\(\)"):
        option_name(lists, root="tree")


@pytest.mark.parametrize("folder", ['a"b', "a;b", "a b", "a)b", "", "a$b"])
def test_a_folder_that_cmake_would_read_otherwise_is_refused(folder: str) -> None:
    with pytest.raises(InputError, match="CMake cannot match"):
        render_sources(SourceOptions(options=("-Oz",), fast=(), outside=(folder,)))


def test_the_text_holds_together() -> None:
    text = render_sources(WANTED)

    assert "@" not in text
    for block in ("function", "foreach", "if"):
        assert len(re.findall(rf"^ *{block}\(", text, re.M)) == text.count(f"end{block}(")
