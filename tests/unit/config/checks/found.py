"""What one check says of a configuration's text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from megtrim.config.yaml.document import Document, parse_document
from megtrim.config.yaml.problems import Problem

Check = Callable[[Document], Iterator[Problem]]


def found_by(check: Check, text: str) -> list[str]:
    """Return the problems in the order of the check, each as the user reads it."""
    return [str(each) for each in check(parse_document(text.encode(), file="f"))]
