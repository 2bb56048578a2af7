"""``megtrim model show``: what a model file holds."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.cli.options import PATH
from megtrim.models.facts import describe
from megtrim.models.reader import read_model
from megtrim.util.errors import EXIT_PASS
from megtrim.util.files import sha256_file


@click.group()
def model() -> None:
    """Show what model files hold."""


@model.command(
    "show",
    epilog="""\b
Example:
  megtrim model show models/resnet50.mge
""",
)
@click.argument("file", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def show_model(file: Path, as_json: bool) -> int:
    """Print a model's hashes, inputs, outputs, data types and operators."""
    facts = read_model(file)
    digest = sha256_file(file)
    if as_json:
        show(json.dumps({"sha256": digest, **dataclasses.asdict(facts)}, indent=1))
    else:
        show(describe(facts, sha256=digest))
    return EXIT_PASS
