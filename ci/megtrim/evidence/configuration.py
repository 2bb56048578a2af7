"""Which configuration a document is of: what one brought says nothing about another.

Part of the evidence room. Two configurations of one repository may have scenarios, devices and
even programs of the same names. Each document thus has the path of its own, as it was given.
"""

from __future__ import annotations

from collections.abc import Iterable

from megtrim.evidence.evidence import Evidence
from megtrim.util.errors import InputError

_HINT = "give what the jobs of one configuration left"


def expect_configuration(what: str, found: str, expected: str) -> None:
    """Raise InputError for a document of another configuration; ``what`` names it."""
    if found != expected:
        msg = f"{what} is of the configuration {found}, expected one of {expected}"
        raise InputError(msg, hint=_HINT)


def expect_evidence_of(expected: str, what: str, entries: Iterable[Evidence]) -> None:
    """Raise InputError if an entry is of another configuration; ``what`` is it called."""
    for each in entries:
        expect_configuration(f"{what} by {each.device.name}", each.config, expected)
