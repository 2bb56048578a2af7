"""Parts of the JSON Schema that kinds of value share. Pure."""

from __future__ import annotations

import re
from typing import Any

from pydantic import WithJsonSchema

LONGEST_NAME = 200
"""Characters of a name, and of any other short text."""


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
