"""``megtrim release aar``: one Android library of the releases of several ABIs."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.release.aar import AarPart, collect_part, explain_missing, make_aar
from megtrim.release.archive import expect_new, list_released, open_release, write_file
from megtrim.release.check import check_release, expect_whole
from megtrim.util.errors import EXIT_PASS, InputError

_PATH = click.Path(path_type=Path)


@click.command(
    epilog="""\b
Examples:
  megtrim release aar MegEngineTrimmed.aar camera-1.4-arm64.tar.gz camera-1.4-armv7.tar.gz
"""
)
@click.argument("file", type=_PATH)
@click.argument("releases", type=_PATH, nargs=-1, required=True)
def aar(file: Path, releases: tuple[Path, ...]) -> int:
    """Write one AAR with the libraries of several RELEASES, each of another ABI.

    The releases, folders or .tar.gz, are verified first, and must be of one engine. Equal releases
    give equal bytes, so whoever has them can check it by making it again.
    """
    expect_new(file)
    parts = [_read_part(each) for each in releases]
    write_file(make_aar(parts), file)
    abis = ", ".join(sorted(each.library.target.abi for each in parts))
    show(f"{file}: {parts[0].library.file} for {abis}")
    return EXIT_PASS


def _read_part(release: Path) -> AarPart:
    with open_release(release) as folder:
        found = check_release(folder)
        contents = expect_whole(found, release)
        files = list_released(folder, found.files)
        part = collect_part(contents, files)
        if part is None:
            why = explain_missing(contents, files) or "it holds no shared library for Android"
            msg = f"{release} has nothing for an AAR: {why}"
            raise InputError(msg, hint="name releases of the toolchain ndk with a shared library")
    return part
