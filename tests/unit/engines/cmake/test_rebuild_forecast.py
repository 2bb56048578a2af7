"""Which sources a build will compile and which it compiled, by the records in its work tree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from megtrim.engines.cmake import rebuild_forecast
from megtrim.engines.cmake.driver import WorkTree
from megtrim.process import ProcessRunner

LOG = "# ninja log v7\n"
OPENED = {
    "a.o": ("../src/dnn/a.cpp", "../include/megtrim/tags/one.h"),
    "b.o": ("../src/dnn/b.cpp", "../src/dnn/b.h", "../include/megtrim/tags/one.h"),
    "c.o": ("../src/c.cpp", "../include/megtrim/tags/two.h"),
}


class Ninja(ProcessRunner):
    """Answers what the build tool would say of its dependencies."""

    def build_tool(self, name: str) -> str:
        return name

    def capture(self, *argv: str, cwd: Path | None = None, timeout_s: float = 60.0) -> str:
        assert (argv[0], argv[3:]) == ("ninja", ("-t", "deps"))
        return "".join(
            f"{output}: #deps {len(files)}, deps mtime 1 (VALID)\n"
            + "".join(f"    {file}\n" for file in files)
            + "\n"
            for output, files in OPENED.items()
        )


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    """A tree that was built once."""
    tree = WorkTree(root=tmp_path)
    tree.build.mkdir()
    (tree.build / "compile_commands.json").write_text(
        json.dumps(
            [
                {"command": f"c++ -o {output}", "file": str(tree.build / source), "output": output}
                for output, (source, *_) in OPENED.items()
            ]
        ),
        encoding="utf-8",
    )
    (tree.build / ".ninja_deps").write_bytes(b"")
    log(tree, ("a.o", 1), ("b.o", 1), ("c.o", 1), ("program", 1))
    return tree


def log(tree: WorkTree, *steps: tuple[str, int]) -> None:
    """Write Ninja's log: each file and when it was made."""
    lines = "".join(f"0\t9\t{made}\t{output}\tcafe\n" for output, made in steps)
    (tree.build / ".ninja_log").write_text(LOG + lines, encoding="utf-8")


def predict(tree: WorkTree, changed: Sequence[str]) -> tuple[str, ...] | None:
    return rebuild_forecast.predict_sources(tree, [tree.root / name for name in changed], Ninja({}))


@pytest.mark.parametrize(
    ("changed", "sources"),
    [
        (["include/megtrim/tags/two.h"], ("src/c.cpp",)),
        (["include/megtrim/tags/one.h"], ("src/dnn/a.cpp", "src/dnn/b.cpp")),
        (["src/dnn/b.h", "src/c.cpp"], ("src/c.cpp", "src/dnn/b.cpp")),
        (["include/megtrim/tags/unknown.h"], ()),
        ([], ()),
    ],
)
def test_what_depends_on_a_changed_file_is_compiled(
    tree: WorkTree, changed: list[str], sources: tuple[str, ...]
) -> None:
    """By what each unit opened when it was compiled last."""
    assert predict(tree, changed) == tuple(name.removeprefix("src/") for name in sources)


@pytest.mark.parametrize("record", ["compile_commands.json", ".ninja_deps", ".ninja_log"])
def test_nothing_is_predicted_without_a_build_before(tree: WorkTree, record: str) -> None:
    """Everything is compiled then, or what an attempt that was cut off left to do."""
    (tree.build / record).unlink()

    assert predict(tree, []) is None


@pytest.mark.parametrize("name", ["src/CMakeLists.txt", "src/cmake/flags.cmake"])
def test_nothing_is_predicted_of_changed_build_files(tree: WorkTree, name: str) -> None:
    """They may change every command."""
    assert predict(tree, [name]) is None


def test_what_was_made_again_was_compiled(tree: WorkTree) -> None:
    """Links and archives are no sources; a file that was not made has its old record."""
    before = rebuild_forecast.read_steps(tree)
    log(tree, ("a.o", 1), ("b.o", 1), ("c.o", 1), ("program", 1), ("b.o", 2), ("program", 2))

    assert rebuild_forecast.list_compiled(tree, before) == (("dnn/b.cpp",), 3)
    assert rebuild_forecast.list_compiled(tree, rebuild_forecast.read_steps(tree)) == ((), 3)


def test_a_first_build_compiles_all(tmp_path: Path, tree: WorkTree) -> None:
    """There was no record before it."""
    assert rebuild_forecast.read_steps(WorkTree(root=tmp_path / "other")) == {}
    every = ("c.cpp", "dnn/a.cpp", "dnn/b.cpp")
    assert rebuild_forecast.list_compiled(tree, {}) == (every, 3)


def test_a_generated_source_is_named_by_its_whole_path(tree: WorkTree) -> None:
    """It lies in no place of the tree."""
    path = tree.build / "generated.cpp"
    (tree.build / "compile_commands.json").write_text(
        json.dumps([{"command": "c++ -o a.o", "file": str(path)}]), encoding="utf-8"
    )

    assert rebuild_forecast.list_compiled(tree, {}) == ((str(path),), 1)
