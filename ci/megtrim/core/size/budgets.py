"""Checks sizes against budgets: a largest size, a largest growth, and waivers of both. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from megtrim.core.build_spec import Origin, Variant
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.units import GrowthLimit, Measure
from megtrim.core.size.breakdown import Measures, expect_part, find_measure, list_parts
from megtrim.core.size.byte_table import ByteTable
from megtrim.core.size.counted import Use
from megtrim.core.size.growth.causes import InputPrint
from megtrim.core.size.rows import BudgetRow
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

if TYPE_CHECKING:
    from megtrim.core.config.limits import Budget, Waiver

NO_PARTS: Mapping[str, frozenset[str]] = MappingProxyType({})
NOTICE = timedelta(days=14)

Sizes = Mapping[tuple[str, str], int]
"""Bytes of the stripped file by artifact and variant."""


class Measured(Value):
    sizes: Sizes
    measured: Mapping[tuple[str, str], Measures] = field(default_factory=dict)
    parts: Mapping[tuple[str, str], ByteTable] = field(default_factory=dict)

    def find(self, artifact: str, variant: str, measure: str) -> int | None:
        key = (artifact, variant)
        if key not in self.sizes:
            return None
        return find_measure(measure, self.sizes[key], self.measured.get(key), self.parts.get(key))

    def expect(self, budget: Budget, variant: str) -> int:
        """Return the bytes that a budget is about. Raises InputError if they are not known."""
        if (budget.artifact, variant) not in self.sizes:
            msg = f"the budget {budget.id} names an artifact that was not built: {budget.artifact}"
            raise InputError(msg, hint="name one of the key artifacts")
        size_bytes = self.find(budget.artifact, variant, budget.measure)
        if size_bytes is None:
            msg = f"the budget {budget.id} cannot be checked: {budget.measure} was not measured"
            raise InputError(msg, hint=_hint_measure(budget))
        return size_bytes


class Baseline(Measured):
    source: str = ""
    """Where they are from, such as ``main, 2027-01-31``; without sizes: why there are none."""
    made_from: InputPrint = field(default_factory=InputPrint)
    quick: bool = False
    origin: Origin = field(default_factory=Origin)
    uses: Mapping[str, Use] = field(default_factory=dict)
    """By scenario."""


def _hint_measure(budget: Budget) -> str:
    if budget.model is not None:
        return "a budget of a model needs its price: trim.prices: true"
    if budget.size == "aar":
        return (
            "an AAR contains the only shared library of a toolchain ndk, and only of reduced builds"
        )
    if budget.size in {Measure.REST, Measure.DOWNLOAD}:
        return "only the reduced build of trim.level: deferred or blocks has a rest"
    return "this needs symbols: trim.level function, or a toolchain of clang or ndk"


def check(
    budgets: Sequence[Budget],
    measured: Measured,
    baseline: Baseline | None,
    waivers: Sequence[Waiver],
    today: date,
    existing: Mapping[str, frozenset[str]] = NO_PARTS,
) -> tuple[BudgetRow, ...]:
    """Return a row for each limit of each budget.

    A waiver counts up to and including its last day, and raises both limits of its budget.
    ``existing``: sections and components of the untrimmed builds of an artifact, if one of its
    budgets is of what does not ship. Raises InputError for what was not measured, or never was.
    """
    rows: list[BudgetRow] = []
    for budget in budgets:
        leave = [waiver for waiver in waivers if waiver.budget == budget.id]
        if not measured.expect(budget, str(budget.variant)):
            more: frozenset[str] = frozenset()
            for source in filter(None, (measured, baseline)):
                for key in source.sizes:
                    if key[0] == budget.artifact:
                        more |= list_parts(source.measured.get(key), source.parts.get(key))
            expect_part(budget, existing.get(budget.artifact, frozenset()), more)
        rows += _judge(budget, measured, baseline, leave, today)
    return tuple(rows)


def ending(waivers: Sequence[Waiver], today: date) -> tuple[str, ...]:
    """Return a line for each that still counts and lapses within :data:`NOTICE`."""
    lines = []
    for waiver in sorted(waivers, key=lambda each: (each.expires, each.budget, each.owner)):
        left = waiver.expires - today
        if timedelta(0) <= left <= NOTICE:
            when = f"in {count(left.days, 'day')}" if left.days else "today"
            lapses = f"the waiver of {waiver.owner} for {waiver.budget} lapses"
            lines.append(f"{lapses} after {waiver.expires}, {when}: {waiver.reason}")
    return tuple(lines)


def warn_early(rows: Sequence[BudgetRow]) -> tuple[str, ...]:
    return tuple(
        f"{_warn(row)}; {row.owner} owns it" if row.owner else _warn(row)
        for row in rows
        if row.is_near
    )


def _warn(row: BudgetRow) -> str:
    soft = row.format(row.soft_limit or 0)
    if row.kind is CheckKind.GROWTH:
        grown = row.format(row.used or 0)
        return f"{row.name} grew by {grown}; its budget warns from {soft} of growth"
    size = f"{row.name} ({row.used_text}) is"
    if row.left is None or row.limit is None:
        return f"{size} above {soft}, from which its budget warns"
    below = f"{row.format(row.left)} below its limit of {row.format(row.limit)}"
    return f"{size} {below}; its budget warns from {soft}"


def _judge(
    budget: Budget,
    measured: Measured,
    baseline: Baseline | None,
    waivers: Sequence[Waiver],
    today: date,
) -> Iterator[BudgetRow]:
    variant = str(budget.variant)
    size_bytes = measured.expect(budget, variant)
    before = baseline.find(budget.artifact, variant, budget.measure) if baseline else None
    growth_bytes = None if before is None else size_bytes - before
    counting = [waiver for waiver in waivers if today <= waiver.expires]
    lapsed = [waiver for waiver in waivers if today > waiver.expires]

    def judge(
        kind: CheckKind, used: int | None, limit: int | None, soft_limit: int | None
    ) -> BudgetRow:
        status = CheckStatus.SKIPPED
        needed = []
        if limit is not None and used is not None:
            raised = limit + sum(waiver.extra_bytes for waiver in counting)
            status = CheckStatus.PASS if used <= raised else CheckStatus.FAIL
            if used > limit:
                needed = [
                    f"{waiver.reason} ({waiver.owner}, to {waiver.expires})" for waiver in counting
                ]
        ended = [
            f"the waiver of {waiver.owner} expired on {waiver.expires}: {waiver.reason}"
            for waiver in lapsed
        ]
        return BudgetRow(
            kind=kind,
            artifact=budget.artifact,
            variant=variant,
            measure=budget.measure,
            owner=budget.owner or "",
            used=used,
            limit=limit,
            soft_limit=soft_limit,
            waiver="; ".join(needed),
            lapsed="; ".join(ended),
            status=status,
        )

    is_share = budget.max_size is not None and budget.max_size.share
    plain_bytes = measured.expect(budget, str(Variant.PLAIN)) if is_share else 0
    limit = _bytes_of(budget.max_size, plain_bytes)
    soft_limit = _bytes_of(budget.warn, limit or 0)
    if limit is not None or soft_limit is not None:
        row = judge(CheckKind.SIZE, size_bytes, limit, soft_limit)
        kept = row.status is not CheckStatus.FAIL
        yield replace(row, lower_limit=_propose(budget, size_bytes, growth_bytes) if kept else None)
    # Without a baseline, a share of what there is shows how much it would be.
    former_bytes = size_bytes if before is None else before
    growth_max_bytes = _bytes_of(budget.growth, former_bytes)
    warn_growth_bytes = _bytes_of(budget.warn_growth, former_bytes)
    if growth_max_bytes is not None or warn_growth_bytes is not None:
        row = judge(CheckKind.GROWTH, growth_bytes, growth_max_bytes, warn_growth_bytes)
        source = baseline.source if baseline and growth_bytes is not None else ""
        yield replace(row, baseline=source)


def _bytes_of(limit: GrowthLimit | None, whole_bytes: int) -> int | None:
    return None if limit is None else limit.limit_bytes(whole_bytes)


def _propose(budget: Budget, size_bytes: int, growth_bytes: int | None) -> int | None:
    """Return how low the limit could be, in whole units of it; None: it is low enough.

    With a headroom, ``ratchet``, that is the room; without one, what shrank keeps the room that it
    had. A limit that is a share follows the plain build by itself.
    """
    limit = budget.max_size
    if limit is None or limit.share or size_bytes > limit.size_bytes:
        return None
    if budget.ratchet is not None:
        least_bytes = size_bytes + budget.ratchet.limit_bytes(size_bytes)
    elif growth_bytes is not None and growth_bytes < 0:
        least_bytes = limit.size_bytes + growth_bytes
    else:
        return None
    unit = next((unit for unit in (1024, 1000) if limit.size_bytes % unit == 0), 1)
    lower_limit = -(-max(least_bytes, size_bytes) // unit) * unit
    return lower_limit if lower_limit < limit.size_bytes else None
