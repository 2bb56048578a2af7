"""A library trimmed to what one scenario asks returns an error for all else, and goes on."""

import json
from pathlib import Path

import pytest
import yaml

from integration.sample_builds import run, write_application_lists
from megtrim.libs.util.process import CompletedCommand
from support.megtrim_cli import run_megtrim

pytestmark = [pytest.mark.chain]

LARGEST_GUARDS_BYTES = 6 * 1024
LIBRARY = """\
cmake_minimum_required(VERSION 3.15)
project(shapes C)
add_library(shapes SHARED shapes.c)
target_include_directories(shapes PUBLIC include)
"""
HEADER = """\
typedef struct shape shape;
shape* shapes_open(const char* kind);
int shapes_area(shape* of, int size);
int shapes_close(shape* of);
int shapes_edges(const char* kind);
"""
SOURCE = """\
#include "include/shapes.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct shape { int (*area)(int size); };
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
static __attribute__((noinline)) int square_area(int size) { return size * size; }
static __attribute__((noinline)) int circle_area(int size) {
  int sum = 0;
  for (int x = -size; x <= size; ++x)
    for (int y = -size; y <= size; ++y) sum += x * x + y * y <= size * size;
  return sum;
}
__attribute__((noinline, visibility("hidden"))) void shapes_fail(const char* format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  abort();
}
shape* shapes_open(const char* kind) {
  if (strlen(kind) > 9) shapes_fail("a kind of %d letters: %s", (int)strlen(kind), kind);
  shape* made = malloc(sizeof *made);
  made->area = strcmp(kind, "square") ? circle_area : square_area;
  return made;
}
int shapes_area(shape* of, int size) {
  pthread_mutex_lock(&all);
  int area = of->area(size);
  pthread_mutex_unlock(&all);
  return area;
}
int shapes_close(shape* of) {
  free(of);
  return 0;
}
int shapes_edges(const char* kind) {
  return kind[0] == 'c' ? 0 : 4 - (kind[0] == 't');
}
"""
PROGRAM = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "shapes.h"
int main(int count, char** words) {
  const char* (*missing)(void) = (const char* (*)(void))dlsym(RTLD_DEFAULT, "megtrim_missing");
  for (int at = 1; at + 1 < count; at += 2) {
    shape* of = shapes_open(words[at]);
    if (!of) {
      printf("%s: %s\\n", words[at], missing ? missing() : "");
      continue;
    }
    int area = shapes_area(of, atoi(words[at + 1]));
    if (area < 0) printf("%s: this build has no %s\\n", words[at], missing ? missing() : "");
    else printf("%s: %d\\n", words[at], area);
    shapes_close(of);
  }
  return 0;
}
"""
ERRORS = [
    {"exports": "shapes_open", "returns": 0},
    {"exports": "shapes_*", "returns": -1, "handle": 1},
]
REFUSALS = [{"function": "shapes_fail", "format": 1}]
CONFIG = {
    "version": 1,
    "engine": {"kind": "cmake", "source": "shapes", "target": "libshapes.so"},
    "toolchain": {"kind": "host"},
    "applications": [{"name": "ask", "source": "ask"}],
    "scenarios": [{"name": "square", "program": "ask", "args": ["square", "3"]}],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("missing")
    files = {
        "shapes/CMakeLists.txt": LIBRARY,
        "shapes/include/shapes.h": HEADER,
        "shapes/shapes.c": SOURCE,
        "ask/CMakeLists.txt": write_application_lists("ask", "ask.c"),
        "ask/ask.c": PROGRAM,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def trim(project: Path, **keys: object) -> CompletedCommand:
    config = CONFIG | {"trim": {"level": "function", **keys}}
    (project / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return run_megtrim("trim", "--accept", cwd=project)


def test_a_library_returns_an_error_for_what_was_left_out(project: Path) -> None:
    trapping = trim(project)
    final = project / "megtrim-out/final"
    library = final / "bin/libshapes.so"
    without_guards = library.stat().st_size
    warned = json.loads((final / "verdict.json").read_text(encoding="utf-8"))["warnings"]
    unlisted = trim(project, on_missing="error", errors=ERRORS[:1])
    unknown = [{"function": "shapes_fails", "format": 1}]
    refused = trim(project, on_missing="error", errors=ERRORS, refusals=unknown)
    ended = trim(project, on_missing="error", errors=ERRORS, refusals=REFUSALS)
    verdict = json.loads((final / "verdict.json").read_text(encoding="utf-8"))
    asked = ("circle", "2", "square", "3", "parallelogram", "4", "square", "5")
    env = {"LD_LIBRARY_PATH": str(library.parent)}
    used = run(str(final / "bin/ask"), *asked, env=env)

    assert trapping.rc == 0, trapping.stdout + trapping.stderr
    (hint,) = (each for each in warned if "exports" in each)
    assert "libshapes.so exports 1 function that no program of a scenario imports" in hint
    assert hint.endswith("set trim.exports: ['@applications']")
    assert (trapping.stdout + trapping.stderr).count(hint) == 1
    assert unlisted.rc == 2
    assert "shapes_area" in unlisted.stderr
    assert "trim.errors does not say what these exports return" in unlisted.stderr
    assert refused.rc == 2
    assert "trim.refusals[0]: libshapes.so calls and has no function like" in refused.stderr
    assert ended.rc == 0, ended.stdout + ended.stderr
    assert verdict["verdict"] == "pass"
    said = [check["text"] for check in verdict["checks"]]
    assert any("calls of 4 exports that reach the others return an error" in each for each in said)
    lines = (
        "circle: this build has no circle_area",
        "square: 9",
        "parallelogram: refused by shapes_fail: a kind of 13 letters: parallelogram",
        "square: 25",
    )
    assert (used.rc, used.stdout.splitlines()) == (0, [*lines])
    assert library.stat().st_size - without_guards <= LARGEST_GUARDS_BYTES


def test_the_verdict_names_what_a_scenario_lacked(project: Path) -> None:
    """The program lives on, so that nothing but its outputs shows that a call returned an error."""
    made = trim(project, on_missing="error", errors=ERRORS)
    (listed,) = (project / "megtrim/keepset").glob("square@*.json")
    text = listed.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines(keepends=True) if "function square_area" not in line]
    # A function that runs in no scenario, so that the list is not empty.
    lines[-2:-2] = [' "function circle_area": ["square@any"],\n']
    listed.write_text("".join(lines), encoding="utf-8")
    lacking = run_megtrim("trim", "--committed", cwd=project)

    assert made.rc == 0, made.stdout + made.stderr
    assert lacking.rc == 1, lacking.stdout + lacking.stderr
    said = "a call returned an error: the function square_area is not kept, because the committed"
    assert said in lacking.stdout + lacking.stderr
