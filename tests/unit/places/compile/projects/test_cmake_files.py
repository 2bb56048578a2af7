import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import SourceOptions
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.places.compile.projects.cmake import build_records
from megtrim.places.compile.projects.cmake.build_records import TranslationUnit, prove
from megtrim.places.compile.projects.cmake.toolchain_file import option_name, render, render_sources
from unit.places.compile.projects.support import TOOLCHAIN

BUILD = Path("/out/build")
HEADER = Path("/out/src/src/bin_reduce_cmake.h")
MIDOUT = Path("/out/include/midout.h")
INCLUDE = f"-include {HEADER}"
BOTH = (("dir/a.o", INCLUDE), ("b.o", INCLUDE))
OPENED = (("dir/a.o", (str(HEADER), "../src/a.cpp", str(MIDOUT))), ("b.o", (str(HEADER),)))


def test_units_are_found_by_their_objects() -> None:
    """CMake 3.25 names no output: it is then read from the command."""
    new = {"file": "/src/a.cpp", "command": "c++ -c /src/a.cpp", "output": "CMakeFiles/a.o"}
    old = {"file": "../src/b.cpp", "command": "c++ -o 'my b.o' -c ../src/b.cpp"}

    assert build_records.parse_units(json.dumps([new, old]), BUILD) == {
        BUILD / "CMakeFiles/a.o": TranslationUnit(
            source=Path("/src/a.cpp"), command=new["command"]
        ),
        BUILD / "my b.o": TranslationUnit(source=Path("/out/src/b.cpp"), command=old["command"]),
    }


def test_dependencies_are_found_by_object() -> None:
    text = (
        "a.o: #deps 2, deps mtime 1 (VALID)\n"
        "    /src/a.cpp\n"
        "    ../src/./a.h\n"
        "\n"
        "b.o: #deps 0, deps mtime 1 (VALID)\n"
    )

    assert build_records.parse_dependencies(text, BUILD) == {
        BUILD / "a.o": frozenset({Path("/src/a.cpp"), Path("/out/src/a.h")}),
        BUILD / "b.o": frozenset(),
    }
    assert build_records.parse_dependencies("", BUILD) == {}


def record(build: Path, *rows: str) -> None:
    lines = "".join(f"{row}\tcafe\n" for row in rows)
    (build / ".ninja_log").write_text(f"# ninja log v7\n{lines}5\t6\n", encoding="utf-8")


def test_what_was_made_again_was_compiled(tmp_path: Path) -> None:
    build = tmp_path / "build"
    source = tmp_path / "src"
    build.mkdir()
    generated = f"{build}/generated.cpp"
    files = {"a.o": "../src/dnn/a.cpp", "b.o": "../src/b.cpp", "c.o": generated}
    commands = [{"command": f"c++ -o {out}", "file": file} for out, file in files.items()]
    (build / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
    first = ("0\t9\t1\ta.o", "0\t9\t1\tb.o", "0\t9\t1\tc.o", "0\t9\t1\tprogram")

    assert build_records.read_steps(build) == {}
    record(build, *first)
    before = build_records.read_steps(build)
    record(build, *first, "0\t9\t2\ta.o", "0\t9\t2\tprogram")

    assert build_records.list_compiled(build, before, source=source) == ("dnn/a.cpp",)
    everything = build_records.list_compiled(build, {}, source=source)
    assert everything == (generated, "b.cpp", "dnn/a.cpp")


def commands(*units: tuple[str, str]) -> str:
    return json.dumps(
        [
            {
                "directory": str(BUILD),
                "command": f'/usr/bin/c++ -DX=\\"a\\" {flags} -o {output} -c /s/{output}.cpp',
                "file": f"/s/{output}.cpp",
                "output": output,
            }
            for output, flags in units
        ]
    )


def dependencies(*units: tuple[str, tuple[str, ...]]) -> str:
    return "".join(
        f"{output}: #deps {len(files)}, deps mtime 1700000000 (VALID)\n"
        + "".join(f"    {file}\n" for file in files)
        + "\n"
        for output, files in units
    )


def check(compiled: str, opened: str, *, midout: Path | None = MIDOUT) -> int:
    return prove(compiled, opened, header=HEADER, marks=midout, build=BUILD)


@pytest.mark.parametrize(
    ("compiled", "opened", "midout", "units"),
    [
        # What was not compiled does not count.
        (commands(*BOTH, ("not_built.o", "")), dependencies(*OPENED), MIDOUT, 2),
        # CMake 3.25 names no object but in the command itself.
        (
            json.dumps(
                [{k: v for k, v in e.items() if k != "output"} for e in json.loads(commands(*BOTH))]
            ),
            dependencies(*OPENED),
            MIDOUT,
            2,
        ),
        # Without a last empty line.
        (commands(*BOTH), dependencies(*OPENED).rstrip("\n"), MIDOUT, 2),
        # In the upstream layout the engine keeps its own midout.h.
        (
            commands(("a.o", INCLUDE)),
            dependencies(("a.o", (str(HEADER), "/e/third_party/midout/src/midout.h"))),
            None,
            1,
        ),
        # A compiler cache writes paths of its own.
        *(
            (commands(("a.o", INCLUDE)), dependencies(("a.o", (spelling,))), MIDOUT, 1)
            for spelling in (
                "../include/midout.h",
                "./../include/../include/midout.h",
                "/out/build/../include/midout.h",
            )
        ),
    ],
    ids=["counted", "no objects", "no last line", "upstream", "cache", "dots", "absolute"],
)
def test_every_unit_has_seen_the_header(
    compiled: str, opened: str, midout: Path | None, units: int
) -> None:
    assert check(compiled, opened, midout=midout) == units


def test_a_unit_without_the_header_is_named() -> None:
    compiled = commands(("a.o", INCLUDE), ("dir/b.o", "-include /other/bin_reduce_cmake.h"))
    opened = dependencies(("a.o", (str(MIDOUT),)), ("dir/b.o", (str(MIDOUT),)))

    with pytest.raises(ProductFailure) as caught:
        check(compiled, opened)

    assert caught.value.message == "1 of 2 translation units do not include the header"
    assert caught.value.hint == f"the first without {HEADER} is {BUILD}/dir/b.o"


@pytest.mark.parametrize(
    ("compiled", "opened", "message"),
    [
        *(
            ([("a.o", flags)], dependencies(("a.o", (str(MIDOUT),))), "1 of 1 translation units do")
            for flags in ("", f"-I{HEADER}", f"-include-pch {HEADER}", "-include")
        ),
        *(
            ([("a.o", INCLUDE)], opened, "0 of 0 translation units do not include the header")
            for opened in ("", dependencies(("flatc/x.o", ("/x.h",))))
        ),
        (
            [("a.o", INCLUDE)],
            dependencies(("a.o", (str(HEADER), "/e/src/midout_v2.h"))),
            r"none of 1 .* opened the generated midout\.h",
        ),
    ],
)
def test_only_a_forced_header_that_is_opened_is_a_proof(
    compiled: list[tuple[str, str]], opened: str, message: str
) -> None:
    with pytest.raises(ProductFailure, match=message):
        check(commands(*compiled), opened)


@pytest.mark.parametrize(
    "stranger", ["/usr/include/midout.h", "../src/third_party/midout/src/midout.h"]
)
def test_another_midout_is_refused(stranger: str) -> None:
    opened = dependencies(("a.o", (str(MIDOUT), stranger)), ("b.o", (str(MIDOUT),)))

    with pytest.raises(ProductFailure) as caught:
        check(commands(("a.o", INCLUDE), ("b.o", INCLUDE)), opened)

    assert caught.value.message == (
        "1 translation units opened another midout.h than the generated one"
    )
    assert caught.value.hint == (
        f"the first is {BUILD}/a.o; "
        "was it compiled before that header existed? clear ccache, and use a new --out"
    )


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

    for absent in ("iquote", "ARG1", "CMAKE_AR "):
        assert absent not in text
    assert 'set(CMAKE_CXX_COMPILER "/bin/c++")\n' in text
    # No path of this machine is in it but the compilers'.
    assert text.count("/bin/") == 2

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
