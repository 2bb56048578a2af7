"""``megtrim release build``: the release of what a trim made and proved."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from megtrim.checks.invocation import Options
from megtrim.cli.options import trimming
from megtrim.cli.release.export import leave, trim_for_release
from megtrim.release.collect import collect_release


@click.command(
    epilog="""\b
Examples:
  megtrim release build camera-1.4
  megtrim release build camera-1.4.tar.gz --committed
  megtrim release build draft --committed --draft
"""
)
@trimming
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--draft",
    is_flag=True,
    help="Devices elsewhere are to prove it: `megtrim release prove` makes it a release.",
)
def build(options: Options, release: Path, draft: bool) -> int:
    """Trim, and write a RELEASE: the export, what it is made of and from, and SHA256SUMS.

    It is a folder, or one file if its name ends with .tar.gz. Equal inputs give equal bytes, in
    any folder. Nothing is written unless every scenario passed.
    """
    session, status = trim_for_release(options, release)
    if status:
        return status
    files = collect_release(session, megtrim=version("megtrim"), draft=draft)
    return leave(files, release)
