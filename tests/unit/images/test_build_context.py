"""The context of a build: equal content gives equal bytes, and no one waits for ever."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from megtrim.errors import InputError
from megtrim.images import build_context


def read(recipe: Path, ndk: Path | None) -> bytes:
    with build_context.stream_archive(recipe, ndk) as pipe:
        return pipe.read_bytes()


def make(folder: Path, *, names: tuple[str, ...]) -> Path:
    """Lay out a small tree with a program, a link and an empty folder, in that order of files."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (folder / "bin" / "clang").chmod(0o755)
    (folder / "bin" / "cc").symlink_to("clang")
    (folder / "empty").mkdir()
    return folder


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    """Whoever unpacked it, when, in which order, with which umask."""
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    (recipe / "Dockerfile").write_text("FROM x\n", encoding="utf-8")
    first = make(tmp_path / "first", names=("bin/clang", "source.properties"))
    second = make(tmp_path / "second", names=("source.properties", "bin/clang"))
    (second / "source.properties").chmod(0o600)
    (second / "bin").chmod(0o700)
    os.utime(second / "source.properties", (5, 5))
    if os.geteuid() == 0:  # else its owner is not root anyway
        os.chown(second / "source.properties", 1234, 1234)

    data = read(recipe, first)
    assert data == read(recipe, second)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        entries = {e.name: (e.type, e.mode, e.mtime, e.uid, e.uname) for e in archive}
        links = [e.linkname for e in archive if e.issym()]
    assert list(entries) == [
        *("Dockerfile", "ndk", "ndk/bin", "ndk/bin/cc", "ndk/bin/clang", "ndk/empty"),
        "ndk/source.properties",
    ]
    assert entries["ndk/bin/clang"] == (tarfile.REGTYPE, 0o755, 0, 0, "")
    assert entries["ndk/source.properties"] == (tarfile.REGTYPE, 0o644, 0, 0, "")
    assert entries["ndk/bin"] == (tarfile.DIRTYPE, 0o755, 0, 0, "")
    assert links == ["clang"]


def test_without_an_ndk_its_folder_is_empty(tmp_path: Path) -> None:
    """The recipe is the same for an archive."""
    (tmp_path / "Dockerfile").touch()
    with tarfile.open(fileobj=io.BytesIO(read(tmp_path, None))) as archive:
        assert archive.getnames() == ["Dockerfile", "ndk"]


def test_a_reader_that_stops_or_never_begins(tmp_path: Path) -> None:
    """Docker may fail at once; the writer goes with it."""
    (tmp_path / "Dockerfile").write_bytes(bytes(1_000_000))
    with build_context.stream_archive(tmp_path, None) as pipe, pipe.open("rb") as stream:
        assert len(stream.read(10)) == 10
    with build_context.stream_archive(tmp_path, None):
        pass


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """A context that was not whole is no context."""
    with (
        pytest.raises(InputError, match=r"the build's context cannot be read: .*No such file"),
        build_context.stream_archive(tmp_path / "none", None) as pipe,
    ):
        pipe.read_bytes()


def test_what_is_no_ndk(tmp_path: Path) -> None:
    """It is looked at before anything is sent."""
    with pytest.raises(InputError, match=r"is not an Android NDK: it has no source\.properties"):
        build_context.expect_ndk(tmp_path)
    (tmp_path / "source.properties").touch()
    with pytest.raises(InputError, match=r"it has no build/cmake/android\.toolchain\.cmake"):
        build_context.expect_ndk(tmp_path)
    (tmp_path / "build" / "cmake").mkdir(parents=True)
    (tmp_path / "build" / "cmake" / "android.toolchain.cmake").touch()
    build_context.expect_ndk(tmp_path)
