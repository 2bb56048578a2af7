"""What counts as an output, and what is refused, by each kind of device."""

import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InfrastructureFailure, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.device import RunDirectory
from megtrim.places.devices.local import Local
from megtrim.places.devices.written import (
    DEEPEST,
    MOST_ENTRIES,
    Entry,
    WrittenKind,
    list_files,
)
from unit.places.devices.links import FolderMachine

FILE = WrittenKind.FILE
FOLDER = WrittenKind.FOLDER
LINK = WrittenKind.LINK
DEEP = "/".join("abcdefgh")


def make(*entries: tuple[str, WrittenKind]) -> list[Entry]:
    return [Entry(path=path, kind=kind) for path, kind in entries]


@pytest.mark.parametrize(
    ("entries", "files"),
    [
        ((), ()),
        ((("b", FILE), ("a", FILE)), ("a", "b")),
        ((("a", FOLDER),), ()),
        ((("a", FOLDER), ("a/b", FILE), ("a b", FILE)), ("a b", "a/b")),
        ((("..a", FILE), ("a..", FOLDER), ("a../...", FILE)), ("..a", "a../...")),
        (((f"{DEEP}/i", FILE),), (f"{DEEP}/i",)),
        (((f"{DEEP}/i", FOLDER),), ()),
    ],
)
def test_files_at_any_depth_are_listed(
    entries: tuple[tuple[str, WrittenKind], ...], files: tuple[str, ...]
) -> None:
    assert list_files("dump", make(*entries)) == files


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("a/l", LINK), "left a symbolic link among its outputs: dump/a/l"),
        (("a/p", WrittenKind.OTHER), "left a pipe, socket or device among its outputs: dump/a/p"),
        (("a/b\n", FILE), r"left a file in dump whose name is not text: 'a/b\n'"),
        (("a\x1b", FOLDER), r"left a folder in dump whose name is not text: 'a\x1b'"),
        (("a\N{REPLACEMENT CHARACTER}", FILE), r"in dump whose name is not text: 'a\ufffd'"),
        (("a\udcff", LINK), r"left a symbolic link in dump whose name is not text: 'a\udcff'"),
        (
            (f"{DEEP}/i/j", FILE),
            f"left 'a' in dump, with more than {DEEPEST} folders in each other",
        ),
        (
            (f"{DEEP}/i/j", FOLDER),
            f"left 'a' in dump, with more than {DEEPEST} folders in each other",
        ),
    ],
)
def test_what_cannot_be_compared_is_the_programs_fault(
    entry: tuple[str, WrittenKind], message: str
) -> None:
    with pytest.raises(ProductFailure) as caught:
        list_files("dump", make(("fine", FILE), entry))
    assert message in caught.value.message
    assert caught.value.message.isprintable()


def test_a_walk_ends_in_time() -> None:
    taken = 0

    def walk() -> Iterator[Entry]:
        nonlocal taken
        while True:
            taken += 1
            yield Entry(path=f"{taken}", kind=FILE if taken % 2 else FOLDER)

    with pytest.raises(ProductFailure, match="left more than 1,000 files and folders in dump"):
        list_files("dump", walk())
    assert taken == MOST_ENTRIES + 1


@pytest.mark.parametrize("path", ["../x", "a/../x", "a//b", "./x", "/x", "a/.", "..", "f/x"])
def test_what_no_program_can_leave_is_the_devices_fault(path: str) -> None:
    with pytest.raises(InfrastructureFailure, match="which cannot be a file there"):
        list_files("dump", make(("f", FILE), (path, FILE)))


@pytest.fixture
def places(
    processes: ProcessRunner, tmp_path: Path
) -> tuple[FolderMachine, list[AbstractContextManager[RunDirectory]]]:
    """Both are this machine: by its files, and by the scripts for phones and boards."""
    machine = FolderMachine(processes, tmp_path)
    return machine, [machine.open(), Local("here", processes, tmp_path / "runs").open()]


TREE = 'mkdir -p "a/b" e; echo 1 >"a/b/it\'s"; echo 2 >"a/2 x"; echo 3 >3; chmod 0 a/b a'


def test_a_tree_of_outputs_comes_back(
    places: tuple[FolderMachine, list[AbstractContextManager[RunDirectory]]],
) -> None:
    machine, opened = places
    for place in opened:
        with place as directory:
            directory.put(machine.program(f"cd dump\n{TREE}"), "program")
            directory.make("dump")
            assert directory.run(("program",), timeout_s=20).rc == 0
            found = {name: directory.get(f"dump/{name}") for name in directory.names("dump")}
        assert found == {"3": b"3\n", "a/2 x": b"2\n", "a/b/it's": b"1\n"}


DEEP_TREE = f"""{sys.executable} -c '
import os
for _ in range(60):
    os.mkdir("x" * 100)
    os.chdir("x" * 100)
open("o", "w")'"""


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("mkdir a; ln -s /etc/passwd a/l", r"symbolic link among its outputs: dump/a/l$"),
        ("ln -s / l", r"symbolic link among its outputs: dump/l$"),
        ("mkdir a; mkfifo a/p", r"pipe, socket or device among its outputs: dump/a/p$"),
        ("mkdir a; echo 1 >'a/x\ny'", r"in dump whose name is not text: 'a/x\\n"),
        ("mkdir 'x\ny'; echo 1 >'x\ny/z'", r"in dump whose name is not text: 'x\\n"),
        (r"echo 1 >'a\nmegtrim mode=41ed .'; ln -s x l", r"symbolic link among .*: dump/l$"),
        (DEEP_TREE, "x' in dump, with more than 8 folders in each other"),
        ("seq 1001 | xargs touch", "more than 1,000 files and folders in dump"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_all_kinds(
    places: tuple[FolderMachine, list[AbstractContextManager[RunDirectory]]],
    script: str,
    message: str,
) -> None:
    machine, opened = places
    for place in opened:
        with place as directory:
            directory.put(machine.program(f"cd dump\n{script}"), "program")
            directory.make("dump")
            assert directory.run(("program",), timeout_s=20).rc == 0
            with pytest.raises(ProductFailure) as caught:
                directory.names("dump")
        assert re.search(message, caught.value.message), caught.value.message
