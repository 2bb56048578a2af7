"""From the manifests of the stages that weigh to what a verdict shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from megtrim.build_spec import Variant
from megtrim.config.load import LoadedConfig
from megtrim.config.yaml.document import LARGEST_FILE_BYTES
from megtrim.errors import InputError
from megtrim.input_files import read_bytes
from megtrim.pipeline.results import SizeResult
from megtrim.pipeline.session import Session, TaskResults
from megtrim.plan.graph import SIZE
from megtrim.size.budgets import warn_early
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.notes import CauseNote
from megtrim.size.ratchet import lower_limit
from megtrim.verdict.agreement import name_subject
from megtrim.verdict.checks import budget_checks
from megtrim.verdict.model import (
    ArtifactSizes,
    BudgetRow,
    BudgetStatus,
    Check,
    LowerLimit,
    VariantSize,
)


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


def budget_rows(session: Session) -> tuple[BudgetRow, ...]:
    """Return every budget as it was judged."""
    if SIZE not in session.results.done:
        return ()
    loaded = session.request.loaded
    places = {each.id: index for index, each in enumerate(loaded.config.budgets)}
    return tuple(
        BudgetRow(
            artifact=row.artifact,
            variant=row.variant,
            measure=row.measure,
            owner=row.owner,
            size_bytes=row.size_bytes,
            max_bytes=row.max_bytes,
            warn_bytes=row.warn_bytes,
            growth_bytes=row.growth_bytes,
            growth_max_bytes=row.growth_max_bytes,
            warn_growth_bytes=row.warn_growth_bytes,
            baseline=row.baseline,
            waiver=row.waiver,
            lapsed=row.lapsed,
            acknowledged_bytes=row.acknowledged_bytes,
            acknowledged=row.acknowledged,
            acknowledgeable=row.acknowledgeable,
            ratchet=None
            if row.ratchet_bytes is None or row.budget not in places
            else _lower_limit(row.ratchet_bytes, loaded, places[row.budget]),
            status=BudgetStatus(row.status),
        )
        for row in session.results.done[SIZE].result_as(SizeResult).budgets
    )


def _lower_limit(max_bytes: int, loaded: LoadedConfig, index: int) -> LowerLimit:
    """Return a lower limit with its line, which is empty if no single line says it."""
    path, key = loaded.source("budgets", index, "max")
    place = loaded.place("budgets", index, "max")
    text = ""
    with suppress(InputError):  # a limit that is written in a way of its own is lowered by hand
        raw = read_bytes(path, most_bytes=LARGEST_FILE_BYTES, expected="a megtrim.yaml")
        text = lower_limit(raw, key, max_bytes, file=str(path)).text
    return LowerLimit(max_bytes=max_bytes, text=text, file=place.file, line=place.line)


def early_warnings(results: TaskResults) -> tuple[str, ...]:
    """Return a line for each file that is near the limit of its budget."""
    return (
        warn_early(results.done[SIZE].result_as(SizeResult).budgets) if SIZE in results.done else ()
    )


def budget_checks_of(session: Session) -> Iterator[Check]:
    """Yield the checks of all budgets."""
    loaded = session.request.loaded
    places = {
        name_subject(each.artifact, each.variant, each.measure): loaded.place("budgets", i)
        for i, each in enumerate(loaded.config.budgets)
    }
    for row in budget_rows(session):
        place = places.get(row.subject, loaded.place("budgets"))
        yield from budget_checks(
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
