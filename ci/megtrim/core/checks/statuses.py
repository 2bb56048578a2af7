"""The statuses in a verdict: how checks and scenarios end, and what they add up to. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.wording import count

Outcome: TypeAlias = Any
"""A :class:`~.check.ScenarioOutcome`, or its document with keys as attributes."""


class VerdictKind(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    UNVERIFIED = "unverified"


class UnverifiedPolicy(StrEnum):
    """What an unverified verdict means for a check: it stays green, or it is red."""

    WARN = "warn"
    FAIL = "fail"


class CheckKind(StrEnum):
    BUILD = "build"
    TRACE = "trace"
    HEADER = "header"
    KEEP_SET = "keep-set"
    REDUCE = "reduce"
    DEFERRAL = "deferral"
    PAGES = "pages"
    TRAP = "trap"
    PARITY = "parity"
    TESTS = "tests"
    ENGINE = "engine"
    DEVICE = "device"
    COVERAGE = "coverage"
    LATENCY = "latency"
    SIZE = "size"
    GROWTH = "growth"


class PendingReason(StrEnum):
    """Why a job on a device has brought nothing."""

    FORK = "fork"
    NO_RUNNER = "no-runner"
    APPROVAL = "approval"
    LATE = "late"


class CheckStatus(StrEnum):
    """How a check ended. Skipped: it was not run. Inconclusive: it was, and showed nothing."""

    PASS = "pass"
    FAIL = "fail"
    INFRASTRUCTURE = "infrastructure"
    UNVERIFIED = "unverified"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


class ScenarioStatus(StrEnum):
    PASS = "pass"
    TRAP = "trap"
    PARITY = "parity"
    ENGINE_ERROR = "engine-error"
    INFRASTRUCTURE = "infrastructure"
    UNVERIFIED = "unverified"
    TRACE = "trace"


def decide(statuses: Iterable[CheckStatus]) -> VerdictKind:
    """Return the verdict that follows from the statuses of all checks.

    One failure makes it a failure; otherwise, a check that could not be run makes it unverified;
    otherwise, an inconclusive check, or no pass at all, makes it inconclusive.
    """
    seen = frozenset(statuses)
    if CheckStatus.FAIL in seen:
        return VerdictKind.FAIL
    if seen & {CheckStatus.UNVERIFIED, CheckStatus.INFRASTRUCTURE}:
        return VerdictKind.UNVERIFIED
    if CheckStatus.INCONCLUSIVE in seen or CheckStatus.PASS not in seen:
        return VerdictKind.INCONCLUSIVE
    return VerdictKind.PASS


def exit_code(verdict: VerdictKind, unverified: UnverifiedPolicy = UnverifiedPolicy.WARN) -> int:
    """Return 1 for a failure, 3 for an unverified one that the team wants to know of, else 0."""
    if verdict is VerdictKind.UNVERIFIED and unverified is UnverifiedPolicy.FAIL:
        return InfrastructureFailure.exit_code
    return ProductFailure.exit_code if verdict is VerdictKind.FAIL else EXIT_PASS


MEANINGS = {
    VerdictKind.PASS: "Every check passed.",
    VerdictKind.FAIL: "At least one check failed.",
    VerdictKind.UNVERIFIED: "Nothing failed, but not everything could be run.",
    VerdictKind.INCONCLUSIVE: "Nothing failed, but the runs do not prove that it works.",
}


# An icon never appears without its word.
VERDICT_SIGNS = {
    VerdictKind.PASS: "✅",
    VerdictKind.FAIL: "❌",
    VerdictKind.UNVERIFIED: "⚠️",
    VerdictKind.INCONCLUSIVE: "❔",
}

CHECK_SIGNS = {
    CheckStatus.PASS: "✅ pass",
    CheckStatus.FAIL: "❌ fail",
    CheckStatus.INFRASTRUCTURE: "⚠️ infrastructure",
    CheckStatus.UNVERIFIED: "⚠️ unverified",
    CheckStatus.INCONCLUSIVE: "❔ inconclusive",
    CheckStatus.SKIPPED: "◽ skipped",
}

SCENARIO_STATUSES = {
    ScenarioStatus.PASS: CheckStatus.PASS,
    ScenarioStatus.TRAP: CheckStatus.FAIL,
    ScenarioStatus.PARITY: CheckStatus.FAIL,
    ScenarioStatus.ENGINE_ERROR: CheckStatus.FAIL,
    ScenarioStatus.TRACE: CheckStatus.FAIL,
    ScenarioStatus.INFRASTRUCTURE: CheckStatus.INFRASTRUCTURE,
    ScenarioStatus.UNVERIFIED: CheckStatus.UNVERIFIED,
}


class Contradiction(InputError):
    """A document contradicts itself, so no one knows which part is true."""


def expect_consistent(subject: str, outcome: Outcome, *, compared: bool = True) -> None:
    """``compared``: a pass must hold outputs, because it says that they are equal."""
    objections = list(_signs_of_failure(outcome))
    if outcome.status == ScenarioStatus.PASS and compared:
        objections += _signs_of_nothing(outcome.outputs)
    if objections and outcome.status in (ScenarioStatus.PASS, *UNKNOWN):
        msg = f"{subject}: its status is {outcome.status}, and {objections[0]}"
        raise Contradiction(msg)


def _signs_of_failure(outcome: Outcome) -> Iterator[str]:
    if outcome.missing_regions:
        yield f"it misses {count(len(outcome.missing_regions), 'region')}"
    if outcome.crash:
        yield "its program crashed"
    for output in outcome.outputs:
        if not output.equal:
            yield f"output {output.name} differs"


def _signs_of_nothing(outputs: Sequence[Any]) -> Iterator[str]:
    if not outputs:
        yield "it has no output"
    for name, times in sorted(Counter(output.name for output in outputs).items()):
        if times > 1:
            yield f"output {name} occurs {times} times"
    for output in outputs:
        if output.size_bytes == 0:
            yield f"output {output.name} is empty"
        if output.largest_difference is None:
            yield f"output {output.name} could not be compared"


UNKNOWN = (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)
