"""The few words, signs and numbers that every form of the report shares.

Pure; part of the report room.
"""

from __future__ import annotations

from megtrim.config.units import format_growth
from megtrim.verdict.model import Check, Rebuild, VariantSize, Verdict
from megtrim.verdict.statuses import BudgetStatus, CheckStatus, ScenarioStatus, VerdictKind

TO_LOOK_AT = (
    CheckStatus.FAIL,
    CheckStatus.INFRASTRUCTURE,
    CheckStatus.UNVERIFIED,
    CheckStatus.INCONCLUSIVE,
)
"""What keeps a verdict from passing, the worst first."""

MEANINGS = {
    VerdictKind.PASS: "Every check passed.",
    VerdictKind.FAIL: "At least one check failed.",
    VerdictKind.UNVERIFIED: "Nothing failed, but not everything could be run.",
    VerdictKind.INCONCLUSIVE: "Nothing failed, but what was seen does not prove that it works.",
}

# A sign never stands without its word.
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
BUDGET_SIGNS = {
    BudgetStatus.PASS: CHECK_SIGNS[CheckStatus.PASS],
    BudgetStatus.FAIL: CHECK_SIGNS[CheckStatus.FAIL],
    BudgetStatus.SKIPPED: CHECK_SIGNS[CheckStatus.SKIPPED],
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


def to_look_at(verdict: Verdict) -> tuple[Check, ...]:
    """Return the checks that need a person, the worst first."""
    return tuple(
        check for status in TO_LOOK_AT for check in verdict.checks if check.status is status
    )


def percent(share: float) -> str:
    """Write a fraction: 0.067 is ``6.7%``."""
    return f"{share:.1%}"


def group_digits(number: int) -> str:
    """Write a whole number with its thousands apart: ``39,300,016``."""
    return f"{number:,}"


def seconds(time_s: float) -> str:
    """Write a time as people say it: ``0.75 s``, ``12 s``, ``27 min 1 s``."""
    if time_s < 10:
        return f"{time_s:.2f} s"
    whole = round(time_s)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def regions_of(size: VariantSize, verdict: Verdict) -> str:
    """Return how many regions a variant has of those that exist; empty where nobody counted."""
    held, kept = verdict.regions.held, verdict.regions.kept
    reduced = size.variant in ("region", "reduced")
    if not held:
        return group_digits(kept) if kept and reduced else ""
    if size.variant == "plain":
        return ""
    return f"{group_digits(kept if kept and reduced else held)} of {group_digits(held)}"


def functions_of(size: VariantSize, artifact: str, verdict: Verdict) -> str:
    """Return how many functions a variant has of those that exist; empty where nobody counted."""
    found = next((each for each in verdict.functions if each.artifact == artifact), None)
    if found is None or size.variant != "reduced":
        return ""
    return kept_of_held(found.kept, found.held)


def describe_rebuild(rebuild: Rebuild) -> str:
    """Say what was compiled, and whether that was known before."""
    share = f"{group_digits(rebuild.compiled)} of {group_digits(rebuild.units)} files"
    if rebuild.predicted is None:
        return f"{share}: there was no build before it to go on from"
    return f"{share}, {group_digits(rebuild.predicted)} predicted"


def kept_of_held(kept: int, held: int) -> str:
    """Write ``53 of 900``, or ``53`` where no profile build says how many there are."""
    return f"{group_digits(kept)} of {group_digits(held)}" if held else group_digits(kept)


def growth_of(size: VariantSize) -> str:
    """Write by how much a file grew since the baseline; empty where that does not hold it."""
    return "" if size.growth_bytes is None else format_growth(size.growth_bytes)
