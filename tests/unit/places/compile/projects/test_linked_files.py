"""Which files of a build are copies of the one that it linked."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.places.compile.projects.linked_files import find_copies, join_libraries
from support.made_programs import ID, folded, numbered_file
from unit.libs.elf.test_needed_libraries import elf, make

LINKED = folded()
UNNAMED = LINKED[:56] + b"\x01" + LINKED[57:]
"""Without the segment that holds the build id."""
NO_ID = LINKED.replace(bytes.fromhex(ID), bytes(20))
ANOTHER_PATH = LINKED[:0x900] + b"/lib" + LINKED[0x904:]
"""A byte that is no code is another one, as of a file whose paths were changed."""


@pytest.mark.parametrize(
    ("other", "is_copy"),
    [
        (LINKED, True),
        (LINKED[:40] + bytes(8) + LINKED[48:], True),
        (ANOTHER_PATH, True),
        (numbered_file(), False),
        (NO_ID, False),
        (LINKED[:200], False),
        (LINKED + bytes(len(LINKED) + 1), False),
        (b"#!/bin/sh\n", False),
        (b"", False),
    ],
)
def test_a_copy_loads_as_the_linked_file_does(tmp_path: Path, other: bytes, is_copy: bool) -> None:
    linked = tmp_path / "obj/tool"
    copy = tmp_path / "bin/renamed"
    for file, content in ((linked, LINKED), (copy, other)):
        file.parent.mkdir()
        file.write_bytes(content)

    assert find_copies(linked, (tmp_path,)) == ((copy,) if is_copy else ())


@pytest.mark.parametrize(("other", "is_copy"), [(UNNAMED, True), (LINKED, False)])
def test_a_file_without_a_build_id_has_copies(tmp_path: Path, other: bytes, is_copy: bool) -> None:
    linked = tmp_path / "tool"
    copy = tmp_path / "other"
    linked.write_bytes(UNNAMED)
    copy.write_bytes(other)

    assert find_copies(linked, (tmp_path,)) == ((copy,) if is_copy else ())


@pytest.mark.parametrize(("make", "is_copy"), [(os.link, True), (os.symlink, False)])
def test_a_link_is_followed_only_if_it_is_hard(
    tmp_path: Path, make: Callable[[Path, Path], None], is_copy: bool
) -> None:
    linked = tmp_path / "tool"
    linked.write_bytes(LINKED)
    other = tmp_path / "other"
    make(linked, other)

    assert find_copies(linked, (tmp_path, tmp_path / "none")) == ((other,) if is_copy else ())


def test_a_file_that_cannot_be_read_is_no_copy(tmp_path: Path) -> None:
    linked = tmp_path / "tool"
    linked.write_bytes(LINKED)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()

    assert find_copies(linked, (tmp_path,)) == ()


def test_links_to_libraries_are_where_they_are_needed(tmp_path: Path) -> None:
    """Also of what a library itself needs, by the name that it is asked by."""
    build = {
        "lib/libb.so.1.2": elf("liba.so"),
        "other/liba.so": elf("libc.so.6"),
        "tests/run": elf("libb.so.1", "libc.so.6"),
        "tests/own/libb.so.1": elf(),
        "tests/own/run": elf("libb.so.1"),
        "tests/object.o": elf("liba.so"),
    }
    make(tmp_path, build)
    (tmp_path / "lib/libb.so.1").symlink_to("libb.so.1.2")
    for _ in range(2):
        join_libraries(tmp_path)

    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.so*")}
    asked = {"lib/libb.so.1", "lib/liba.so", "tests/libb.so.1", "tests/liba.so"}
    assert made - build.keys() == asked
    assert (tmp_path / "tests/libb.so.1").readlink() == Path("../lib/libb.so.1")
