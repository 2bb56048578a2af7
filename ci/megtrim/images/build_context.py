"""The context of an image's build: a stream of few files and perhaps an NDK, equal every time.

It is written into docker while docker reads it: an NDK of some gigabytes is never copied. What
differs between two machines (owner, date, order, umask) is not in it.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from megtrim.errors import InputError

NDK = "ndk"
"""Folder of the context that holds an NDK, or nothing."""
_LOOK_S = 0.05
_LAYOUT = ("source.properties", "build/cmake/android.toolchain.cmake")


def expect_ndk(folder: Path) -> None:
    """Refuse a folder that has not an NDK's layout."""
    for name in _LAYOUT:
        if not (folder / name).is_file():
            msg = f"{folder} is no Android NDK: it has no {name}"
            raise InputError(msg, hint="name the folder that holds source.properties")


@contextmanager
def stream_archive(recipe: Path, ndk: Path | None) -> Iterator[Path]:
    """Give a path that can be read once, as an archive of the context."""
    with tempfile.TemporaryDirectory(prefix="megtrim-context-") as folder:
        pipe = Path(folder) / "context.tar"
        os.mkfifo(pipe)
        failures: list[OSError] = []
        writer = threading.Thread(target=_write, args=(pipe, recipe, ndk, failures), daemon=True)
        writer.start()
        try:
            yield pipe
        finally:
            # Where nobody ever read, the writer still waits for a reader, or is about to.
            while writer.is_alive():
                os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
                writer.join(_LOOK_S)
        if failures:
            msg = f"the build's context cannot be read: {failures[0]}"
            raise InputError(msg)


def _write(pipe: Path, recipe: Path, ndk: Path | None, failures: list[OSError]) -> None:
    try:
        with pipe.open("wb") as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
            for path in sorted(recipe.iterdir()):
                archive.add(path, arcname=path.name, filter=_plain)
            archive.addfile(_folder(NDK))
            for path in sorted(ndk.rglob("*")) if ndk else ():
                name = f"{NDK}/{path.relative_to(ndk)}" if ndk else NDK
                archive.add(path, arcname=name, recursive=False, filter=_plain)
    except BrokenPipeError:
        return  # docker reads no further: it says itself why
    except OSError as error:
        failures.append(error)


def _folder(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    return entry


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Take out what another machine would have otherwise."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
