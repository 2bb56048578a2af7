"""What a verdict adds up to, read without a schema of all the rest: every job has a gate."""

from collections import Counter
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TypeAlias

from megtrim.core.build_spec import Variant
from megtrim.core.checks.statuses import (
    UNKNOWN,
    CheckKind,
    CheckStatus,
    Contradiction,
    ScenarioStatus,
    UnverifiedPolicy,
    VerdictKind,
    decide,
    expect_consistent,
)
from megtrim.libs.util import json_text
from megtrim.libs.util.value import Value

Verdict: TypeAlias = Any
BudgetRow: TypeAlias = Any
"""One of :mod:`~.model`, or its document with keys as attributes, which needs no schema."""


def expect_sound(verdict: Verdict) -> None:
    for what, ids in (
        ("checks", [check.id for check in verdict.checks]),
        ("scenarios", [scenario.id for scenario in verdict.scenarios]),
    ):
        twice = Counter(ids).most_common(1)
        if twice and twice[0][1] > 1:
            msg = f"{what}: found id {twice[0][0][:60]!r} twice, expected each id once"
            raise ValueError(msg)
    for scenario in verdict.scenarios:
        expect_consistent(f"scenarios: {scenario.id}", scenario)
    if any(check.line < 1 for check in verdict.checks):
        msg = "checks: found a line below 1, expected 1 or more"
        raise ValueError(msg)
    decided = decide(check.status for check in verdict.checks)
    if verdict.verdict != decided:
        msg = f"verdict: found {verdict.verdict}, expected what its checks add up to: {decided}"
        raise ValueError(msg)


def expect_agreement(verdict: Verdict) -> None:
    by_subject: dict[str, dict[CheckKind, CheckStatus]] = {}
    for check in verdict.checks:
        by_subject.setdefault(check.subject, {})[check.kind] = check.status
    for scenario in verdict.scenarios:
        checks = by_subject.get(scenario.id, {})
        expect_scenario_checks(scenario.id, scenario.status, checks)
    found = {check.id: check.status for check in verdict.checks}
    for row in verdict.budgets:
        subject = f"{row.artifact}/{row.variant} {row.measure}".rstrip()
        expect_budget_check(row, found.get(f"{row.kind}:{subject}"))


def expect_scenario_checks(
    scenario: str, status: ScenarioStatus, checks: Mapping[CheckKind, CheckStatus]
) -> None:
    for kind in (CheckKind.TRAP, CheckKind.PARITY):
        if kind not in checks:
            msg = f"scenario {scenario}: it has no check of kind {kind}"
            raise Contradiction(msg)
        if status in UNKNOWN and checks[kind] == CheckStatus.PASS:
            msg = f"scenario {scenario}: its status is {status}, and its {kind} check passed"
            raise Contradiction(msg)
    failed = status not in (ScenarioStatus.PASS, *UNKNOWN)
    if failed and CheckStatus.FAIL not in checks.values():
        msg = f"scenario {scenario}: its status is {status}, and none of its checks failed"
        raise Contradiction(msg)


def expect_budget_check(row: BudgetRow, found: CheckStatus | None) -> None:
    """More than a limit allows, without a waiver, is a failure whatever the row says."""
    used = row.used
    most = row.limit
    exceeded = used is not None and most is not None and used > most and not row.waiver
    wrong = exceeded and row.status != CheckStatus.FAIL
    if found != row.status or wrong or (used is None and row.status == CheckStatus.PASS):
        shown = f"exceeded: {str(exceeded).lower()}, and its check is {found or 'none'}"
        msg = f"budget {row.kind}:{row.artifact}/{row.variant}: its status is {row.status}, {shown}"
        raise Contradiction(msg)


VERSION = 3
HINT = "another version of megtrim wrote it, or it was damaged: make the verdict again"


class Conclusion(Value):
    verdict: VerdictKind
    headline: str
    unverified: UnverifiedPolicy
    size_bytes: int | None
    """Of the first artifact, trimmed; None if it was not measured."""


def read_conclusion(text: str, *, source: str) -> Conclusion | None:
    """None if it has times, which the whole reader has to look at. Raises InputError."""
    return json_text.read(text, _read, source, VERSION, HINT)


def conclude(verdict: Any) -> Conclusion:
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
            check.kind = CheckKind(check.kind)
            check.status = CheckStatus(check.status)
        for scenario in verdict.scenarios:
            scenario.status = ScenarioStatus(scenario.status)
        for row in verdict.budgets:
            row.kind = CheckKind(row.kind)
            row.status = CheckStatus(row.status)
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
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _open(item) for key, item in value.items()})
    return [_open(item) for item in value] if isinstance(value, list) else value
