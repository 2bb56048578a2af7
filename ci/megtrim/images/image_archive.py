"""Keeps the image of a recipe as a file between jobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.images import pins
from megtrim.images.build import ANDROID, NAMES, ImageSpec, Ndk, default_tag, recipes
from megtrim.images.docker import DockerClient, Image, last_line

ARCHIVE = "image.tar"
_TIMEOUT_S = 1800.0


def make_pinned_spec(name: str) -> ImageSpec:
    """Return the spec of a recipe's image, by the pins of the kit. Raises InputError."""
    if name not in NAMES:
        msg = f"the recipe: found {name[:80]!r}, expected one of {', '.join(NAMES)}"
        raise InputError(msg)
    path = recipes() / pins.FILE
    recorded = pins.read_pins(path)
    needed = (pins.BASE, pins.NDK) if name == ANDROID else (pins.BASE,)
    missing = [each for each in needed if each not in recorded]
    if missing:
        msg = f"{path.name} of the kit has no pin of: {', '.join(missing)}"
        raise InputError(msg, hint="record it with `megtrim images pin`, and commit it to the kit")
    ndk = pinned_ndk(recorded[pins.NDK]) if name == ANDROID else None
    return ImageSpec(name=name, base=recorded[pins.BASE].value, tag=default_tag(name), ndk=ndk)


def pinned_ndk(pin: pins.Pin) -> Ndk:
    """Return the archive that a pin of an NDK names."""
    return Ndk(url=pin.source, sha256=pin.value.removeprefix("sha256:"))


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
