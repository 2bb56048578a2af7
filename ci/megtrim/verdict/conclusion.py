"""What a verdict adds up to, read without a schema of all the rest: every job has a gate.

Pure. A verdict may contradict itself no more than for :func:`~.model.parse_verdict`; a key that
the gate does not need may be anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from megtrim import json_text
from megtrim.build_spec import Variant
from megtrim.verdict.agreement import expect_agreement, expect_sound
from megtrim.verdict.statuses import (
    CheckKind,
    CheckStatus,
    ScenarioStatus,
    UnverifiedPolicy,
    VerdictKind,
)

VERSION = 3
HINT = "another version of megtrim wrote it, or it was damaged: make the verdict again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What the gate says."""

    verdict: VerdictKind
    headline: str
    unverified: UnverifiedPolicy
    size_bytes: int | None
    """Of the first artifact, trimmed; None if it was not measured."""


def read_conclusion(text: str, *, source: str) -> Conclusion | None:
    """Read verdict.json; None if it has times, which the whole reader has to look at.

    One that is damaged, or contradicts itself, is an InputError.
    """
    return json_text.read(text, _read, source, VERSION, HINT)


def conclude(verdict: Any) -> Conclusion:
    """Return the conclusion of a verdict that was read."""
    sizes = verdict.artifacts[0].sizes if verdict.artifacts else ()
    trimmed = (size.size_bytes for size in sizes if size.variant == Variant.REDUCED)
    return Conclusion(
        verdict=verdict.verdict,
        headline=verdict.headline,
        unverified=verdict.unverified,
        size_bytes=next(trimmed, None),
    )


def _read(document: Any) -> Conclusion | None:
    try:
        verdict = _open(document)
        if verdict.performance is not None:
            return None
        for check in verdict.checks:
            check.kind, check.status = CheckKind(check.kind), CheckStatus(check.status)
        for scenario in verdict.scenarios:
            scenario.status = ScenarioStatus(scenario.status)
        for row in verdict.budgets:
            row.kind, row.status = CheckKind(row.kind), CheckStatus(row.status)
        verdict.verdict = VerdictKind(verdict.verdict)
        verdict.unverified = UnverifiedPolicy(verdict.unverified)
        expect_sound(verdict)
        expect_agreement(verdict)
        if not isinstance(verdict.headline, str) or verdict.version != VERSION:
            msg = f"headline {verdict.headline!r}, version {verdict.version!r}"
            raise TypeError(msg)
        found = conclude(verdict)
        if found.size_bytes is not None and type(found.size_bytes) is not int:
            msg = f"size_bytes {json_text.show(found.size_bytes)}"
            raise TypeError(msg)
        return found
    except (AttributeError, TypeError) as error:
        msg = f"found no verdict ({error}), expected one"
        raise ValueError(msg) from None


def _open(value: Any) -> Any:
    """Let the keys of objects be attributes, as those of a verdict are."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _open(item) for key, item in value.items()})
    return [_open(item) for item in value] if isinstance(value, list) else value
