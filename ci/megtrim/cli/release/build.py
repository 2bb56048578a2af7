"""``megtrim release build``: the release of what a trim made and proved."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from megtrim.cli.export import leave, trim_for_release
from megtrim.cli.session.setup import Options, trimming
from megtrim.packaging.collect import collect_release


@click.command(
    epilog="""\b
Examples:
  megtrim release build camera-1.4
  megtrim release build camera-1.4 --committed
"""
)
@trimming
@click.argument("folder", type=click.Path(path_type=Path))
def build(folder: Path, **options: Any) -> int:
    """Trim, and write a release to FOLDER: the export, its provenance, and SHA256SUMS.

    Equal inputs give equal bytes, in any folder. Nothing is written unless every scenario passed.
    """
    session, status = trim_for_release(Options(**options), folder)
    return status or leave(collect_release(session, megtrim=version("megtrim")), folder)
