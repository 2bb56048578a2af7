"""Where the programs of a trim run: on this machine, or in the configured image.

Compilers and programs under qemu run in the image; what talks to a phone or a board runs
outside.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from megtrim.build.images import cache, container_owner
from megtrim.build.images.container_runner import ContainerRunner, Mounts
from megtrim.build.images.docker import DockerClient
from megtrim.build_spec import Toolchain
from megtrim.util.files import cannot_write
from megtrim.util.process import ProcessRunner

_OF_THE_IMAGE = frozenset(
    ("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr")
)
"""Folders of the root that compilers are made of: this machine's must not take their place."""


def open_place(
    reference: str | None, processes: ProcessRunner, *, results: Path, readable: Iterable[Path]
) -> ProcessRunner:
    """Return what runs programs in the image of that name; without one, on this machine.

    They write to ``results`` and to the compiler's cache, and may read ``readable``, system
    folders aside: those are the image's own.
    """
    if not reference:
        return processes.for_builds()
    docker = DockerClient(processes)
    docker.version()
    image = docker.image(reference)
    container_owner.end_abandoned(docker)
    kept = cache.folder(processes.env, otherwise=results / "ccache")
    seen = Mounts(
        writable=(results, kept),
        readable=tuple(sorted(each for each in {*readable} if each.is_dir() and not _hides(each))),
        env={cache.VARIABLE: str(kept)},
    )
    return ContainerRunner(docker, image, seen)


def _hides(path: Path) -> bool:
    """Return whether a mount there would hide a folder of the image; links are this machine's."""
    parts = Path(os.path.normpath(path)).parts
    return len(parts) < 2 or parts[1] in _OF_THE_IMAGE


def attach_image(toolchain: Toolchain, place: ProcessRunner) -> Toolchain:
    """Return the toolchain with the image that it lies in."""
    if not isinstance(place, ContainerRunner):
        return toolchain
    return replace(toolchain, image=place.image.identity)


def sysroot_here(toolchain: Toolchain, place: ProcessRunner, results: Path) -> Path | None:
    """Return the sysroot as this machine can read it, for devices without its libraries."""
    if toolchain.sysroot is None or not isinstance(place, ContainerRunner):
        return toolchain.sysroot
    folder = results / "sysroots" / place.image.id.removeprefix("sha256:")[:20]
    if folder.is_dir():
        return folder
    half = folder.with_name(f"{folder.name}.half")
    try:
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        place.bring_out(toolchain.sysroot, half)
        half.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from None
    return folder
