"""From the manifests of the stages that weigh to what a verdict shows of them."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import Variant
from megtrim.pipeline.results import SizeResult, SwitchTableResult
from megtrim.pipeline.session import Session, TaskResults
from megtrim.plan.graph import SIZE, SWITCHES
from megtrim.size.budgets import warn_early
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.notes import CauseNote
from megtrim.verdict.checks import budget_checks
from megtrim.verdict.model import (
    ArtifactSizes,
    BudgetRow,
    BudgetStatus,
    Check,
    SwitchSize,
    VariantSize,
)


def artifact_sizes(session: Session) -> tuple[ArtifactSizes, ...]:
    """Return every artifact with its variants, plain first; nothing if nothing was measured."""
    if SIZE not in session.results.done:
        return ()
    rows = session.results.done[SIZE].result_as(SizeResult).artifacts
    plain = {row.artifact: row.size_bytes for row in rows if row.variant == Variant.PLAIN}
    return tuple(
        ArtifactSizes(
            name=name,
            sizes=tuple(
                VariantSize(
                    variant=row.variant,
                    size_bytes=row.size_bytes,
                    share=row.size_bytes / plain[name],
                    growth_bytes=row.growth_bytes,
                    sections=row.groups,
                    components=row.components,
                    symbols=row.symbols,
                    shares=row.shares,
                )
                for row in rows
                if row.artifact == name
            ),
        )
        for name in session.request.config.artifacts
    )


def budget_rows(results: TaskResults) -> tuple[BudgetRow, ...]:
    """Return every budget as it was judged."""
    if SIZE not in results.done:
        return ()
    return tuple(
        BudgetRow(
            artifact=row.artifact,
            variant=row.variant,
            size_bytes=row.size_bytes,
            max_bytes=row.max_bytes,
            growth_bytes=row.growth_bytes,
            growth_max_bytes=row.growth_max_bytes,
            baseline=row.baseline,
            waiver=row.waiver,
            lapsed=row.lapsed,
            status=BudgetStatus(row.status),
        )
        for row in results.done[SIZE].result_as(SizeResult).budgets
    )


def early_warnings(results: TaskResults) -> tuple[str, ...]:
    """Return a line for each file that is near the limit of its budget."""
    return (
        warn_early(results.done[SIZE].result_as(SizeResult).budgets) if SIZE in results.done else ()
    )


def budget_checks_of(session: Session) -> Iterator[Check]:
    """Yield the checks of all budgets."""
    loaded = session.request.loaded
    lines = {
        each.artifact: loaded.line("budgets", i) for i, each in enumerate(loaded.config.budgets)
    }
    for row in budget_rows(session.results):
        line = lines.get(row.artifact, 1)
        yield from budget_checks(
            row, invocation=session.request.invocation, file=loaded.path.name, line=line
        )


def switch_sizes(results: TaskResults) -> tuple[SwitchSize, ...]:
    """Return the table of switches; nothing where none was measured."""
    if SWITCHES not in results.done:
        return ()
    return results.done[SWITCHES].result_as(SwitchTableResult).rows


def baseline_text(results: TaskResults) -> str:
    """Return what growth was measured against; empty where nothing was."""
    return results.done[SIZE].result_as(SizeResult).baseline if SIZE in results.done else ""


def causes_of_growth(results: TaskResults) -> tuple[Cause, ...]:
    """Return what differs from what the baseline was made from."""
    return results.done[SIZE].result_as(SizeResult).causes if SIZE in results.done else ()


def cause_notes(results: TaskResults) -> tuple[CauseNote, ...]:
    """Return more about each of these causes."""
    return results.done[SIZE].result_as(SizeResult).notes if SIZE in results.done else ()
