"""What a compiler read for a unit, and whether it changed since."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.places.compile.projects.link.unit_inputs import (
    InputList,
    find_changed,
    parse_inputs,
)
from unit.places.compile.projects.support import TOOLCHAIN, bench


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("unit: a.c\n", ["a.c"]),
        ("unit: a.c \\\n  /usr/include/b.h \\\n  c.h\n", ["a.c", "/usr/include/b.h", "c.h"]),
        ("unit: with\\ blank.c a\\#b.h c$$d.h\n", ["with blank.c", "a#b.h", "c$d.h"]),
        ("unit:\n", []),
        ("", []),
    ],
)
def test_files_that_a_compiler_lists(text: str, files: list[str]) -> None:
    assert [*parse_inputs(text)] == files


@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize("image", ["", "sha256:1"])
def test_a_file_that_is_younger_than_the_object(tmp_path: Path, image: str, later: bool) -> None:
    """Its own time says nothing: a copy may have that of the original."""
    tree = tmp_path / "tree"
    tree.mkdir()
    header = tmp_path / "limit.h"
    header.touch()
    os.utime(header, (1, 1))
    listed = InputList(path=tree / "unit.d")
    listed.path.write_text(f"unit: {header}\n", encoding="utf-8")
    made = tree / "unit.o"
    made.touch()
    since = header.stat().st_ctime + (-10 if later else 10)
    os.utime(made, (since, since))
    there = bench(tree, tree, replace(TOOLCHAIN, image=image))

    found = find_changed(listed, made, tree, there)
    # What is beside the tree in an image stays as it is.
    assert found == (str(header) if later and not image else "")


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    listed = InputList(path=tmp_path / "unit.d")
    listed.path.write_text("unit: gone.h\n", encoding="utf-8")
    there = bench(tmp_path, tmp_path, TOOLCHAIN)
    assert find_changed(listed, listed.path, tmp_path, there) == "gone.h"
