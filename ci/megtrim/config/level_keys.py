"""Keys that only mean something where functions are trimmed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.config.document import Document
from megtrim.config.problems import Problem

_KEYS = ("base", "keep")


def level_problems(document: Document) -> Iterator[Problem]:
    """Yield what is said of functions where only regions are trimmed."""
    trim = document.data.get("trim")
    if not isinstance(trim, dict) or trim.get("level") == "function":
        return
    for key in _KEYS:
        if key in trim:
            found = "a key that trims by functions alone obey"
            yield document.problem(("trim", key), found, "level: function beside it")
