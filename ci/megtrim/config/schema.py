"""The form of megtrim.yaml as JSON Schema, for editors that complete and check while typing.

Pure: made from the model. What a schema cannot express (names that must exist, files that must be
there) is checked when the file is loaded.
"""

from __future__ import annotations

from typing import Any

from megtrim.config.model import Config

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the schema as plain data."""
    return {"$schema": DIALECT} | Config.model_json_schema(by_alias=True)
