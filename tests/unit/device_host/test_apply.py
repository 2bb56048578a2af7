"""Files come whole, and a runner only from the bytes whose digest was given."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from host.apply import apply
from host.commands import look, make
from host.errors import Refusal
from host.machine import UNPACKED
from host.resources import File, Runner


def _archive(path: Path, name: str = "./run.sh") -> str:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = 2, 0o755
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(entry, io.BytesIO(b"#!"))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_gets_content_and_mode_and_replaces_a_link(tmp_path: Path) -> None:
    """A link is not followed: what it leads to is someone else's."""
    other = tmp_path / "other"
    other.write_text("theirs", encoding="utf-8")
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()
    file.symlink_to(other)
    apply(File(path=file, content="ours\n", mode="0755"))

    assert other.read_text(encoding="utf-8") == "theirs"
    assert not file.is_symlink()
    assert file.read_text(encoding="utf-8") == "ours\n"
    assert file.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in file.parent.iterdir()] == ["file"]


def test_a_file_that_cannot_be_put_leaves_nothing_behind(tmp_path: Path) -> None:
    """The old one stays whole."""
    file = tmp_path / "file"
    file.mkdir()
    with pytest.raises(OSError, match="file"):
        apply(File(path=file, content="x"))

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_root_makes_is_for_others_to_read(tmp_path: Path) -> None:
    """Also where root's own files are for no one else: the jobs' user starts these programs."""
    before = os.umask(0o077)
    try:
        make("mkdir", str(tmp_path / "libraries"))
    finally:
        os.umask(before)

    assert (tmp_path / "libraries").stat().st_mode & 0o777 == 0o755


def test_a_program_that_fails_is_reported_completely() -> None:
    """Its words, its exit status, and what it said."""
    with pytest.raises(Refusal, match=r"this ended with 7: sh -c 'echo no; exit 7'\nno") as refused:
        make("sh", "-c", "echo no; exit 7")

    assert refused.value.rc == 3
    assert look("no-such-program").rc == 127


def test_a_runner_is_unpacked_and_marked(tmp_path: Path) -> None:
    """The mark comes last: without it the folder counts as half made."""
    digest = _archive(tmp_path / "a.tar.gz")
    resource = Runner(path=tmp_path / "runner", archive=tmp_path / "a.tar.gz", sha256=digest)
    apply(resource)

    assert (resource.path / UNPACKED).read_text(encoding="ascii") == digest
    assert os.access(resource.path / "run.sh", os.X_OK)
    assert sorted(path.name for path in resource.path.iterdir()) == ["run.sh", UNPACKED]


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    """Nothing of them is unpacked."""
    digest = _archive(tmp_path / "a.tar.gz")
    resource = Runner(path=tmp_path / "runner", archive=tmp_path / "a.tar.gz", sha256="0" * 64)
    with pytest.raises(Refusal, match=f"found sha256 {digest}, expected 0000") as refused:
        apply(resource)

    assert refused.value.rc == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    """Its digest may be right; a runner it is not."""
    digest = _archive(tmp_path / "a.tar.gz", "./README")
    resource = Runner(path=tmp_path / "runner", archive=tmp_path / "a.tar.gz", sha256=digest)
    with pytest.raises(Refusal, match=r"found no run\.sh"):
        apply(resource)

    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]
