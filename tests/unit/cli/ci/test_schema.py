"""``megtrim ci schema``: the JSON Schema of megtrim.yaml."""

from __future__ import annotations

import json

from unit.cli.support import Shell


def test_schema_prints_the_schema(shell: Shell) -> None:
    """Of the configuration, for editors."""
    schema = json.loads(shell("ci", "schema").out)

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "keep_set" in schema["properties"]
