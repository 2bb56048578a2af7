"""Reading what CMake and Ninja recorded of a build."""

from __future__ import annotations

import json
from pathlib import Path

from megtrim.engines.cmake import build_records
from megtrim.engines.cmake.build_records import TranslationUnit

BUILD = Path("/out/build")


def test_units_are_found_by_their_objects() -> None:
    """CMake 3.25 names no output: it is then read from the command."""
    new = {"file": "/src/a.cpp", "command": "c++ -c /src/a.cpp", "output": "CMakeFiles/a.o"}
    old = {"file": "../src/b.cpp", "command": "c++ -o 'my b.o' -c ../src/b.cpp"}

    assert build_records.units(json.dumps([new, old]), BUILD) == {
        BUILD / "CMakeFiles/a.o": TranslationUnit(
            source=Path("/src/a.cpp"), command=new["command"]
        ),
        BUILD / "my b.o": TranslationUnit(source=Path("/out/src/b.cpp"), command=old["command"]),
    }


def test_dependencies_are_found_by_object() -> None:
    """Relative paths are those of a compiler cache, and of files that the build made."""
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


def test_the_last_step_of_a_file_counts() -> None:
    """What was made again has another record; the heading and cut-off lines are none."""
    log = "# ninja log v5\n1\t2\t10\ta.o\tff\n3\t4\t20\ta.o\tee\n1\t2\t10\tb.o\tdd\n5\t6\n"

    assert build_records.steps(log, BUILD) == {
        BUILD / "a.o": "3\t4\t20\ta.o\tee",
        BUILD / "b.o": "1\t2\t10\tb.o\tdd",
    }
