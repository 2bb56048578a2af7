from __future__ import annotations

import json
from pathlib import Path

from megtrim.build.engines.cmake import build_records
from megtrim.build.engines.cmake.build_records import TranslationUnit

BUILD = Path("/out/build")


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
    build, source = tmp_path / "build", tmp_path / "src"
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
