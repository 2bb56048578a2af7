"""``megtrim ci schema``: the keys of megtrim.yaml, for editors and linters."""

from __future__ import annotations

import json

import click

from megtrim.cli.echo import show
from megtrim.config.schema.strict import make_json_schema
from megtrim.errors import EXIT_PASS


@click.command(
    epilog="""\b
Example:
  megtrim ci schema > megtrim.schema.json
"""
)
def schema() -> int:
    """Print the JSON Schema of megtrim.yaml, for editors and linters."""
    show(json.dumps(make_json_schema(), indent=1))
    return EXIT_PASS
