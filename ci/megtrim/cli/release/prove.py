"""``megtrim release prove``: the release that a draft becomes once devices elsewhere proved it."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.release.export import leave
from megtrim.release.prove import prove_release

_PATH = click.Path(path_type=Path)


@click.command(
    epilog="""\b
Examples:
  megtrim release prove draft camera-1.4 --verdict report/verdict.json --proofs report/evidence.json
  megtrim release prove draft camera-1.4.tar.gz --verdict report/verdict.json --again other-draft
"""
)
@click.argument("draft", type=_PATH)
@click.argument("release", type=_PATH)
@click.option(
    "--verdict",
    type=_PATH,
    required=True,
    metavar="FILE",
    help="The verdict that `megtrim ci evidence join` left.",
)
@click.option("--proofs", type=_PATH, metavar="FILE", help="The evidence.json that it left.")
@click.option(
    "--again",
    type=_PATH,
    metavar="FOLDER",
    help="A draft that was built from the same elsewhere: it must be equal.",
)
def prove(
    draft: Path, release: Path, verdict: Path, proofs: Path | None, again: Path | None
) -> int:
    """Write the release that DRAFT becomes by what devices found elsewhere.

    Nothing is written unless the draft is whole, equal to the one that was built again, and every
    scenario passed on exactly its programs.
    """
    return leave(prove_release(draft, verdict, proofs=proofs, again=again), release)
