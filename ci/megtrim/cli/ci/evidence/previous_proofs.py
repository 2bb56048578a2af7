"""``--proofs FILE``: what devices proved in earlier runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from megtrim.evidence.evidence import EvidenceSet, load_proofs
from megtrim.util.console import Console


def proofs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--proofs FILE``."""
    return click.option(
        "--proofs",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Proofs of an earlier run; what they cover is not run again. The file may be missing.",
    )(command)


def read_proofs(path: Path | None, console: Console) -> EvidenceSet:
    """Return the proofs in a file, none if there is no such file.

    A first run has no baseline, and a step of a workflow cannot leave out an option.
    """
    if path is not None and path.exists():
        return load_proofs(path)
    if path is not None:
        console.say(f"no earlier proofs: there is no {path}")
    return EvidenceSet(entries=())
