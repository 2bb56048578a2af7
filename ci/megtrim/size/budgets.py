"""Checks sizes against budgets: a largest size, a largest growth, and temporary waivers.

Pure: the caller passes the sizes and the day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from megtrim.config.units import format_bytes, format_growth
from megtrim.errors import InputError
from megtrim.size.byte_table import ByteTable
from megtrim.size.growth.inputs import InputPrint
from megtrim.strict_json import SignedInt

if TYPE_CHECKING:
    from megtrim.config.model import Budget, Waiver

NOTICE = timedelta(days=14)
"""A waiver that lapses within this time is announced."""

Sizes = Mapping[tuple[str, str], int]
"""Bytes of the stripped file by artifact and variant."""


class LimitKind(StrEnum):
    """What a limit is about."""

    SIZE = "size"
    GROWTH = "growth"


class LimitStatus(StrEnum):
    """Whether a limit was kept; skipped: there was nothing to compare with."""

    PASS = "pass"
    FAIL = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Sizes that growth is measured against."""

    source: str
    """Where the sizes are from, such as ``main, 2027-01-31``; without sizes: why there are none."""
    sizes: Sizes
    parts: Mapping[tuple[str, str], ByteTable] = field(default_factory=dict)
    """What the bytes of some of these files are."""
    made_from: InputPrint = field(default_factory=InputPrint)
    """What these files were made from."""
    quick: bool = False
    """The sizes are those of a quick trim."""
    config: str = ""
    """Path of their configuration in the repository; empty if that is not known."""

    def growth(self, artifact: str, variant: str, size_bytes: int) -> int | None:
        """Return by how many bytes a file grew; None if the baseline does not list it."""
        before_bytes = self.sizes.get((artifact, variant))
        return None if before_bytes is None else size_bytes - before_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimit:
    """One limit of a budget, and what was measured."""

    kind: LimitKind
    status: LimitStatus
    text: str
    """One line: what was measured and what is allowed."""
    hint: str = ""
    waived: bool = False
    """A waiver was needed, whether it was enough or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetResult:
    """One budget, measured."""

    budget: str
    """Its id, which waivers refer to."""
    artifact: str
    variant: str
    size_bytes: int
    max_bytes: int | None
    warn_bytes: int | None = None
    """Size from which on a warning is given; None: without one."""
    growth_bytes: SignedInt | None
    """None without a baseline."""
    growth_max_bytes: int | None
    baseline: str
    """Where the baseline is from; empty if there is none."""
    waiver: str
    """Reasons of the waivers that were needed; empty if none was."""
    lapsed: str
    """The waivers that lapsed before this day: owner, date, reason; empty if none did."""
    status: LimitStatus
    """Failed if one limit is broken; skipped if none could be measured."""
    limits: tuple[BudgetLimit, ...]


@dataclass(frozen=True, slots=True)
class _Leave:
    """The waivers of one budget on one day."""

    counting: tuple[Waiver, ...]
    lapsed: tuple[Waiver, ...]

    @property
    def extra_bytes(self) -> int:
        return sum(waiver.extra_bytes for waiver in self.counting)

    def reasons(self) -> str:
        return "; ".join(
            f"{each.reason} ({each.owner}, to {each.expires})" for each in self.counting
        )

    def lapses(self) -> str:
        return "; ".join(
            f"the waiver of {each.owner} lapsed on {each.expires}: {each.reason}"
            for each in self.lapsed
        )


def check(
    budgets: Sequence[Budget],
    sizes: Sizes,
    baseline: Baseline | None,
    waivers: Sequence[Waiver],
    today: date,
) -> tuple[BudgetResult, ...]:
    """Check every budget, in order.

    A waiver counts up to and including its last day, and raises both limits of its budget. Raises
    InputError for a budget whose artifact was not measured.
    """
    return tuple(
        _result(budget, sizes, baseline, _leave(budget, waivers, today))
        for budget in budgets
        if budget.weighs
    )


def ending(waivers: Sequence[Waiver], today: date) -> tuple[str, ...]:
    """Return a line for each waiver that still counts and lapses within :data:`NOTICE`."""
    return tuple(
        f"the waiver of {each.owner} for {each.budget} lapses after {each.expires}, "
        f"{_within(each.expires - today)}: {each.reason}"
        for each in sorted(waivers, key=lambda each: (each.expires, each.budget, each.owner))
        if timedelta(0) <= each.expires - today <= NOTICE
    )


def warn_early(results: Sequence[BudgetResult]) -> tuple[str, ...]:
    """Return a line for each file that is near its largest size, and not above it."""
    return tuple(
        f"{each.budget} ({format_bytes(each.size_bytes)}) is {format_bytes(left)} below its limit "
        f"of {format_bytes(each.max_bytes)}; its budget warns from {format_bytes(each.warn_bytes)}"
        for each in results
        if each.max_bytes is not None and each.warn_bytes is not None
        if (left := each.max_bytes - each.size_bytes) >= 0 and each.size_bytes >= each.warn_bytes
    )


def _warn_bytes(budget: Budget) -> int | None:
    if budget.warn is None or budget.max_bytes is None:
        return None
    return budget.warn.limit_bytes(budget.max_bytes)


def _within(left: timedelta) -> str:
    match left.days:
        case 0:
            return "today"
        case 1:
            return "in 1 day"
        case days:
            return f"in {days} days"


def _leave(budget: Budget, waivers: Sequence[Waiver], today: date) -> _Leave:
    named = [waiver for waiver in waivers if waiver.budget == budget.id]
    return _Leave(
        counting=tuple(waiver for waiver in named if today <= waiver.expires),
        lapsed=tuple(waiver for waiver in named if today > waiver.expires),
    )


def _result(budget: Budget, sizes: Sizes, baseline: Baseline | None, leave: _Leave) -> BudgetResult:
    key = (budget.artifact, str(budget.variant))
    if key not in sizes:
        msg = f"the budget {budget.id} names an artifact that was not built: {budget.artifact}"
        raise InputError(msg, hint="name one of the key artifacts")
    size_bytes = sizes[key]
    growth_bytes = baseline.growth(*key, size_bytes) if baseline else None
    limits: list[BudgetLimit] = []
    if budget.max_bytes is not None:
        limits.append(_limit(LimitKind.SIZE, size_bytes, budget.max_bytes, leave))
    growth_max_bytes = None
    if budget.growth is not None:
        # Without a baseline, a share of what there is shows how much it would be.
        growth_max_bytes = budget.growth.limit_bytes(size_bytes - (growth_bytes or 0))
        limits.append(
            _limit(LimitKind.GROWTH, growth_bytes, growth_max_bytes, leave)
            if growth_bytes is not None
            else _skip_growth(baseline, budget)
        )
    return BudgetResult(
        budget=budget.id,
        artifact=budget.artifact,
        variant=key[1],
        size_bytes=size_bytes,
        max_bytes=budget.max_bytes,
        warn_bytes=_warn_bytes(budget),
        growth_bytes=growth_bytes,
        growth_max_bytes=growth_max_bytes,
        baseline=baseline.source if baseline and growth_bytes is not None else "",
        waiver=leave.reasons() if any(limit.waived for limit in limits) else "",
        lapsed=leave.lapses(),
        status=_combine_statuses(limits),
        limits=tuple(limits),
    )


def _limit(kind: LimitKind, measured: int, allowed: int, leave: _Leave) -> BudgetLimit:
    raised = allowed + leave.extra_bytes
    what = _format_measurement(kind, measured)
    if measured <= allowed:
        return BudgetLimit(
            kind=kind, status=LimitStatus.PASS, text=f"{what}, allowed {format_bytes(allowed)}"
        )
    if measured <= raised:
        text = f"{what}, allowed {format_bytes(allowed)} and by waiver {format_bytes(raised)}"
        text = f"{text}: {leave.reasons()}"
        return BudgetLimit(kind=kind, status=LimitStatus.PASS, text=text, waived=True)
    over = format_bytes(measured - raised)
    waived = f" (waivers included: {leave.reasons()})" if leave.counting else ""
    lapsed = f"; {leave.lapses()}" if leave.lapsed else ""
    return BudgetLimit(
        kind=kind,
        status=LimitStatus.FAIL,
        text=f"{what}, {over} over the allowed {format_bytes(raised)}{waived}{lapsed}",
        hint="see what grew in the report, or waive it with a reason, an owner and a date",
        waived=bool(leave.counting),
    )


def _format_measurement(kind: LimitKind, measured: int) -> str:
    match kind:
        case LimitKind.SIZE:
            return f"{format_bytes(measured)} ({measured:,} bytes)"
        case LimitKind.GROWTH:
            return f"{format_growth(measured)} ({measured:+,} bytes)"
    assert_never(kind)


def _skip_growth(baseline: Baseline | None, budget: Budget) -> BudgetLimit:
    why = "there is no baseline"
    if baseline:
        missing = f"{baseline.source} does not list {budget.id}"
        why = missing if baseline.sizes else baseline.source
    return BudgetLimit(
        kind=LimitKind.GROWTH,
        status=LimitStatus.SKIPPED,
        text=f"growth was not checked: {why}",
        hint="keep sizes.json of the main branch's size stage, and name it as baseline",
    )


def _combine_statuses(limits: Sequence[BudgetLimit]) -> LimitStatus:
    found = {limit.status for limit in limits}
    order = (LimitStatus.FAIL, LimitStatus.PASS)
    return next((status for status in order if status in found), LimitStatus.SKIPPED)
