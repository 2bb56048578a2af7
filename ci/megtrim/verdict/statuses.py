"""The words of a verdict: what a check looks at, and how checks, scenarios and budgets end.

Pure, words alone, and the one rule of what they add up to.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class VerdictKind(StrEnum):
    """What all checks add up to."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    UNVERIFIED = "unverified"


class CheckKind(StrEnum):
    """What a check looks at."""

    BUILD = "build"
    TRACE = "trace"
    HEADER = "header"
    KEEP_SET = "keep-set"
    REDUCE = "reduce"
    TRAP = "trap"
    PARITY = "parity"
    ENGINE = "engine"
    DEVICE = "device"
    COVERAGE = "coverage"
    LATENCY = "latency"
    NEIGHBOURS = "neighbours"
    SIZE = "size"
    GROWTH = "growth"


class CheckStatus(StrEnum):
    """How a check ended. Skipped says nothing; inconclusive was looked at and says nothing."""

    PASS = "pass"
    FAIL = "fail"
    INFRASTRUCTURE = "infrastructure"
    UNVERIFIED = "unverified"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


class ScenarioStatus(StrEnum):
    """How a scenario ended on the reduced build."""

    PASS = "pass"
    TRAP = "trap"
    PARITY = "parity"
    ENGINE_ERROR = "engine-error"
    INFRASTRUCTURE = "infrastructure"
    UNVERIFIED = "unverified"
    TRACE = "trace"


class BudgetStatus(StrEnum):
    """How a budget ended; skipped: there was nothing to hold it against."""

    PASS = "pass"
    FAIL = "fail"
    SKIPPED = "skipped"


def decide(statuses: Iterable[CheckStatus]) -> VerdictKind:
    """Return what checks that ended so add up to.

    A failed check fails all; else what could not be verified makes it unverified; else what
    cannot be told, or that nothing passed, makes it inconclusive; else it passes.
    """
    seen = frozenset(statuses)
    if CheckStatus.FAIL in seen:
        return VerdictKind.FAIL
    if seen & {CheckStatus.UNVERIFIED, CheckStatus.INFRASTRUCTURE}:
        return VerdictKind.UNVERIFIED
    if CheckStatus.INCONCLUSIVE in seen or CheckStatus.PASS not in seen:
        return VerdictKind.INCONCLUSIVE
    return VerdictKind.PASS
