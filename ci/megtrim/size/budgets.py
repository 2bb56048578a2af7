"""Checks sizes against budgets: a largest size, a largest growth, and leave to exceed them.

A waiver raises both limits of its budget for some time; what a change's own commits acknowledge
lets it grow, once. Pure: the caller passes the sizes and the day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from megtrim.build_spec import Variant
from megtrim.config.measure_names import STRIPPED
from megtrim.config.units import GrowthLimit, format_bytes, format_growth
from megtrim.errors import InputError
from megtrim.size.acknowledgement import Acknowledgements
from megtrim.size.byte_table import ByteTable
from megtrim.size.existing_parts import ExistingParts, list_parts
from megtrim.size.growth.inputs import InputPrint
from megtrim.size.measures import Measures, find_measure
from megtrim.size.prices.price_list import StoredPrice
from megtrim.size.ratchet import propose_limit
from megtrim.strict_json import SignedInt

if TYPE_CHECKING:
    from megtrim.config.model import Budget, Waiver

NOTICE = timedelta(days=14)
"""A waiver that lapses within this time is announced."""

Sizes = Mapping[tuple[str, str], int]
"""Bytes of the stripped file by artifact and variant."""
_NOTHING = Acknowledgements()


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
    measured: Mapping[tuple[str, str], Measures] = field(default_factory=dict)
    """What some of these files measure in other ways."""
    prices: Mapping[str, Mapping[str, StoredPrice]] = field(default_factory=dict)
    """What each model and scenario cost, by file and name."""
    quick: bool = False
    """The sizes are those of a quick trim."""
    config: str = ""
    """Path of their configuration in the repository; empty if that is not known."""
    commit: str = ""
    committed_at: str = ""
    """What they are of, and its time in UTC; empty if that is not known."""
    changed: bool = False
    """They are of files that differ from the commit's."""
    megtrim: str = ""
    """The version of megtrim that measured; empty if that is not known."""

    def growth(self, artifact: str, variant: str, size_bytes: int) -> int | None:
        """Return by how many bytes a file grew; None if the baseline does not list it."""
        before_bytes = self.sizes.get((artifact, variant))
        return None if before_bytes is None else size_bytes - before_bytes

    def find(self, artifact: str, variant: str, measure: str) -> int | None:
        """Return what a file measured; None if the baseline does not say."""
        key = (artifact, variant)
        if key not in self.sizes:
            return None
        measures, table = self.measured.get(key), self.parts.get(key)
        return find_measure(measure, self.sizes[key], measures, table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was built, in all ways that budgets may be about."""

    sizes: Sizes
    measured: Mapping[tuple[str, str], Measures] = field(default_factory=dict)
    parts: Mapping[tuple[str, str], ByteTable] = field(default_factory=dict)
    existing: Mapping[str, ExistingParts] = field(default_factory=dict)
    """What the untrimmed builds of an artifact have, if one of its budgets is of a part that what
    ships does not have."""

    def expect_existing(self, budget: Budget, baseline: Baseline | None) -> None:
        """Raise InputError if a budget is of a part that no build has, nor the baseline."""
        more = ExistingParts()
        for source in (self, *((baseline,) if baseline else ())):
            for key in source.sizes:
                if key[0] == budget.artifact:
                    more |= list_parts(source.measured.get(key), source.parts.get(key))
        found = self.existing.get(budget.artifact, ExistingParts())
        found.expect(budget.measure, more, budget=budget.id, artifact=budget.artifact)

    def find(self, budget: Budget, variant: str) -> int:
        """Return the bytes that a budget is about. Raises InputError if they are not known."""
        key = (budget.artifact, variant)
        if key not in self.sizes:
            msg = f"the budget {budget.id} names an artifact that was not built: {budget.artifact}"
            raise InputError(msg, hint="name one of the key artifacts")
        measures, table = self.measured.get(key), self.parts.get(key)
        found = find_measure(budget.measure, self.sizes[key], measures, table)
        if found is None:
            msg = f"the budget {budget.id} cannot be checked: {budget.measure} was not measured"
            raise InputError(msg, hint=_hint_measure(budget))
        return found


def _hint_measure(budget: Budget) -> str:
    if budget.model is not None:
        return "a budget of a model needs its price: trim.prices: true"
    return "components need symbols: trim.level function, or the toolchain clang-linux-arm64 or ndk"


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
    acknowledged: bool = False
    """So was what commits acknowledge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetResult:
    """One budget, measured."""

    budget: str
    """Its id, which waivers refer to."""
    artifact: str
    variant: str
    measure: str = STRIPPED
    """What was measured; empty: the stripped file."""
    owner: str = ""
    size_bytes: int
    max_bytes: int | None
    warn_bytes: int | None = None
    """Size from which on a warning is given; None: without one."""
    growth_bytes: SignedInt | None
    """None without a baseline."""
    growth_max_bytes: int | None
    warn_growth_bytes: int | None = None
    """Growth from which on a warning is given; None: without one."""
    baseline: str
    """Where the baseline is from; empty if there is none."""
    waiver: str
    """Reasons of the waivers that were needed; empty if none was."""
    lapsed: str
    """The waivers that lapsed before this day: owner, date, reason; empty if none did."""
    acknowledged_bytes: int = 0
    """Growth that commits of the change acknowledge; 0 if that was not needed."""
    acknowledged: str = ""
    """Their reasons, authors and commits; empty if that was not needed."""
    acknowledgeable: bool = False
    """Whether a commit's trailer would count."""
    ratchet_bytes: int | None = None
    """Lower limit that would leave enough room; None: the limit is low enough."""
    status: LimitStatus
    """Failed if one limit is broken; skipped if none could be measured."""
    limits: tuple[BudgetLimit, ...]


@dataclass(frozen=True, slots=True)
class _Leave:
    """The waivers of one budget on one day."""

    counting: tuple[Waiver, ...]
    lapsed: tuple[Waiver, ...]
    acknowledged: Acknowledgements

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
    measured: Measured,
    baseline: Baseline | None,
    waivers: Sequence[Waiver],
    today: date,
    acknowledged: Acknowledgements = _NOTHING,
) -> tuple[BudgetResult, ...]:
    """Check every budget, in order.

    A waiver counts up to and including its last day, and raises both limits of its budget; what is
    acknowledged counts for growth alone. Raises InputError for a budget of what was not measured.
    """
    return tuple(
        _result(budget, measured, baseline, _leave(budget, waivers, today, acknowledged))
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
    """Return a line for each size and growth that its budget warns of, and that did not fail."""
    return tuple(
        f"{line}; {each.owner} owns it" if each.owner else line
        for each in results
        for line in (*_warn_of_size(each), *_warn_of_growth(each))
    )


def _warn_of_size(result: BudgetResult) -> Iterator[str]:
    most, warn, size_bytes = result.max_bytes, result.warn_bytes, result.size_bytes
    if warn is None or size_bytes < warn or (most is not None and size_bytes > most):
        return
    below = (
        f"{format_bytes(most - size_bytes)} below its limit of {format_bytes(most)}; "
        if most
        else ""
    )
    size = f"{result.budget} ({format_bytes(size_bytes)}) is"
    yield (
        f"{size} {below}its budget warns from {format_bytes(warn)}"
        if below
        else f"{size} above {format_bytes(warn)}, from which its budget warns"
    )


def _warn_of_growth(result: BudgetResult) -> Iterator[str]:
    most, warn, growth = result.growth_max_bytes, result.warn_growth_bytes, result.growth_bytes
    if growth is None or warn is None or growth < warn or (most is not None and growth > most):
        return
    grown = f"{result.budget} grew by {format_bytes(growth)}"
    yield f"{grown}; its budget warns from {format_bytes(warn)} of growth"


def _within(left: timedelta) -> str:
    match left.days:
        case 0:
            return "today"
        case 1:
            return "in 1 day"
        case days:
            return f"in {days} days"


def _leave(
    budget: Budget, waivers: Sequence[Waiver], today: date, acknowledged: Acknowledgements
) -> _Leave:
    named = [waiver for waiver in waivers if waiver.budget == budget.id]
    return _Leave(
        counting=tuple(waiver for waiver in named if today <= waiver.expires),
        lapsed=tuple(waiver for waiver in named if today > waiver.expires),
        acknowledged=acknowledged,
    )


def _result(
    budget: Budget, measured: Measured, baseline: Baseline | None, leave: _Leave
) -> BudgetResult:
    variant = str(budget.variant)
    size_bytes = measured.find(budget, variant)
    if not size_bytes:
        measured.expect_existing(budget, baseline)
    before = baseline.find(budget.artifact, variant, budget.measure) if baseline else None
    growth_bytes = None if before is None else size_bytes - before
    max_bytes = None if budget.max_size is None else _find_most(budget.max_size, budget, measured)
    # Without a baseline, a share of what there is shows how much it would be.
    former_bytes = size_bytes if before is None else before
    growth_max_bytes = _bytes_of(budget.growth, former_bytes)
    warn_growth_bytes = _bytes_of(budget.warn_growth, former_bytes)
    limits: list[BudgetLimit] = []
    if max_bytes is not None:
        limits.append(_limit(LimitKind.SIZE, size_bytes, max_bytes, leave))
    if growth_max_bytes is not None:
        limits.append(
            _limit(LimitKind.GROWTH, growth_bytes, growth_max_bytes, leave)
            if growth_bytes is not None
            else _skip_growth(baseline, budget)
        )
    needed = any(limit.acknowledged for limit in limits)
    status = _combine_statuses(limits)
    won = None if status is LimitStatus.FAIL else propose_limit(budget, size_bytes, growth_bytes)
    return BudgetResult(
        budget=budget.id,
        artifact=budget.artifact,
        variant=variant,
        measure=budget.measure,
        owner=budget.owner or "",
        size_bytes=size_bytes,
        max_bytes=max_bytes,
        warn_bytes=_bytes_of(budget.warn, max_bytes or 0),
        growth_bytes=growth_bytes,
        growth_max_bytes=growth_max_bytes,
        warn_growth_bytes=warn_growth_bytes,
        baseline=baseline.source if baseline and growth_bytes is not None else "",
        waiver=leave.reasons() if any(limit.waived for limit in limits) else "",
        lapsed=leave.lapses(),
        acknowledged_bytes=leave.acknowledged.growth_bytes if needed else 0,
        acknowledged=leave.acknowledged.describe() if needed else "",
        acknowledgeable=leave.acknowledged.allowed,
        ratchet_bytes=won,
        status=status,
        limits=tuple(limits),
    )


def _bytes_of(limit: GrowthLimit | None, whole_bytes: int) -> int | None:
    return None if limit is None else limit.limit_bytes(whole_bytes)


def _find_most(limit: GrowthLimit, budget: Budget, measured: Measured) -> int:
    """Return a largest size in bytes; a share is one of the plain build."""
    if not limit.share:
        return limit.size_bytes
    return limit.limit_bytes(measured.find(budget, str(Variant.PLAIN)))


def _limit(kind: LimitKind, size_bytes: int, allowed: int, leave: _Leave) -> BudgetLimit:
    raised = allowed + leave.extra_bytes
    what = _format_measurement(kind, size_bytes)
    if size_bytes <= allowed:
        return BudgetLimit(
            kind=kind, status=LimitStatus.PASS, text=f"{what}, allowed {format_bytes(allowed)}"
        )
    if size_bytes <= raised:
        text = f"{what}, allowed {format_bytes(allowed)} and by waiver {format_bytes(raised)}"
        text = f"{text}: {leave.reasons()}"
        return BudgetLimit(kind=kind, status=LimitStatus.PASS, text=text, waived=True)
    announced = leave.acknowledged if kind is LimitKind.GROWTH else _NOTHING
    if size_bytes <= announced.growth_bytes:
        text = f"{what}, allowed {format_bytes(allowed)}, acknowledged {announced.describe()}"
        return BudgetLimit(kind=kind, status=LimitStatus.PASS, text=text, acknowledged=True)
    most = max(raised, announced.growth_bytes)
    waived = f" (waivers included: {leave.reasons()})" if leave.counting else ""
    lapsed = f"; {leave.lapses()}" if leave.lapsed else ""
    said = f"; acknowledged {announced.describe()}" if announced.entries else ""
    return BudgetLimit(
        kind=kind,
        status=LimitStatus.FAIL,
        text=f"{what}, {format_bytes(size_bytes - most)} over the allowed {format_bytes(most)}"
        f"{waived}{lapsed}{said}",
        hint="see what grew in the report, or waive it with a reason, an owner and a date",
        waived=bool(leave.counting),
        acknowledged=bool(announced.entries),
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
