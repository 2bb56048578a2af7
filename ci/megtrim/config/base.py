"""What all sections of megtrim.yaml, and the kinds of value in them, have in common. Pure."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, WithJsonSchema, model_validator

LONGEST_NAME = 200
"""Characters of a name, and of any other short text."""


class ConfigSection(BaseModel):
    """A mapping of known keys and no others, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, data: object) -> object:
        """Treat a known key without a value (with its entries commented out) as left out."""
        if not isinstance(data, dict):
            return data
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return {key: value for key, value in data.items() if value is not None or key not in known}


def strict_pattern(pattern: str) -> str:
    """Return a pattern whose end is the text's: ``$`` is also before a last line break."""
    return re.sub(r"\$$", r"$(?!\\n)", pattern)


def make_quantity(pattern: str, *, least: int = 0, most: int) -> WithJsonSchema:
    """Return the schema of a whole number, or of a text with a unit."""
    bounds = {"minimum": least, "maximum": most}
    return WithJsonSchema({"type": ["string", "integer"], **bounds, "pattern": pattern})


def make_pattern(pattern: str) -> WithJsonSchema:
    """Return the schema of a short text of this form."""
    return WithJsonSchema(
        {"type": "string", "pattern": strict_pattern(pattern), "maxLength": LONGEST_NAME}
    )


def make_number(bounds: dict[str, Any], pattern: str) -> WithJsonSchema:
    """Return the schema of a number, or of a text that YAML does not take for one."""
    return WithJsonSchema(
        {"type": ["number", "string"], **bounds, "pattern": strict_pattern(pattern)}
    )
