"""What objects cost: by the logs of a build and of those next to it, else by a guess."""

from __future__ import annotations

import json
from pathlib import Path

from megtrim.engines.cmake.driver import WorkTree
from megtrim.engines.cmake.step_costs import read_costs

NAMES = ("a.o", "b.o", "c.o")


def write(root: Path, log: dict[str, tuple[int, int]], names: tuple[str, ...] = NAMES) -> WorkTree:
    """Write the records of a build: its commands, and the milliseconds of what was made."""
    tree = WorkTree(root=root)
    tree.build.mkdir(parents=True)
    entries = [
        {"directory": str(tree.build), "file": f"{name}pp", "command": "c++", "output": name}
        for name in names
    ]
    (tree.build / "compile_commands.json").write_text(json.dumps(entries))
    lines = [f"{a}\t{b}\t0\t{name}\t{number}" for number, (name, (a, b)) in enumerate(log.items())]
    (tree.build / ".ninja_log").write_text("\n".join(["# ninja log v7", *lines, "broken"]) + "\n")
    return tree


def test_times_of_other_variants_count(tmp_path: Path) -> None:
    """The longest: another one may have come out of a compiler cache. Of other trees, none."""
    write(tmp_path / "engine-clang-x-plain", {"a.o": (0, 4000), "b.o": (4000, 4010)})
    write(tmp_path / "engine-clang-x-profile", {"b.o": (0, 2000), "gone.o": (0, 9000)})
    write(tmp_path / "engine-zig-x-plain", {"c.o": (0, 90_000)})
    tree = write(tmp_path / "engine-clang-x-reduced", {})

    assert read_costs(tree, lambda name: None) == {"a.o": 4.0, "b.o": 2.0, "c.o": 3.0}


def test_what_came_out_of_a_cache_is_guessed(tmp_path: Path) -> None:
    """So is what was never built here."""
    tree = write(tmp_path / "e-t-m-plain", {"a.o": (0, 3000), "b.o": (0, 20)})

    guesses = {"a.o": 5.0, "b.o": 7.0, "c.o": 9.0}
    assert read_costs(tree, guesses.get) == {"a.o": 3.0, "b.o": 7.0, "c.o": 9.0}


def test_nothing_is_known_of_a_first_build(tmp_path: Path) -> None:
    """A first build of an engine without a table, and a folder without records."""
    assert read_costs(WorkTree(root=tmp_path / "e-t-m-plain"), lambda name: 1.0) == {}
    assert read_costs(write(tmp_path / "e-t-m-profile", {}), lambda name: None) == {}


def test_objects_are_named_as_ninja_names_them(tmp_path: Path) -> None:
    """Relative to the build, however CMake writes them."""
    root = tmp_path / "e-t-m-plain"
    absolute = str(root / "build/deep/a.o")
    tree = write(root, {"deep/a.o": (0, 1500)}, names=(absolute,))

    assert read_costs(tree, lambda name: None) == {"deep/a.o": 1.5}
