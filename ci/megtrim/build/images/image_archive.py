"""Keeps the image of a recipe as a file between jobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from megtrim.build.images.docker import DockerClient, Image, last_line
from megtrim.util.errors import InfrastructureFailure

ARCHIVE = "image.tar"
_TIMEOUT_S = 1800.0


def load(docker: DockerClient, folder: Path, tag: str) -> Image | None:
    """Return the image of the folder's archive; None if there is none, or it is damaged."""
    archive = folder / ARCHIVE
    if not archive.is_file():
        return None
    if not docker.call("load", "--quiet", "--input", str(archive), timeout_s=_TIMEOUT_S).ok:
        return None
    return docker.find(tag)


def save(docker: DockerClient, folder: Path, tag: str, warn: Callable[[str], None]) -> bool:
    """Save the image to the folder's archive, and return whether that succeeded.

    A failure is only a warning: the image itself exists, and the next job builds it again.
    """
    archive = folder / ARCHIVE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        archive.unlink(missing_ok=True)
        done = docker.call("save", "--output", str(archive), tag, timeout_s=_TIMEOUT_S)
        reason = "" if done.ok else last_line(done.stderr)
    except OSError as error:
        reason = str(error)
    except InfrastructureFailure as failure:
        reason = failure.message
    if not reason:
        return True
    with suppress(OSError):
        archive.unlink(missing_ok=True)
    warn(f"the image is not kept for later jobs: {archive} cannot be written: {reason}")
    return False
