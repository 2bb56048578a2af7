"""Keys of a trim that have no effect next to another one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import Problem

FUNCTION_KEYS = ("base", "keep")
COMPILED = ("layout", "minimum_size", "switches")
"""Keys that only a reduced build obeys."""


def level_problems(document: Document) -> Iterator[Problem]:
    """Yield keys about functions if only regions are trimmed, and crash ids without a contract."""
    trim = document.data.get("trim")
    if not isinstance(trim, dict):
        return
    if trim.get("crash_ids") is True and trim.get("layout") == "upstream":
        found = "true next to layout: upstream, whose regions trap as the engine's header says"
        yield document.problem(("trim", "crash_ids"), found, "layout: scoped, or no such key")
    if trim.get("level") == "function":
        if trim.get("base") == "plain":
            yield from _check_compiled_keys(document, trim)
        return
    for key in FUNCTION_KEYS:
        if key in trim:
            found = "a key that has no effect unless functions are trimmed"
            yield document.problem(("trim", key), found, "level: function")


def _check_compiled_keys(document: Document, trim: Mapping[str, object]) -> Iterator[Problem]:
    for key in COMPILED:
        if key in trim:
            found = "a key of reduced builds, and base: plain makes none"
            yield document.problem(("trim", key), found, "base: reduced, or no such key")
