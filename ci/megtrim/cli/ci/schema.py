"""``megtrim ci schema``: the keys of megtrim.yaml, for editors and linters."""

from __future__ import annotations

import json
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.config.model import Config
from megtrim.errors import EXIT_PASS

ID = "urn:megtrim:megtrim.yaml:1"
"""Name of the schema, by the version of the format: it is published nowhere else."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command(
    epilog="""\b
Example:
  megtrim ci schema > megtrim.schema.json
"""
)
def schema() -> int:
    """Print the JSON Schema of megtrim.yaml, for editors and linters."""
    show(json.dumps(json_schema(), indent=1))
    return EXIT_PASS


def json_schema() -> dict[str, Any]:
    """Return the schema as plain data, made from the model.

    What a schema cannot express (names that must exist, files that must be there) is checked when
    the file is loaded.
    """
    return {"$schema": DIALECT, "$id": ID} | Config.model_json_schema(by_alias=True)
