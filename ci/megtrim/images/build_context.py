"""The context of an image's build: a few files and perhaps an NDK, as a reproducible stream.

Docker reads it while it is written, so that an NDK of some gigabytes is never copied. It contains
nothing that differs between machines (owner, date, order, umask).
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
"""Folder of the context with the NDK; empty if the image has none."""
_LOOK_S = 0.05
_LAYOUT = ("source.properties", "build/cmake/android.toolchain.cmake")


def expect_ndk(folder: Path) -> None:
    """Raise InputError for a folder without an NDK's layout."""
    for name in _LAYOUT:
        if not (folder / name).is_file():
            msg = f"{folder} is not an Android NDK: it has no {name}"
            raise InputError(msg, hint="name the folder that holds source.properties")


@contextmanager
def stream_archive(recipe: Path, ndk: Path | None) -> Iterator[Path]:
    """Yield a path from which the context can be read once, as a tar archive."""
    with tempfile.TemporaryDirectory(prefix="megtrim-context-") as folder:
        pipe = Path(folder) / "context.tar"
        os.mkfifo(pipe)
        failures: list[OSError] = []
        writer = threading.Thread(target=_write, args=(pipe, recipe, ndk, failures), daemon=True)
        writer.start()
        try:
            yield pipe
        finally:
            # If no one ever read, the writer still waits for a reader, or soon will.
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
        return  # docker stopped reading, and prints why
    except OSError as error:
        failures.append(error)


def _folder(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    return entry


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove what would differ on another machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
