"""The verdict as plain text for a terminal; the command line colours its statuses. Pure."""

from collections import Counter
from collections.abc import Iterable

from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import VerdictKind
from megtrim.core.config.units import format_bytes
from megtrim.core.report.findings import describe_outcome
from megtrim.core.report.sections import find_times
from megtrim.core.size.report import budgets, tables
from megtrim.core.size.report.tables import describe_forms
from megtrim.core.size.rows import ArtifactSizes
from megtrim.core.trim.results import TrimChoice
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import (
    TO_LOOK_AT,
    TRIMMED,
    functions_of,
    growth_of,
    has_kernels,
    list_urgent,
    name_variant,
    regions_of,
)
from megtrim.libs.render.formatting import align_columns, group_digits, percent
from megtrim.libs.render.markup import command, one_line

_HINT_LIMIT = 2_000
_MOST_OF_A_CAUSE = 3
_LEFT = ("variant", "verdict")
"""Columns of text; the others are numbers."""
_SPARE = ("bytes", "growth", "% of plain", "functions kept", "regions kept")


def render(verdict: Verdict, *, width: int = 0) -> str:
    """``width``: columns that tables are to fit; 0: any."""
    parts = [
        render_sizes(artifact, verdict.trim, verdict, width=width) for artifact in verdict.artifacts
    ]
    committed = verdict.invocation.committed
    kernels = has_kernels(verdict)
    growth = [*tables.explain(verdict, verdict.trim, committed=committed, kernels=kernels)]
    if growth:
        parts.append("\n".join(growth))
    if limits := budgets.text(verdict):
        parts.append(limits)
    times = find_times(verdict)
    if times is not None:
        shown, performance = times
        parts.append(shown.text(performance, width=width))
    parts.append(_conclude(verdict))
    checks = render_urgent(list_urgent(verdict))
    warnings = [f"  warning: {one_line(warning)}" for warning in verdict.warnings]
    parts += ["\n".join(lines) for lines in (checks, warnings) if lines]
    return "\n\n".join(parts) + "\n"


def _conclude(verdict: Verdict) -> str:
    """Begin with what decides; a pass has its sizes in the same line."""
    said = one_line(verdict.headline)
    if verdict.verdict is VerdictKind.PASS:
        return f"verdict: {verdict.verdict}. {said}"
    return f"verdict: {verdict.verdict}. {describe_outcome(verdict)}\n  {said}"


def render_urgent(checks: Iterable[Check]) -> list[str]:
    """Say each; of many that end by one cause only the first, and how many there are."""
    lines: list[str] = []
    printed: set[str] = set()
    urgent = [check for check in checks if check.status in TO_LOOK_AT]
    same = Counter(map(_find_cause, urgent))
    shown: Counter[tuple[str, ...]] = Counter()
    for check in urgent:
        cause = _find_cause(check)
        shown[cause] += 1
        if shown[cause] > _MOST_OF_A_CAUSE:
            if shown[cause] == same[cause]:
                others = group_digits(same[cause] - _MOST_OF_A_CAUSE)
                lines.append(f"  {check.status}: {others} more {check.kind} for the same cause")
            continue
        lines.append(f"  {check.status}: {one_line(check.id)}: {one_line(check.text)}")
        for label, text in (
            ("what to do", one_line(check.hint, limit=_HINT_LIMIT)),
            ("to reproduce", command(check.reproduce)),
        ):
            if text and text not in printed:
                lines.append(f"    {label}: {text}")
                printed.add(text)
    return lines


def _find_cause(check: Check) -> tuple[str, ...]:
    return str(check.status), str(check.kind), check.text, check.hint


def render_sizes(
    artifact: ArtifactSizes, trim: TrimChoice, verdict: Verdict | None = None, *, width: int = 0
) -> str:
    """``verdict``: None where only sizes were taken."""
    variants = [name_variant(size.variant, trim) for size in artifact.sizes]
    columns: dict[str, list[str]] = {
        "variant": [one_line(variant) for variant in variants],
        "bytes": [group_digits(size.size_bytes) for size in artifact.sizes],
        "size": [format_bytes(size.size_bytes) for size in artifact.sizes],
        "% of plain": [percent(size.share) for size in artifact.sizes],
    }
    growth = [growth_of(size) or "-" for size in artifact.sizes]
    has_baseline = verdict.baseline if verdict else any(text != "-" for text in growth)
    if has_baseline:
        columns["growth"] = growth
    if verdict:
        if has_kernels(verdict):
            columns["regions kept"] = [regions_of(size, verdict) or "-" for size in artifact.sizes]
        if verdict.functions:
            columns["functions kept"] = [
                functions_of(size, artifact.name, verdict) or "-" for size in artifact.sizes
            ]
        columns["verdict"] = [
            str(verdict.verdict) if size.variant in TRIMMED else "" for size in artifact.sizes
        ]
    rows = zip(*columns.values(), strict=True)
    lines = align_columns(tuple(columns), rows, _LEFT, width=max(0, width - 2), spare=_SPARE)
    named = zip(variants, artifact.sizes, strict=True)
    said = [(variant, text) for variant, size in named if (text := describe_forms(size))]
    forms = [f"{variant}: {text}" if len(said) > 1 else text for variant, text in said]
    return "\n".join([one_line(artifact.name), *(f"  {line}" for line in (*lines, *forms))])
