"""The tests of a project, run with the trimmed file in the place of the one that it built."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.megtrim_cli import run_megtrim
from unit.places.compile.projects.support import write

pytestmark = [pytest.mark.chain]

FILES = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.15)
project(shapes C)
enable_testing()
add_library(static STATIC shapes.c)
add_executable(draw main.c)
target_link_libraries(draw static)
add_library(side SHARED side.c)
set_target_properties(side PROPERTIES LIBRARY_OUTPUT_DIRECTORY lib)
add_executable(alone test.c)
target_link_libraries(alone static side)
add_test(NAME square COMMAND sh -c "test `$<TARGET_FILE:draw> square` = 9")
add_test(NAME circle.3+ COMMAND sh -c "test `$<TARGET_FILE:draw> circle 2>&1` = 27")
add_test(NAME wrong COMMAND draw nothing)
add_test(NAME linked COMMAND alone)
add_test(NAME broken COMMAND false)
""",
    "main.c": """\
#include <stdio.h>
int area(const char *name, int side);
int main(int argc, char **argv) {
  int found = argc == 2 ? area(argv[1], 3) : 0;
  printf("%d\\n", found);
  return found == 0;
}
""",
    "test.c": """\
int area(const char *name, int side);
int side(void);
int main(void) { return area("square", side()) != 9; }
""",
    "side.c": "int side(void) { return 3; }\n",
    "shapes.c": """\
#include <string.h>
static __attribute__((noinline)) int square(int side) { return side * side; }
static __attribute__((noinline)) int circle(int side) { return side * side * 3; }
int area(const char *name, int side) {
  if (!strcmp(name, "square")) return square(side);
  return strcmp(name, "circle") ? 0 : circle(side);
}
""",
}
MAKEFILE = """\
all: bin/draw staged
$(HOME)/obj/draw: main.c shapes.c
\tmkdir -p $(HOME)/obj && $(CC) -O1 main.c shapes.c -o $@
bin/draw: $(HOME)/obj/draw
\tmkdir -p bin && cp $< $@
staged: $(HOME)/obj/draw
\tmkdir -p $(HOME)/staged && strip -o $(HOME)/staged/draw $< && ln -s $(HOME)/staged staged
"""
"""No test starts the file that is linked, which is below HOME as with Bazel, and so is a copy."""
MESON = """\
project('shapes', 'c')
draw = executable('draw', 'main.c', 'shapes.c')
side = shared_library('side', 'side.c')
alone = executable('alone', 'test.c', 'shapes.c', link_with: side)
test('square', draw, args: ['square'], suite: ['quick', 'all'])
test('circle [3]*', draw, args: ['circle'], suite: 'quick')
test('wrong', draw, args: ['nothing'], suite: 'quick')
test('linked', alone, suite: 'quick')
test('slow', draw, args: ['square'], suite: 'slow')
"""
CONFIG = {
    "version": 1,
    "engine": {"kind": "cmake", "source": "source", "target": "draw"},
    "toolchain": {"kind": "host"},
    "scenarios": [{"name": "square", "args": ["square"]}],
    "tests": {"build": [["ninja"]], "commands": [["ctest"]]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own-tests")
    write(folder / "source", FILES)
    return folder


def trim(folder: Path, level: str, **tests: object) -> tuple[int, dict[str, Any]]:
    """Return the exit status, and the check of the tests."""
    config = CONFIG | {"trim": {"level": level}}
    config["tests"] = {"build": [["ninja"]], "commands": [["ctest"]], **tests}
    (folder / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    ended = run_megtrim("trim", "--accept", cwd=folder)
    return ended.rc, read_check(folder)


def read_check(folder: Path) -> dict[str, Any]:
    text = (folder / "megtrim-out/final/verdict.json").read_text(encoding="utf-8")
    checks: list[dict[str, Any]] = json.loads(text)["checks"]
    (check,) = [each for each in checks if each["kind"] == "tests"]
    return check


def test_each_test_passes_with_the_second_file_and_traps_without_it(folder: Path) -> None:
    rc, check = trim(folder, "deferred")

    assert (rc, check["status"]) == (0, "pass")
    assert check["text"] == (
        "2 of 3 tests load draw: with the companion file 2 pass; without it 1 pass, 1 trap"
    )
    assert check["detail"] == (
        "circle.3+: it trapped: the function circle is not kept\n"
        "these do not load draw, and do not count: linked"
    )


def test_what_a_test_needs_traps_in_a_program_without_it(folder: Path) -> None:
    rc, check = trim(folder, "function")

    assert (rc, check["status"]) == (0, "pass")
    assert check["text"] == "2 of 3 tests load draw: 1 pass, 1 trap"


def test_what_the_tests_reach_is_kept(folder: Path) -> None:
    rc, check = trim(folder, "function", keep=True)

    assert (rc, check["status"]) == (0, "pass")
    assert check["text"] == "2 of 3 tests load draw: 2 pass"
    kept = run_megtrim("explain", "circle", cwd=folder)
    assert "circle.3@tests" in kept.stdout
    assert "square@any" not in kept.stdout


def test_a_test_that_leaves_no_record_is_named(folder: Path) -> None:
    alone = ["env", "-i", "./draw", "circle"]
    rc, check = trim(folder, "function", keep=True, commands=[["./draw", "square"], alone])

    assert (rc, check["status"]) == (1, "fail")
    assert check["text"] == "2 of 2 tests load draw: 1 pass, 1 fail"
    assert check["hint"] == (
        "env -i ./draw circle fails, and it left no record of its functions: does it clear its "
        "environment?"
    )


def test_a_suite_that_links_the_library_shows_nothing(folder: Path) -> None:
    _, check = trim(folder, "function", commands=[["./alone"]])

    assert check["status"] == "inconclusive"
    assert check["text"] == (
        "none of 1 test that pass with the plain file load draw, so they show nothing of it"
    )


def test_tests_that_start_copies_count(tmp_path: Path) -> None:
    write(tmp_path / "source", {**FILES, "Makefile": MAKEFILE})
    quiet = ["sh", "-c", "test `bin/draw circle 2> /dev/null` = 27"]
    config = CONFIG | {
        "engine": {
            "kind": "link",
            "source": "source",
            "target": "draw",
            "build": [["make", "CC=gcc"]],
        },
        "trim": {"level": "function"},
        "tests": {"commands": [["bin/draw", "square"], ["staged/draw", "square"], quiet]},
    }
    del config["toolchain"]
    (tmp_path / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    ended = run_megtrim("trim", "--accept", cwd=tmp_path)

    assert ended.rc == 0, ended.stderr
    check = read_check(tmp_path)
    assert check["text"] == "3 of 3 tests load draw: 2 pass, 1 trap"
    assert check["detail"].endswith(": it trapped: the function circle is not kept")
    places = (tmp_path / "megtrim-out/work").rglob("draw")
    sizes = {path.parent.name: path.stat().st_size for path in places if path.is_file()}
    assert sizes["bin"] == sizes["obj"] > sizes["staged"] > 0


def test_a_test_that_ends_otherwise_is_a_failure(folder: Path) -> None:
    differs = ["sh", "-c", "./draw square && test `stat -c %Y draw` -gt 0"]
    rc, check = trim(folder, "function", commands=[differs])

    assert (rc, check["status"]) == (1, "fail")
    assert check["text"] == "1 of 1 test load draw: 0 pass, 1 fail"
    assert "with the trimmed file, it ended with 1" in check["detail"]
    (own,) = (folder / "megtrim-out/work").glob("*-plain/build/draw")
    assert own.stat().st_mtime > 0


def test_tests_of_meson_count_one_by_one(tmp_path: Path) -> None:
    write(tmp_path / "source", {**FILES, "meson.build": MESON})
    config = CONFIG | {
        "engine": {
            "kind": "link",
            "source": "source",
            "target": "draw",
            "compiler": "gcc",
            "build": [["meson", "setup", "out"], ["ninja", "-C", "out"]],
        },
        "trim": {"level": "function"},
        "tests": {"commands": [["meson", "test", "-C", "out", "--suite", "quick"]]},
    }
    del config["toolchain"]
    (tmp_path / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    ended = run_megtrim("trim", "--accept", cwd=tmp_path)

    assert ended.rc == 0, ended.stderr
    check = read_check(tmp_path)
    assert check["text"] == "2 of 3 tests load draw: 1 pass, 1 trap"
    assert check["detail"] == (
        "circle [3]*: it trapped: the function circle is not kept\n"
        "these do not load draw, and do not count: linked"
    )
