from __future__ import annotations

import re

import pytest

from megtrim.build.engines.cmake import source_options
from megtrim.build_spec import SourceOptions
from megtrim.util.errors import InputError

WANTED = SourceOptions(options=("-Oz",), fast=("-fsums", "-ffused"), outside=("src/a+b", "k"))


@pytest.mark.parametrize(
    ("lists", "name"),
    [
        ("project(MegEngine LANGUAGES C)", "CMAKE_PROJECT_MegEngine_INCLUDE"),
        ("# project(no)\nproject(\n  sample_engine\n  C)", "CMAKE_PROJECT_sample_engine_INCLUDE"),
    ],
)
def test_the_entry_is_the_projects_own(lists: str, name: str) -> None:
    """So a CMAKE_PROJECT_INCLUDE of the user's stays in force."""
    assert source_options.option_name(lists, root="tree") == name


@pytest.mark.parametrize("lists", ["", "message(project)", "project(${NAME})", "project()"])
def test_a_tree_without_a_plain_project_is_refused(lists: str) -> None:
    with pytest.raises(InputError, match=r"tree/CMakeLists\.txt has no project\(\)"):
        source_options.option_name(lists, root="tree")


@pytest.mark.parametrize("folder", ['a"b', "a;b", "a b", "a)b", "", "a$b"])
def test_a_folder_that_cmake_would_read_otherwise_is_refused(folder: str) -> None:
    with pytest.raises(InputError, match="CMake cannot match"):
        source_options.render(SourceOptions(options=("-Oz",), fast=(), outside=(folder,)))


def test_the_text_holds_together() -> None:
    text = source_options.render(WANTED)

    assert "@" not in text
    for block in ("function", "foreach", "if"):
        assert len(re.findall(rf"^ *{block}\(", text, re.M)) == text.count(f"end{block}(")
