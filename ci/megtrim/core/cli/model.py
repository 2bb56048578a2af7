"""``megtrim model show``: what a model file holds."""

from pathlib import Path

import click

from megtrim.core.cli.echo import show, show_json
from megtrim.core.cli.options import PATH, examples, json_option
from megtrim.core.model_facts import describe
from megtrim.core.project import read_any_model
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.strict_json import encode


@click.group()
def model() -> None:
    """Show what model files hold."""


@examples("megtrim model show models/resnet50.mge")
@model.command("show")
@click.argument("file", type=PATH)
@json_option
def show_model(file: Path, as_json: bool) -> None:
    """Print a model's hashes, inputs, outputs, data types and operators."""
    facts = read_any_model(file)
    digest = sha256_file(file)
    if as_json:
        show_json({"sha256": digest, **encode(facts)})
    else:
        show(describe(facts, sha256=digest))
