"""A release as one file: a tar of plain files, compressed, equal bytes for equal files.

Only what is written here is read: anything else in an archive, which may come from anyone, is
refused before it is written, and so is one that would fill the disk.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from megtrim.errors import InputError, ProductFailure
from megtrim.input_files import open_plain_file
from megtrim.release.checksums import is_inside
from megtrim.release.files import ReleaseFile, expect_new, mode_of, read_bytes, write_whole
from megtrim.store import cannot_write

ARCHIVE_SUFFIX = ".tar.gz"
FETCH_AGAIN = "fetch it again from where it was released"
_BLOCK = tarfile.BLOCKSIZE
_CHUNK_BYTES = 1024 * 1024
_MOST_BYTES = 16 * 1024**3
_MOST_FILES = 100_000


def is_archive(path: Path) -> bool:
    """Tell by its name whether a release is one file."""
    return path.name.endswith(ARCHIVE_SUFFIX)


def write_archive(files: Iterable[ReleaseFile], path: Path) -> None:
    """Write the files to the archive ``path``, which appears only when all are in it."""
    expect_new(path)
    top = path.name.removesuffix(ARCHIVE_SUFFIX)
    with (
        write_whole(path) as partial,
        partial.open("wb") as stream,
        # Neither a name nor a time, which gzip would keep.
        gzip.GzipFile("", "wb", mtime=0, fileobj=stream) as packed,
        # Names by the same letters whatever the locale.
        tarfile.open(
            fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT, encoding="utf-8"
        ) as archive,
    ):
        for file in sorted(files, key=lambda each: each.path):
            _add(file, f"{top}/{file.path}", archive)


def _add(file: ReleaseFile, name: str, archive: tarfile.TarFile) -> None:
    data = read_bytes(file)
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode_of(file.path)
    try:
        archive.addfile(info, io.BytesIO(data))
    except ValueError:
        msg = f"{name} is a path too long for an archive"
        raise InputError(msg, hint="name a folder, or give it shorter names") from None


@contextmanager
def open_release(path: Path) -> Iterator[Path]:
    """Yield the folder of a release: itself, or an archive's content while it is needed.

    Raises ProductFailure for an archive that is damaged, or that holds anything but plain files,
    and InputError for one that cannot be read.
    """
    if not (is_archive(path) and path.is_file()):
        yield path
        return
    with open_plain_file(path, expected="a release"):
        pass  # one that cannot be read is no fault of the disk that is written to
    with tempfile.TemporaryDirectory(prefix="megtrim-release-") as folder:
        try:
            with gzip.open(path) as packed:
                _unpack(packed, Path(folder), shown=str(path))
        except (FileExistsError, NotADirectoryError):
            raise _make_failure(str(path), "one name is of a file and of a folder") from None
        except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.HeaderError, ValueError):
            raise _make_failure(str(path), "it is damaged, or cut off") from None
        except OSError as error:
            raise cannot_write(Path(folder), error) from None
        yield Path(folder)


def _unpack(packed: gzip.GzipFile, folder: Path, *, shown: str) -> None:
    """Write each file without the archive's top folder; read to the end, so all is checked."""
    left_bytes, files, top = _MOST_BYTES, 0, ""
    while (block := packed.read(_BLOCK)).strip(b"\0"):
        # The library's own reader would read headers of any size into memory.
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        first, _, name = info.name.partition("/")
        left_bytes, files, top = left_bytes - info.size, files + 1, top or first
        if info.type != tarfile.REGTYPE or not (is_inside(info.name) and is_inside(name)):
            raise _make_failure(shown, f"{info.name!a:.120} is no plain file in its folder")
        # Other tools take these as they are, so what they unpack would not be what was verified.
        if first != top:
            raise _make_failure(shown, f"{info.name!a:.120} is in another folder than {top!a}")
        if info.mode != mode_of(name):
            raise _make_failure(shown, f"{info.name!a:.120} has the mode {info.mode:o}")
        if info.size < 0:  # a header can say so, and all that follows would be read at once
            raise _make_failure(shown, f"{info.name!a:.120} has a size below zero")
        if left_bytes < 0 or files > _MOST_FILES:
            raise _make_failure(shown, "it holds more than a release may")
        target = folder / name
        if target.exists():
            raise _make_failure(shown, f"{name!a:.120} is in it twice")
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(packed, target, info.size)
        target.chmod(mode_of(name))
    while rest := packed.read(_CHUNK_BYTES):
        if rest.strip(b"\0"):
            raise _make_failure(shown, "something follows its last file")


def _copy(packed: gzip.GzipFile, target: Path, size: int) -> None:
    left = size
    with target.open("xb") as stream:
        while left:
            chunk = packed.read(min(left, _CHUNK_BYTES))
            if not chunk:
                raise EOFError
            stream.write(chunk)
            left -= len(chunk)
    if padding := -size % _BLOCK:
        packed.read(padding)


def _make_failure(shown: str, problem: str) -> ProductFailure:
    return ProductFailure(f"{shown} is not what was released: {problem}", hint=FETCH_AGAIN)
