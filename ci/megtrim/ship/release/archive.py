"""The files of a release, written as a folder or as one compressed tar: all of them or none.

Anything in an archive that is not written here is refused: it may come from anyone.
"""

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.files import cannot_write, guard_write, sha256_file
from megtrim.libs.util.input_files import open_plain_file
from megtrim.libs.util.value import Value
from megtrim.ship.release.contents import PROGRAMS, ReleaseContents, name_files
from megtrim.ship.release.documents import is_inside, seal

_FOLDER_MODE = 0o755
_FILE_MODE = 0o644
_PROGRAM_MODE = 0o755


class ReleaseFile(Value):
    path: str
    source: Path | bytes
    sha256: str
    """What it must be once it is written."""


def from_text(path: str, text: str) -> ReleaseFile:
    data = text.encode()
    return ReleaseFile(path=path, source=data, sha256=hashlib.sha256(data).hexdigest())


def from_path(path: str, source: Path) -> ReleaseFile:
    return ReleaseFile(path=path, source=source, sha256=sha256_file(source))


def seal_files(
    contents: ReleaseContents,
    payload: Sequence[ReleaseFile],
    *,
    stages: Mapping[str, str],
    megtrim: str,
) -> tuple[ReleaseFile, ...]:
    digests = {each.path: each.sha256 for each in payload}
    texts = seal(name_files(contents, digests), digests, stages=stages, megtrim=megtrim)
    return (*payload, *(from_text(path, text) for path, text in texts.items()))


def expect_new(folder: Path) -> None:
    with guard_write(folder):
        empty = folder.is_dir() and not any(folder.iterdir())
    if folder.is_symlink() or (folder.exists() and not empty):
        msg = f"{folder} exists already and is not an empty folder"
        raise InputError(msg, hint="remove it, or name another one")


def list_released(folder: Path, digests: Mapping[str, str]) -> list[ReleaseFile]:
    return [
        ReleaseFile(path=path, source=folder / path, sha256=sha256)
        for path, sha256 in digests.items()
    ]


def write_folder(files: Iterable[ReleaseFile], folder: Path) -> None:
    expect_new(folder)
    # Compilers and people may have any umask: modes are set one by one.
    with guard_write(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with guard_write(folder):
            partial.chmod(_FOLDER_MODE)
            for file in files:
                target = partial / file.path
                _make_folders(target.parent, partial)
                target.write_bytes(read_bytes(file))
                target.chmod(mode_of(file.path))
            if folder.exists():
                folder.rmdir()
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_file(data: bytes, path: Path) -> None:
    with write_whole(path) as partial:
        partial.write_bytes(data)
        partial.chmod(_FILE_MODE)


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with guard_write(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield partial
            partial.rename(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def mode_of(path: str) -> int:
    return _PROGRAM_MODE if path.startswith(f"{PROGRAMS}/") else _FILE_MODE


def read_bytes(file: ReleaseFile) -> bytes:
    """Raises InfrastructureFailure if the file is not what it was."""
    data = file.source if isinstance(file.source, bytes) else file.source.read_bytes()
    if hashlib.sha256(data).hexdigest() != file.sha256:
        msg = f"{file.source!s:.200} changed while the release was written"
        raise InfrastructureFailure(msg, hint="do not change it meanwhile, and run this again")
    return data


def _make_folders(folder: Path, root: Path) -> None:
    if folder != root and not folder.exists():
        _make_folders(folder.parent, root)
        folder.mkdir()
        folder.chmod(_FOLDER_MODE)


ARCHIVE_SUFFIX = ".tar.gz"
FETCH_AGAIN = "fetch it again from where it was released"
_BLOCK = tarfile.BLOCKSIZE
_CHUNK_BYTES = 1024 * 1024
_MOST_BYTES = 16 * 1024**3
_MOST_FILES = 100_000


def is_archive(path: Path) -> bool:
    return path.name.endswith(ARCHIVE_SUFFIX)


def write_archive(files: Iterable[ReleaseFile], path: Path) -> None:
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
    info.size = len(data)
    info.mode = mode_of(file.path)
    try:
        archive.addfile(info, io.BytesIO(data))
    except ValueError:
        msg = f"{name} is too long a path for an archive"
        raise InputError(msg, hint="name a folder, or give it shorter names") from None


@contextmanager
def open_release(path: Path) -> Iterator[Path]:
    """Raises ProductFailure for an archive that is damaged, or holds anything but plain files."""
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
            raise _make_failure(str(path), "one name belongs to a file and to a folder") from None
        except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.HeaderError, ValueError):
            raise _make_failure(str(path), "it is damaged, or cut off") from None
        except OSError as error:
            raise cannot_write(Path(folder), error) from None
        yield Path(folder)


def _unpack(packed: gzip.GzipFile, folder: Path, *, shown: str) -> None:
    """Write each file without the archive's top folder; read to the end, so all is checked."""
    left_bytes = _MOST_BYTES
    files = 0
    top = ""
    while (block := packed.read(_BLOCK)).strip(b"\0"):
        # The library's own reader would read headers of any size into memory.
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        first, _, name = info.name.partition("/")
        left_bytes = left_bytes - info.size
        files = files + 1
        top = top or first
        if info.type != tarfile.REGTYPE or not (is_inside(info.name) and is_inside(name)):
            raise _make_failure(shown, f"{info.name!a:.120} is not a plain file in its folder")
        # Other tools take these as they are, so what they unpack would not be what was verified.
        if first != top:
            raise _make_failure(shown, f"{info.name!a:.120} is in another folder than {top!a}")
        if info.mode != mode_of(name):
            raise _make_failure(shown, f"{info.name!a:.120} has the mode {info.mode:o}")
        if info.size < 0:  # a header can say so, and all that follows would be read at once
            raise _make_failure(shown, f"{info.name!a:.120} has a size below zero")
        if left_bytes < 0 or files > _MOST_FILES:
            raise _make_failure(shown, "it contains more than a release may")
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
