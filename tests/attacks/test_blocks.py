"""Attempts on programs of which functions are cut, with a real compiler."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.core.chain.graph import REDUCED
from megtrim.core.keep.keepset_files import parse_keep_set
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import CompletedCommand
from support.megtrim_cli import Project

SOURCES = Path(__file__).parents[1] / "data" / "blocks"
CONFIG = {
    "version": 1,
    "engine": {"kind": "cmake", "source": "source", "target": "sums"},
    "toolchain": {"kind": "clang-linux-arm64"},
    "trim": {"level": "blocks"},
    "scenarios": [{"name": "run", "args": ["{input:a}"], "inputs": {"a": "in.txt"}}],
}
LINE = re.compile(r'( "blocks _Z3sumPKc )([0-9a-f]{16})((?: \d+)+)(": .*\n)')
Edit = Callable[[re.Match[str]], str]
needs_compiler = pytest.mark.blocks
"""The lane of Debian's clang 22."""


def make(folder: Path) -> Project:
    shutil.copytree(SOURCES, folder / "source")
    (folder / "in.txt").write_text("1\n5\n20\n", encoding="utf-8")
    (folder / "large.txt").write_text("60\n", encoding="utf-8")
    project = Project(folder)
    project.write(CONFIG)
    return project


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make(tmp_path_factory.mktemp("blocks"))
    project.expect("trim", "--accept")
    return project


def edit_list(project: Project, edit: Edit) -> CompletedCommand:
    """Trim with what somebody made of the committed blocks of one function."""
    (listed,) = (project.folder / "megtrim" / "keepset").glob("*.json")
    before = listed.read_text(encoding="utf-8")
    assert LINE.search(before)
    listed.write_text(LINE.sub(edit, before), encoding="utf-8")
    try:
        return project.run("trim", "--committed")
    finally:
        listed.write_text(before, encoding="utf-8")


@needs_compiler
def test_a_keep_set_is_committed_as_it_is(trimmed: Project) -> None:
    ended = edit_list(trimmed, lambda found: found[0])
    assert ended.rc == 0, ended.stderr
    assert "verdict: pass" in ended.stdout
    assert "other blocks than" not in ended.stdout


@needs_compiler
def test_a_keep_set_loses_blocks_that_ran(trimmed: Project) -> None:
    ended = edit_list(trimmed, lambda found: f"{found[1]}{found[2]} 0{found[4]}")
    assert ended.rc == 1, ended.stderr
    assert "a part of the function sum(char const*) is not kept" in ended.stdout


@needs_compiler
def test_a_digest_is_of_another_function(trimmed: Project) -> None:
    ended = edit_list(trimmed, lambda found: f"{found[1]}{'0' * 16} 0{found[4]}")
    assert ended.rc == 0, ended.stderr
    assert "1 function with other blocks than the keep set names" in ended.stdout


@needs_compiler
def test_the_lines_of_blocks_are_removed(trimmed: Project) -> None:
    ended = edit_list(trimmed, lambda _: "")
    assert ended.rc == 0, ended.stderr
    assert "verdict: pass" in ended.stdout


@needs_compiler
def test_a_function_is_edited_and_not_traced_again(trimmed: Project) -> None:
    source = trimmed.folder / "source" / "parts.cc"
    before = source.read_text(encoding="utf-8")
    source.write_text(before.replace("value > 50", "value > 3"), encoding="utf-8")
    try:
        ended = trimmed.run("trim", "--committed")
    finally:
        source.write_text(before, encoding="utf-8")
    assert ended.rc == 1
    assert "its functions were recorded on another link" in ended.stdout


LIMIT = "limit.h"


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A source that includes a header from outside of it, which is what its build reads."""
    project = make(tmp_path_factory.mktemp("beside"))
    source = project.folder / "source"
    parts = source / "parts.cc"
    text = parts.read_text(encoding="utf-8")
    parts.write_text(
        f"#include <{LIMIT}>\n{text.replace('value > 50', 'value > LIMIT')}", encoding="utf-8"
    )
    folder = project.folder / "installed"
    folder.mkdir()
    (folder / LIMIT).write_text("#define LIMIT 50\n", encoding="utf-8")
    with (source / "CMakeLists.txt").open("a", encoding="utf-8") as lists:
        lists.write(f"target_include_directories(parts PRIVATE {folder})\n")
    project.expect("trim", "--accept")
    return project


def change_header(project: Project, text: str, *, keep_times: bool) -> CompletedCommand:
    """Change it after the functions were recorded, and let them be cut only then."""
    header = project.folder / "installed" / LIMIT
    times = header.stat()
    header.write_text(text, encoding="utf-8")
    if keep_times:
        os.utime(header, ns=(times.st_atime_ns, times.st_mtime_ns))
    shutil.rmtree(project.done()[REDUCED])
    shutil.rmtree(next(project.out.glob("work/*/links/units")))
    return project.run("trim", "--committed")


@needs_compiler
@pytest.mark.parametrize("keep_times", [True, False])
def test_a_header_changes_outside_of_the_source(beside: Project, keep_times: bool) -> None:
    ended = change_header(beside, "#define LIMIT 30\n", keep_times=keep_times)
    assert ended.rc == 0, ended.stderr
    assert "2 functions of build/CMakeFiles/parts.dir/parts.cc.o stay whole" in ended.stdout


@needs_compiler
def test_a_header_is_written_anew_as_it_was(beside: Project) -> None:
    ended = change_header(beside, "#define LIMIT 50\n", keep_times=False)
    assert ended.rc == 0, ended.stderr
    assert "stay whole" not in ended.stdout


@needs_compiler
def test_a_run_needs_a_part_that_is_not_there(trimmed: Project) -> None:
    ended = trimmed.expect("probe", "sums", "--input", "a=large.txt", "--", "{input:a}")
    missing = "without, it trapped: a part of the function sum(char const*) is not kept"
    assert missing in ended.stderr + ended.stdout


@pytest.mark.clang
@pytest.mark.parametrize("release", [14, 19])
def test_the_compiler_cuts_wrongly(tmp_path: Path, release: int) -> None:
    if not shutil.which(f"clang++-{release}"):
        pytest.skip(f"needs clang {release}")
    project = make(tmp_path)
    project.change(toolchain={"kind": "clang-linux-arm64", "clang": release})
    ended = project.run("trim")
    assert ended.rc == 2
    assert f"clang {release} does not cut functions soundly" in ended.stderr


@pytest.mark.chain
def test_the_compiler_is_one_that_nobody_tried(tmp_path: Path) -> None:
    project = make(tmp_path)
    project.change(toolchain={"kind": "host"})
    ended = project.run("trim")
    assert ended.rc == 2
    assert "found blocks with a toolchain of kind host" in ended.stderr


@pytest.mark.chain
@pytest.mark.parametrize("key", ["f;g 0123456789abcdef 0", "f 0123456789abcdef 0\\nc 1"])
def test_a_list_hides_a_line_for_the_compiler(key: str) -> None:
    text = f'{{\n "version": 2,\n "blocks {key}": ["a@any"],\n "": "end"\n}}\n'
    with pytest.raises(InputError):
        parse_keep_set(text, source="k")
