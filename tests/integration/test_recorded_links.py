"""A project that Make builds: recorded, trimmed as a program and as a shared object, and run."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import Project, run_megtrim
from unit.places.compile.projects.support import write

pytestmark = [pytest.mark.chain]

FILES = {
    "Makefile": """\
# Of strict C, signal has another name in the C library.
CFLAGS = -O2 -fPIC -std=c99 -D_XOPEN_SOURCE=700
LDLIBS = -lm

all: alone draw taken
alone: main.c libshapes.a
\t$(CC) $(CFLAGS) $^ $(LDLIBS) -o $@
taken: main.c libshapes.a
	$(CC) $(CFLAGS) -DTAKEN $^ $(LDLIBS) -o $@
draw: main.o libshapes.so.1
\t$(CC) $^ $(LDLIBS) -o $@
libshapes.so.1: shapes.o
\techo '$^ -shared' "'-Wl,-soname,$@'" > link.rsp
\t$(CC) @link.rsp -o $@
libshapes.a: shapes.o
\t$(AR) rcsT $@ $^
""",
    "main.c": """\
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
double area(const char *name, double side);
static void give_up(int number) { _Exit(number); }
typedef void (*handler)(int);
int main(int argc, char **argv) {
  if (argc != 2) return 3;
  handler (*install)(int, handler) = signal;
#ifdef TAKEN
  *(void **)&install = dlsym(dlopen(0, RTLD_NOW), "signal");
#endif
  install(SIGSEGV, give_up);
  printf("%s %.3f\\n", argv[1], sqrt(area(argv[1], 3)));
  return 0;
}
""",
    "shapes.c": """\
#include <stdio.h>
#include <string.h>
static __attribute__((noinline)) double square(double side) { return side * side; }
static __attribute__((noinline)) double circle(double side) {
  fprintf(stderr, "a circle of %g\\n", side);
  return side * side * 3.14159;
}
double area(const char *name, double side) {
  return strcmp(name, "circle") ? square(side) : circle(side);
}
double volume(double side) { return square(side) * side; }
""",
}


class Shapes:
    def __init__(self, folder: Path) -> None:
        self.project = Project(folder)
        write(folder / "source", FILES)

    def trim(self, level: str, **keys: object) -> None:
        ended = self.try_to_trim(level, **keys)
        assert ended.rc == 0, ended.stderr

    def try_to_trim(self, level: str, **keys: object) -> CompletedCommand:
        config = self.project.read()
        config["trim"] = {"level": level}
        if keys:
            config["trim"]["exports"] = ["@applications"]
        config["scenarios"] = [{"name": "square", "args": ["square"], **keys}]
        self.project.write(config)
        return self.project.run("trim")

    def read_verdict(self) -> dict[str, Any]:
        text = (self.project.out / "final/verdict.json").read_text(encoding="utf-8")
        verdict: dict[str, Any] = json.loads(text)
        return verdict

    def run(self, program: str, shape: str) -> CompletedCommand:
        """Run what ships, with nothing next to it but what ships with it."""
        alone = self.project.folder / "alone"
        shutil.rmtree(alone, ignore_errors=True)
        shutil.copytree(self.project.out / "final/bin", alone)
        command = Command(argv=(str(alone / program), shape), timeout_s=30, tested=True)
        return ProcessRunner({}).run(command)


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Shapes:
    return Shapes(tmp_path_factory.mktemp("recorded"))


def record(shapes: Shapes, target: str, compiler: str = "gcc") -> CompletedCommand:
    shapes.project.config.unlink(missing_ok=True)
    shutil.rmtree(shapes.project.folder / "megtrim", ignore_errors=True)
    words = ["init", "--record", "--engine", "source"]
    if target:
        words += ["--target", target]
    words += ["--", "make", "-j2", f"CC={compiler}"]
    return run_megtrim(*words, cwd=shapes.project.folder, env={}, timeout_s=300)


def test_a_target_is_chosen(shapes: Shapes) -> None:
    ended = record(shapes, "")

    assert (ended.rc, shapes.project.config.exists()) == (2, False)
    assert "`make -j2 CC=gcc` linked alone, draw, libshapes.so.1, taken" in ended.stderr
    assert sorted(each.name for each in (shapes.project.folder / "source").iterdir()) == sorted(
        FILES
    )


def test_a_program_moves_what_it_does_not_need(shapes: Shapes) -> None:
    """Also static functions of a source that the link itself compiles, and of a thin archive."""
    ended = record(shapes, "alone")
    assert ended.rc == 0, ended.stderr
    written = shapes.project.config.read_text(encoding="utf-8")
    assert len(written.splitlines()) <= 20
    assert yaml.safe_load(written)["engine"]["compiler"] == "gcc"
    shapes.trim("deferred")

    (check,) = [each for each in shapes.read_verdict()["checks"] if each["kind"] == "deferral"]
    assert check["status"] == "pass"
    assert check["text"] == (
        "alone: square@any ran with 2 functions of its own called from the companion file, "
        "2 of them seen; outputs equal to the last bit (1 output, 13 bytes)"
    )
    listed = shapes.project.folder.rglob("megtrim/keepset/**/*.json")
    kept = "".join(path.read_text(encoding="utf-8") for path in listed)
    assert '"square"' in kept
    assert "circle" not in kept
    assert shapes.run("alone", "square").stdout == "square 3.000\n"
    circle = shapes.run("alone", "circle")
    assert (circle.rc, circle.stdout) == (0, "circle 5.317\n")
    assert "a circle of 3" in circle.stderr


def test_a_program_by_a_cross_compiler_defers(tmp_path: Path) -> None:
    """GCC for armhf, whose code is Thumb's, run by qemu."""
    shapes = Shapes(tmp_path)
    ended = record(shapes, "alone", "arm-linux-gnueabihf-gcc")
    assert ended.rc == 0, ended.stderr
    shapes.trim("deferred")

    (check,) = [each for each in shapes.read_verdict()["checks"] if each["kind"] == "deferral"]
    assert check["status"] == "pass"
    program = shapes.project.out / "final/bin/alone"
    argv = ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf", str(program), "circle")
    circle = ProcessRunner({}).run(Command(argv=argv, timeout_s=30, tested=True))
    assert (circle.rc, circle.stdout) == (0, "circle 5.317\n")


def test_a_program_that_takes_the_signal_away_is_no_pass(shapes: Shapes) -> None:
    """Each scenario passes, for none calls what is deferred; all else would end the program."""
    ended = record(shapes, "taken")
    assert ended.rc == 0, ended.stderr
    ended = shapes.try_to_trim("deferred")

    assert ended.rc == 1
    assert "taken: deferred functions do not work in it: square@any passes as it ships" in (
        ended.stderr
    )
    verdict = shapes.read_verdict()
    assert {each["kind"]: each["status"] for each in verdict["checks"]} == {
        "build": "pass",
        "header": "pass",
        "keep-set": "pass",
        "reduce": "pass",
        "trap": "pass",
        "parity": "pass",
        "deferral": "fail",
    }


def test_a_shared_object_traps_without_what_it_does_not_need(shapes: Shapes) -> None:
    """Its link stood in a response file."""
    ended = record(shapes, "libshapes.so.1")
    assert ended.rc == 0, ended.stderr
    assert shapes.project.read()["applications"] == [{"name": "draw"}]
    shapes.trim("function", program="draw")

    assert shapes.run("draw", "square").stdout == "square 3.000\n"
    trapped = shapes.run("draw", "circle")
    assert (trapped.stdout, trapped.rc) in [("", 128 + signal.SIGILL), ("", 128 + signal.SIGTRAP)]
