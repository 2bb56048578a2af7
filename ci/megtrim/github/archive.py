"""Unpacks an untrusted zip from GitHub: completely into a new folder, or not at all.

Part of the github room. Archives may hold only plain files with plain names. Anything else (names
outside the folder, links, encrypted files, gigabytes of zeros) is refused before a byte is
written.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from megtrim.errors import InputError
from megtrim.github.log_text import one_line
from megtrim.store import cannot_write

_HINT = "it was not written by megtrim, or damaged in transfer; it is not used"
_HEADER = b"PK\x01\x02"
_MOST_HEADERS = 20_000
"""Opening an archive takes memory for each entry, so they are counted before."""
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_LONGEST_NAME = 400
_LONGEST_PART = 200
_CHUNK_BYTES = 64 * 1024
_DAMAGED = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error),
    *(EOFError, NotImplementedError, OverflowError, RuntimeError, ValueError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """Limits for the contents of an archive."""

    entries: int = 1000
    file_bytes: int = 64 * 1024 * 1024
    total_bytes: int = 256 * 1024 * 1024
    ratio: int = 200
    """Largest ratio of unpacked to packed size, for files larger than ``free_bytes``."""
    free_bytes: int = 1024 * 1024


def unpack(
    data: bytes, folder: Path, *, source: str, limits: ArchiveLimits | None = None
) -> tuple[str, ...]:
    """Write the files of the zip ``data`` into the new ``folder``; return their names.

    ``source`` names the archive in messages. Raises InputError for an archive that is damaged or
    holds anything unexpected, InfrastructureFailure for a full disk; then there is no folder.
    """
    limits = limits or ArchiveLimits()
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        partial.mkdir(parents=True)
        names = _unpack(data, partial, source, limits)
        partial.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return names


def _unpack(data: bytes, folder: Path, source: str, limits: ArchiveLimits) -> tuple[str, ...]:
    if data.count(_HEADER) > _MOST_HEADERS:
        raise _make_input_error(source, f"more than {limits.entries} entries")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = _check_entries(archive.infolist(), source, limits)
            for info in files:
                _write(archive, info, folder / info.filename)
    except OSError:
        raise
    except _DAMAGED as error:
        raise _make_input_error(
            source, f"not a whole zip: {one_line(str(error), most=100)}"
        ) from None
    return tuple(sorted(info.filename for info in files))


def _check_entries(
    infos: list[zipfile.ZipInfo], source: str, limits: ArchiveLimits
) -> tuple[zipfile.ZipInfo, ...]:
    """Return the files, without folders. Raises InputError for an entry that is not allowed."""
    if len(infos) > limits.entries:
        raise _make_input_error(source, f"{len(infos)} entries, expected at most {limits.entries}")
    for info in infos:
        if problem := _name_problem(info) or _kind_problem(info) or _size_problem(info, limits):
            raise _make_input_error(
                source, f"{one_line(repr(info.orig_filename), most=100)}: {problem}"
            )
    if problem := _clash(infos):
        raise _make_input_error(source, problem)
    total = sum(info.file_size for info in infos)
    if total > limits.total_bytes:
        problem = f"unpacked it takes {total} bytes, expected at most {limits.total_bytes}"
        raise _make_input_error(source, problem)
    return tuple(info for info in infos if not info.is_dir())


def _name_problem(info: zipfile.ZipInfo) -> str:
    name = info.orig_filename
    parts = name.removesuffix("/").split("/")
    if name.startswith("/") or name[1:2] == ":":
        return "an absolute name"
    if any(not character.isprintable() or character in '\\:*?"<>|' for character in name):
        return "a character that is not allowed in a name"
    if any(part in ("", ".", "..") for part in parts):
        return "a name that leads out of the folder"
    if len(name) > _LONGEST_NAME or any(len(part.encode()) > _LONGEST_PART for part in parts):
        return "a name that is too long"
    # ``filename`` is what gets written, and an extra field may have changed it.
    return "" if info.filename == name else "two names"


def _kind_problem(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        return "neither a file nor a folder, but a link or a device"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"packed in a way ({info.compress_type}) that is not used here"
    return ""


def _size_problem(info: zipfile.ZipInfo, limits: ArchiveLimits) -> str:
    if info.file_size > limits.file_bytes:
        return f"{info.file_size} bytes, expected at most {limits.file_bytes}"
    allowed = max(limits.free_bytes, info.compress_size * limits.ratio)
    if info.file_size > allowed:
        return f"{info.compress_size} bytes that unpack to {info.file_size}"
    if info.is_dir() and info.file_size:
        return "a folder with content"
    return ""


def _clash(infos: list[zipfile.ZipInfo]) -> str:
    """Return two entries that are the same file on some file systems, or file and folder."""
    seen: dict[str, bool] = {}
    for info in infos:
        parts = unicodedata.normalize("NFC", info.filename).casefold().strip("/").split("/")
        folders = ["/".join(parts[:count]) for count in range(1, len(parts))]
        own = "/".join(parts)
        if own in seen and not (info.is_dir() and seen[own]):
            return f"{one_line(repr(info.filename), most=100)} is there twice"
        seen.setdefault(own, info.is_dir())
        for each in folders:
            if not seen.setdefault(each, True):
                return f"{one_line(repr(each), most=100)} is a file and a folder"
    return ""


def _write(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
    """Write one file. Reading stops at its declared size and verifies its checksum."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(info) as packed, path.open("xb") as file:
        while chunk := packed.read(_CHUNK_BYTES):
            file.write(chunk)


def _make_input_error(source: str, problem: str) -> InputError:
    return InputError(f"{source}: {problem}", hint=_HINT)
