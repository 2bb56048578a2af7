"""Words of messages and reports that depend on a number."""

from __future__ import annotations


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 file`` or ``2 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
