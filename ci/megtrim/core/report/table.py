"""The verdict as plain text for a terminal; the command line colours its statuses. Pure."""

from collections.abc import Iterable

from megtrim.core.checks.check import Check
from megtrim.core.config.units import format_bytes
from megtrim.core.report.sections import find_times
from megtrim.core.size.report import budgets, tables
from megtrim.core.size.report.tables import describe_forms
from megtrim.core.size.rows import ArtifactSizes
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import (
    TO_LOOK_AT,
    TRIMMED,
    functions_of,
    growth_of,
    is_of_models,
    list_urgent,
    name_variant,
    regions_of,
)
from megtrim.libs.render.formatting import align_columns, group_digits, percent
from megtrim.libs.render.markup import command, one_line

_HINT_LIMIT = 2_000
_LEFT = ("variant", "verdict")
"""Columns of text; the others are numbers."""
_SPARE = ("bytes", "growth", "% of plain", "functions kept", "regions kept")


def render(verdict: Verdict, *, width: int = 0) -> str:
    """``width``: columns that tables are to fit; 0: any."""
    parts = [render_sizes(artifact, verdict, width=width) for artifact in verdict.artifacts]
    committed = verdict.invocation.committed
    growth = [*tables.explain(verdict, committed=committed, kernels=is_of_models(verdict))]
    if growth:
        parts.append("\n".join(growth))
    if limits := budgets.text(verdict):
        parts.append(limits)
    times = find_times(verdict)
    if times is not None:
        shown, performance = times
        parts.append(shown.text(performance, width=width))
    parts.append(f"verdict: {verdict.verdict}. {one_line(verdict.headline)}")
    checks = render_urgent(list_urgent(verdict))
    warnings = [f"  warning: {one_line(warning)}" for warning in verdict.warnings]
    parts += ["\n".join(lines) for lines in (checks, warnings) if lines]
    return "\n\n".join(parts) + "\n"


def render_urgent(checks: Iterable[Check]) -> list[str]:
    lines: list[str] = []
    printed: set[str] = set()
    for check in checks:
        if check.status not in TO_LOOK_AT:
            continue
        lines.append(f"  {check.status}: {one_line(check.id)}: {one_line(check.text)}")
        for label, text in (
            ("what to do", one_line(check.hint, limit=_HINT_LIMIT)),
            ("to see it again", command(check.reproduce)),
        ):
            if text and text not in printed:
                lines.append(f"    {label}: {text}")
                printed.add(text)
    return lines


def render_sizes(artifact: ArtifactSizes, verdict: Verdict | None = None, *, width: int = 0) -> str:
    """``verdict``: None where only sizes were taken."""
    variants = [size.variant for size in artifact.sizes]
    if verdict:
        variants = [name_variant(variant, verdict.trim) for variant in variants]
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
        if is_of_models(verdict):
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
    said = [(size.variant, text) for size in artifact.sizes if (text := describe_forms(size))]
    forms = [f"{variant}: {text}" if len(said) > 1 else text for variant, text in said]
    return "\n".join([one_line(artifact.name), *(f"  {line}" for line in (*lines, *forms))])
