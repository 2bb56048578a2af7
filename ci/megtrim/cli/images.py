"""``megtrim images``: the images that builds run in, and the pins that they are made from."""

from __future__ import annotations

import re
from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.cli.session.console import open_console
from megtrim.cli.session.environment import open_processes, read_today
from megtrim.errors import EXIT_PASS, InputError
from megtrim.images import build as builds
from megtrim.images import pins
from megtrim.images.build import ANDROID, NAMES, ImageSpec, Ndk
from megtrim.images.docker import DockerClient
from megtrim.images.image_archive import pinned_ndk

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")

_pins_option = click.option(
    "--pins",
    "pins_file",
    type=click.Path(path_type=Path),
    help="File of pins. Default: pins.json in the folder of the recipes.",
)
_quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print only warnings and results.")


@click.group()
def images() -> None:
    """Build images with compilers, and pin what they are built from."""


@images.command(
    "build",
    epilog="""\b
Examples:
  megtrim images build linux-arm64 --base debian:bookworm-slim@sha256:DIGEST
  megtrim images build android-arm64 --base bookworm:local --ndk ~/android-ndk-r21e
  megtrim images build android-arm64 --ndk-url URL --ndk-sha256 HEX
""",
)
@click.argument("name", type=click.Choice(NAMES))
@click.option(
    "--base", metavar="IMAGE", help="Debian bookworm image to build on. Default: the pinned one."
)
@click.option(
    "--ndk",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of an unpacked NDK.",
)
@click.option("--ndk-url", metavar="URL", help="Archive of an NDK. Default: the pinned one.")
@click.option("--ndk-sha256", metavar="HEX", help="SHA-256 of that archive.")
@click.option("--tag", metavar="NAME", help="Tag of the new image. Default: megtrim/NAME.")
@_pins_option
@_quiet_option
def build(
    name: str,
    base: str | None,
    folder: Path | None,
    ndk_url: str | None,
    ndk_sha256: str | None,
    tag: str | None,
    pins_file: Path | None,
    quiet: bool,
) -> int:
    """Build an image, and print its tag and its ID.

    If nothing changed since the last build, nothing is built, and the ID is the same.
    """
    recorded = pins.read_pins(_file(pins_file))
    base = base or (recorded[pins.BASE].value if pins.BASE in recorded else None)
    if base is None:
        msg = "there is no image to build on"
        raise InputError(msg, hint="name it: --base IMAGE; or pin one: `megtrim images pin`")
    ndk = _ndk(folder, ndk_url, ndk_sha256, recorded.get(pins.NDK))
    if name != ANDROID and (folder or ndk_url or ndk_sha256):
        msg = f"{name} takes no NDK"
        raise click.UsageError(msg)
    if name == ANDROID and ndk is None:
        msg = "there is no NDK to put into the image"
        raise InputError(msg, hint="--ndk FOLDER, or --ndk-url URL with --ndk-sha256 HEX")
    wanted = ImageSpec(
        name=name,
        base=base,
        tag=tag or builds.default_tag(name),
        ndk=ndk if name == ANDROID else None,
    )
    progress = open_console(quiet=quiet).progress(f"building {name}")
    made = builds.build(wanted, DockerClient(open_processes()), progress)
    show(f"{made.reference} {made.id}")
    return EXIT_PASS


@images.command(
    epilog="""\b
Examples:
  megtrim images pin --base debian:bookworm-slim
  megtrim images pin --ndk-url URL
"""
)
@click.option(
    "--base", metavar="NAME:TAG", help="Image to pin by the digest that its registry reports."
)
@click.option(
    "--ndk-url", metavar="URL", help="Archive of an NDK to download and pin by its checksum."
)
@_pins_option
def pin(base: str | None, ndk_url: str | None, pins_file: Path | None) -> int:
    """Read digests and checksums from their sources, and record each with source and day."""
    if base is None and ndk_url is None:
        msg = "found nothing to pin, expected --base NAME:TAG, --ndk-url URL, or both"
        raise click.UsageError(msg)
    day = read_today()
    path = _file(pins_file)
    found = dict(pins.read_pins(path))
    if base is not None:
        found[pins.BASE] = pins.pin_base(base, day)
    if ndk_url is not None:
        found[pins.NDK] = pins.pin_ndk(ndk_url, day)
    pins.write_pins(path, found)
    for name, each in sorted(found.items()):
        show(f"{name} {each.value}")
    return EXIT_PASS


def _file(given: Path | None) -> Path:
    return given or builds.recipes() / pins.FILE


def _ndk(
    folder: Path | None, url: str | None, sha256: str | None, recorded: pins.Pin | None
) -> Ndk | None:
    if folder is not None and (url or sha256):
        msg = "an NDK comes from a folder or from an archive, not from both"
        raise click.UsageError(msg)
    if folder is not None:
        return Ndk(folder=folder.resolve())
    if bool(url) != bool(sha256):
        msg = "--ndk-url and --ndk-sha256 go together: an archive is held to its checksum"
        raise click.UsageError(msg)
    if url and sha256:
        if not _SHA256.fullmatch(sha256):
            msg = f"--ndk-sha256: found {sha256[:80]!r}, expected 64 hex digits"
            raise InputError(msg, hint="`megtrim images pin --ndk-url URL` reads it")
        return Ndk(url=url, sha256=sha256.lower())
    return None if recorded is None else pinned_ndk(recorded)
