"""The texts, icons and number formats that all forms of the report share.

Pure; part of the report room.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from megtrim.build_spec import Origin
from megtrim.checks.statuses import CheckStatus, ScenarioStatus, VerdictKind
from megtrim.config.units import format_growth
from megtrim.size.budget_row import BudgetStatus

if TYPE_CHECKING:
    from megtrim.verdict.model import Check, Rebuild, VariantSize, Verdict

TO_LOOK_AT = (
    CheckStatus.FAIL,
    CheckStatus.INFRASTRUCTURE,
    CheckStatus.UNVERIFIED,
    CheckStatus.INCONCLUSIVE,
)
"""Statuses that keep a verdict from passing, the worst first."""

MEANINGS = {
    VerdictKind.PASS: "Every check passed.",
    VerdictKind.FAIL: "At least one check failed.",
    VerdictKind.UNVERIFIED: "Nothing failed, but not everything could be run.",
    VerdictKind.INCONCLUSIVE: "Nothing failed, but what was seen does not prove that it works.",
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


def list_urgent(verdict: Verdict) -> tuple[Check, ...]:
    """Return the checks that need a person, the worst first."""
    return tuple(
        check for status in TO_LOOK_AT for check in verdict.checks if check.status is status
    )


def list_trimmed(verdict: Verdict) -> tuple[tuple[str, VariantSize], ...]:
    """Return what ships: each artifact's name, and its file when trimmed."""
    return tuple(
        (artifact.name, size)
        for artifact in verdict.artifacts
        for size in artifact.sizes
        if size.variant == "reduced"
    )


def percent(share: float) -> str:
    """Format a fraction: 0.067 is ``6.7%``."""
    return f"{share:.1%}"


def width_of(part: float, whole: float) -> str:
    """Return a part of a picture's width or height: ``12.500%``."""
    return f"{100 * part / whole:.3f}%" if whole > 0 else "0%"


def group_digits(number: int) -> str:
    """Format an integer with separators: ``39,300,016``."""
    return f"{number:,}"


def seconds(time_s: float) -> str:
    """Format a duration: ``0.75 s``, ``12 s``, ``27 min 1 s``."""
    if time_s < 10:
        return f"{time_s:.2f} s"
    whole = round(time_s)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def regions_of(size: VariantSize, verdict: Verdict) -> str:
    """Return how many of all regions a variant has; empty if that is unknown."""
    held, kept = verdict.regions.held, verdict.regions.kept
    reduced = size.variant in ("region", "reduced")
    if not held:
        return group_digits(kept) if kept and reduced else ""
    if size.variant == "plain":
        return ""
    return f"{group_digits(kept if kept and reduced else held)} of {group_digits(held)}"


def functions_of(size: VariantSize, artifact: str, verdict: Verdict) -> str:
    """Return how many of all functions a variant has; empty if that is unknown."""
    found = next((each for each in verdict.functions if each.artifact == artifact), None)
    if found is None or size.variant != "reduced":
        return ""
    return kept_of_held(found.kept, found.held)


def describe_origin(origin: Origin) -> str:
    """Return what a report is of, and who made it: version, pull request, commit, date."""
    parts = [f"megtrim {origin.megtrim}"] if origin.megtrim else []
    if origin.pull_request:
        parts.append(f"pull request {origin.pull_request}")
    if origin.commit:
        day, _, time = origin.committed_at.partition("T")
        of = f" of {day} {time[:5]} UTC" if origin.committed_at else ""
        changed = " with uncommitted changes" if origin.changed else ""
        parts.append(f"commit {origin.commit[:12]}{of}{changed}")
    return ", ".join(parts)


def origin_facts(origin: Origin) -> Mapping[str, str]:
    """Return what is known of where a report is from, by name."""
    known = {name: value for name, value in asdict(origin).items() if value}
    return {name: "yes" if value is True else str(value) for name, value in known.items()}


def describe_rebuild(rebuild: Rebuild) -> str:
    return f"{group_digits(rebuild.compiled)} of {group_digits(rebuild.units)} files"


def kept_of_held(kept: int, held: int) -> str:
    """Return ``53 of 900``, or ``53`` if no profile build shows the total."""
    return f"{group_digits(kept)} of {group_digits(held)}" if held else group_digits(kept)


def growth_of(size: VariantSize) -> str:
    """Return by how much a file grew since the baseline; empty if it is not in there."""
    return "" if size.growth_bytes is None else format_growth(size.growth_bytes)


def align_columns(
    head: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[str]
) -> list[str]:
    """Return the lines of a table; columns in ``words`` are left-aligned, all others right."""
    table = [head, *rows]
    widths = [max(map(_measure, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            _pad(cell, width, left=name in words)
            for cell, width, name in zip(row, widths, head, strict=True)
        ).rstrip()
        for row in table
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def _pad(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - _measure(cell))
    return cell + space if left else space + cell


def _measure(cell: str) -> int:
    """Return how many columns a terminal needs: two for a Chinese character."""
    return len(cell) + sum(east_asian_width(character) in "WF" for character in cell)
