"""A file of a bundle, copied while its digest is taken: what is used is what was checked."""

from __future__ import annotations

import hashlib
from pathlib import Path

from megtrim.build_spec import Link, Variant
from megtrim.evidence import limits
from megtrim.evidence.bundle import Bundle
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.files import cannot_write

_CHUNK_BYTES = 1024 * 1024
_HINT = "the bundle was changed or cut off on its way: run the build job again"


def take_program(
    bundle: Bundle, folder: Path, work: Path, variant: Variant | Link, application: str
) -> Path:
    """Copy a variant's program, and next to it what must be there. Raises as :func:`take` does."""
    digest = bundle.program(variant, application) or ""
    # Two variants of a program may be the same file, with other libraries next to it.
    place = work / f"{variant}-{digest}"
    for name, own in bundle.companion_files(variant, application).items():
        take(folder, own, place / name)
    return take(folder, digest, place / (application or bundle.target))


def take(folder: Path, digest: str, target: Path) -> Path:
    """Copy the bundle's file of that sha256 to ``target``; what is there is that file already.

    What is run is the copy, so nothing can change between the check and the use. Raises
    InputError where the file is none, is a link, or has another digest.
    """
    if target.exists():
        return target
    source = folder / limits.FILES / digest
    if (folder / limits.FILES).is_symlink() or source.is_symlink() or not source.is_file():
        msg = f"{source}: found no plain file, expected one of the bundle's"
        raise InputError(msg, hint=_HINT)
    partial = target.with_name(f"{target.name}.partial")
    hasher = hashlib.sha256()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as read, partial.open("xb") as write:
            while chunk := read.read(_CHUNK_BYTES):
                hasher.update(chunk)
                write.write(chunk)
    except OSError as error:
        msg = f"{source} cannot be copied: {error.strerror}"
        raise InfrastructureFailure(msg) from None
    if hasher.hexdigest() != digest:
        msg = f"{source}: its sha256 is {hasher.hexdigest()}, expected that of its name"
        raise InputError(msg, hint=_HINT)
    return partial.rename(target)


def put(data: bytes, path: Path) -> Path:
    """Write a file that the next run takes along."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path
