"""``megtrim release verify``: whether a release is what was released."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.errors import EXIT_PASS, ProductFailure
from megtrim.packaging.check import check_release


@click.command(
    epilog="""\b
Examples:
  megtrim release verify camera-1.4
  megtrim release verify camera-1.4 --model models/scene.mge
"""
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--sha256",
    default="",
    metavar="DIGEST",
    help="The sha256 of its SHA256SUMS, as the one who released it states it.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A model that it must be able to run.",
)
def verify(folder: Path, sha256: str, model: Path | None) -> int:
    """Check offline that the release in FOLDER is whole, unchanged and proven.

    What is damaged, missing, added, renamed or of another release is named. Without --sha256, a
    release that someone wrote newly from end to end looks like any other.
    """
    found = check_release(folder, expected=sha256, model=model)
    if found.problems:
        listed = "\n".join(f"  {each}" for each in found.problems)
        msg = f"{folder} is not what was released:\n{listed}"
        raise ProductFailure(msg, hint="fetch it again from where it was released")
    show(f"{folder}: {found.files} files are as released, every scenario is proven")
    show(f"sha256 of its SHA256SUMS: {found.sha256}")
    return EXIT_PASS
