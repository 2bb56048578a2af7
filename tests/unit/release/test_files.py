"""Writing a release: all of it or nothing, and the same modes for everyone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.release.archive import expect_new, from_path, from_text, write_folder
from megtrim.util.errors import InfrastructureFailure, InputError

FILES = (from_text("bin/run", "run\n"), from_text("share/a/b.txt", "text\n"))


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Be a user with some umask."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    every = {".": folder, **{str(each.relative_to(folder)): each for each in folder.rglob("*")}}
    return {name: stat.S_IMODE(each.stat().st_mode) for name, each in every.items()}


def test_modes_are_the_same_for_everyone(umask: int, tmp_path: Path) -> None:
    """Whatever their umask."""
    write_folder(FILES, tmp_path / "release")

    assert modes(tmp_path / "release") == {
        ".": 0o755,
        "bin": 0o755,
        "bin/run": 0o755,
        "share": 0o755,
        "share/a": 0o755,
        "share/a/b.txt": 0o644,
    }


def test_a_mode_of_the_source_does_not_matter(tmp_path: Path) -> None:
    """A program of a build may be anything."""
    source = tmp_path / "source"
    source.write_text("x", encoding="utf-8")
    source.chmod(0o600)
    write_folder([from_path("bin/x", source)], tmp_path / "release")

    assert modes(tmp_path / "release")["bin/x"] == 0o755


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    """People make one before."""
    (tmp_path / "release").mkdir()
    write_folder(FILES, tmp_path / "release")

    assert (tmp_path / "release/bin/run").read_text(encoding="utf-8") == "run\n"


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_is_overwritten(kind: str, tmp_path: Path) -> None:
    """Neither a release nor anything else."""
    there = tmp_path / "release"
    match kind:
        case "folder":
            (there / "mine").mkdir(parents=True)
        case "file":
            there.write_text("mine", encoding="utf-8")
        case _:
            there.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="exists already"):
        expect_new(there)


def test_what_changes_meanwhile_leaves_nothing(tmp_path: Path) -> None:
    """Neither a release nor a part of one."""
    source = tmp_path / "source"
    source.write_text("before", encoding="utf-8")
    file = from_path("bin/x", source)
    source.write_text("after", encoding="utf-8")

    with pytest.raises(InfrastructureFailure, match="changed while the release was written"):
        write_folder([*FILES, file], tmp_path / "release")
    assert [each.name for each in tmp_path.iterdir()] == ["source"]


def test_a_disk_that_takes_nothing_is_no_fault_of_the_product(tmp_path: Path) -> None:
    """Nothing is known of the release then."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(InfrastructureFailure, match="cannot be written"):
        write_folder(FILES, tmp_path / "file" / "release")
