"""From the manifests of the stages that weigh to what a verdict shows of them."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import Variant
from megtrim.chain.graph import SIZE
from megtrim.chain.session import Session, TaskResults
from megtrim.checks.check import Check
from megtrim.size.artifact_sizes import ArtifactSizes, VariantSize
from megtrim.size.budget_row import BudgetRow, name_subject
from megtrim.size.budgets import warn_early
from megtrim.size.checks import budget_check
from megtrim.size.growth.inputs import Cause, CauseNote
from megtrim.size.results import SizeResult


def artifact_sizes(session: Session) -> tuple[ArtifactSizes, ...]:
    """Return every artifact with its variants, plain first; nothing if nothing was measured."""
    if SIZE not in session.results.done:
        return ()
    measured = session.results.done[SIZE].result_as(SizeResult)
    rows, prices = measured.artifacts, {each.artifact: each for each in measured.prices}
    maps = {each.artifact: each for each in measured.maps}
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
                    arrivals=row.arrivals,
                    price_changes=row.price_changes,
                )
                for row in rows
                if row.artifact == name
            ),
            prices=prices.get(name),
            byte_map=maps.get(name),
        )
        for name in session.request.config.artifacts
    )


def budget_rows(results: TaskResults) -> tuple[BudgetRow, ...]:
    """Return every limit as it was judged."""
    return results.done[SIZE].result_as(SizeResult).budgets if SIZE in results.done else ()


def early_warnings(results: TaskResults) -> tuple[str, ...]:
    """Return a line for each file that is near the limit of its budget."""
    return warn_early(budget_rows(results))


def budget_checks_of(session: Session) -> Iterator[Check]:
    """Yield the checks of all budgets."""
    loaded = session.request.loaded
    places = {
        name_subject(each.artifact, each.variant, each.measure): loaded.place("budgets", i)
        for i, each in enumerate(loaded.config.budgets)
    }
    for row in budget_rows(session.results):
        place = places.get(row.subject, loaded.place("budgets"))
        yield budget_check(
            row, invocation=session.request.invocation, file=place.file, line=place.line
        )


def baseline_text(results: TaskResults) -> str:
    """Return what growth was measured against; empty where nothing was."""
    return results.done[SIZE].result_as(SizeResult).baseline if SIZE in results.done else ""


def causes_of_growth(results: TaskResults) -> tuple[Cause, ...]:
    """Return what differs from what the baseline was made from."""
    return results.done[SIZE].result_as(SizeResult).causes if SIZE in results.done else ()


def cause_notes(results: TaskResults) -> tuple[CauseNote, ...]:
    """Return more about each of these causes."""
    return results.done[SIZE].result_as(SizeResult).notes if SIZE in results.done else ()
