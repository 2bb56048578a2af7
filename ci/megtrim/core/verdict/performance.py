"""What a verdict holds about times, and the latency check of each row.

Whoever measured decides. No time passes by default: undecided is *unproven*, wrong outputs fail.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import LOOK_AT_DEVICE
from megtrim.core.checks.statuses import CheckKind, CheckStatus, Contradiction
from megtrim.core.config.problems import Place
from megtrim.core.timing.catalogue import list_experiments
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.timing.times import (
    RatioResult,
    Reference,
    SamplesLeftOut,
    StageTime,
    ratio_with_interval,
)
from megtrim.libs.history.entries import parse_time
from megtrim.libs.util.value import Value

STATUS_WORDS: Mapping[PerformanceStatus, str] = {
    PerformanceStatus.MEASURED: "measured",
    PerformanceStatus.SKIPPED: "skipped",
    PerformanceStatus.FAILED: "failed",
    PerformanceStatus.INFRASTRUCTURE: "infrastructure",
    PerformanceStatus.INCONCLUSIVE: "unproven",
    PerformanceStatus.REGRESSED: "regressed",
    PerformanceStatus.WRONG_OUTPUTS: "wrong outputs",
}

_CHECK_STATUS: Mapping[PerformanceStatus, CheckStatus] = {
    PerformanceStatus.MEASURED: CheckStatus.PASS,
    PerformanceStatus.SKIPPED: CheckStatus.SKIPPED,
    PerformanceStatus.INFRASTRUCTURE: CheckStatus.INFRASTRUCTURE,
}
_DAY = len("2026-11-23")
_HINTS: Mapping[PerformanceStatus, str] = {
    PerformanceStatus.REGRESSED: (
        "look at the changes between the two programs; perf.threshold allows a change "
        "that you accept"
    ),
    PerformanceStatus.WRONG_OUTPUTS: (
        "do not use these flags for this model; compare its outputs with the baseline's"
    ),
    PerformanceStatus.FAILED: "look at the engine's message: the flags may not fit this model",
    PerformanceStatus.INFRASTRUCTURE: LOOK_AT_DEVICE,
    PerformanceStatus.INCONCLUSIVE: (
        "give it more time (perf.budget), a quieter device, or a larger perf.threshold"
    ),
}

_HINTS_OF_COMMANDS: Mapping[PerformanceStatus, str] = {
    PerformanceStatus.WRONG_OUTPUTS: (
        "if this text differs from run to run, list it in the scenario's `vary`; if not, "
        "`megtrim trim` shows whether the program still works"
    ),
    PerformanceStatus.FAILED: (
        "look at the program's message; `megtrim trim` shows whether the program still works"
    ),
}

_SEARCHES = (
    "each of its processes searches, so they are few: measure an experiment that searches once "
    "and then reads a cache or a dumped model"
)


class VariantTime(Value):
    variant: str
    size_bytes: int
    time: StageTime | None = None
    ratio: RatioResult | None = None


class _MeasuredRow(Value):
    scenario: str
    cpu_class: Annotated[str, Field(alias="class")]
    device: str = ""
    emulated: bool = False
    status: PerformanceStatus
    reason: str = ""
    whole: bool = False
    """Of a command, whose whole runs are timed: it has no iterations."""
    left_out: tuple[SamplesLeftOut, ...] = ()
    conditions: tuple[str, ...] = ()
    """One line for each: throttled, a busy machine, a low battery."""
    time_s: float = 0.0
    reproduce: str = ""


class PerformanceRow(_MeasuredRow):
    experiment: str
    times: tuple[StageTime, ...] = ()
    ratios: tuple[RatioResult, ...] = ()

    def __post_init__(self) -> None:
        _expect_status(self)

    @property
    def subject(self) -> str:
        return f"{self.scenario} {self.experiment}"

    @property
    def named_times(self) -> tuple[tuple[str, StageTime], ...]:
        return tuple((time_s.stage.label, time_s) for time_s in self.times)

    @property
    def bounded_times(self) -> tuple[StageTime, ...]:
        return tuple(time_s for time_s in self.times if time_s.upper_ms and time_s.lower_ms > 0)

    @property
    def named_ratios(self) -> tuple[tuple[str, RatioResult], ...]:
        return tuple((ratio.name or str(ratio.against), ratio) for ratio in self.ratios)


class TrimmingRow(_MeasuredRow):
    artifact: str
    variants: tuple[VariantTime, ...]

    def __post_init__(self) -> None:
        _expect_status(self)
        _expect_once(self.subject, (variant.variant for variant in self.variants))

    @property
    def subject(self) -> str:
        return f"{self.scenario} {self.artifact} trimming"

    @property
    def named_times(self) -> tuple[tuple[str, StageTime], ...]:
        return tuple((variant.variant, variant.time) for variant in self.variants if variant.time)

    @property
    def named_ratios(self) -> tuple[tuple[str, RatioResult], ...]:
        return tuple(
            (f"plain ({each.variant})", each.ratio) for each in self.variants if each.ratio
        )


Row = PerformanceRow | TrimmingRow


class Point(Value):
    run: str
    commit: str
    measured_at: str
    time: StageTime

    def __post_init__(self) -> None:
        parse_time("measured_at", self.measured_at)

    @property
    def date(self) -> str:
        return self.measured_at[:_DAY]


class ChangePoint(Value):
    date: str
    ratio: float
    """The night over the program that it was compared with: above 1 is slower."""

    def __post_init__(self) -> None:
        parse_time("date", f"{self.date}T00:00:00Z")


class HistorySeries(Value):
    """One row over nights; a night that is missing has no point."""

    scenario: str
    cpu_class: Annotated[str, Field(alias="class")]
    experiment: str
    whole: bool = False
    """Of a command, whose whole runs are timed."""
    points: tuple[Point, ...]
    changes: tuple[ChangePoint, ...] = ()

    def __post_init__(self) -> None:
        for before, after in pairwise(point.date for point in self.points):
            if before >= after:
                msg = f"history: found {after} after {before}, expected each night once, in order"
                raise ValueError(msg)


class Performance(Value):
    threshold: float
    """A share: 0.01 is 1%."""
    floor_ms: float
    inconclusive: Literal["fail", "warn"]
    rows: tuple[PerformanceRow, ...]
    trimming: tuple[TrimmingRow, ...] = ()
    history: tuple[HistorySeries, ...] = ()

    def __post_init__(self) -> None:
        """A row twice would be two checks and two test cases of one name."""
        _expect_once("performance", (row.subject for row in self.all_rows))

    @property
    def all_rows(self) -> tuple[Row, ...]:
        return (*self.rows, *self.trimming)


def status_of(ratios: Iterable[RatioResult]) -> PerformanceStatus:
    found = tuple(ratios)
    if any(each.regressed for each in found):
        return PerformanceStatus.REGRESSED
    unproven = any(each.unproven for each in found)
    return PerformanceStatus.INCONCLUSIVE if unproven else PerformanceStatus.MEASURED


def check_status(status: PerformanceStatus, inconclusive: Literal["fail", "warn"]) -> CheckStatus:
    if status is PerformanceStatus.INCONCLUSIVE:
        return CheckStatus.FAIL if inconclusive == "fail" else CheckStatus.INCONCLUSIVE
    return _CHECK_STATUS.get(status, CheckStatus.FAIL)


def _expect_status(row: Row) -> None:
    status = row.status
    reason = row.reason.strip()
    if not status.has_times:
        if not reason:
            msg = f"performance: {row.subject}: its status is {status}, and it has no reason"
            raise ValueError(msg)
        return
    if not row.named_times:
        msg = f"performance: {row.subject}: its status is {status}, and it has no times"
        raise ValueError(msg)
    decided = status_of(ratio for _, ratio in row.named_ratios)
    # A comparison that was lost leaves an answer open, and has no ratio: its reason says so.
    left_open = status is PerformanceStatus.INCONCLUSIVE and reason
    if status is not decided and not (left_open and decided is PerformanceStatus.MEASURED):
        msg = f"performance: {row.subject}: its status is {status}, its ratios say {decided}"
        raise ValueError(msg)


def _expect_once(what: str, names: Iterable[str]) -> None:
    twice = Counter(names).most_common(1)
    if twice and twice[0][1] > 1:
        msg = f"{what}: found {twice[0][0][:80]!r} twice, expected each once"
        raise ValueError(msg)


def expect_latency_checks(performance: Performance, statuses: Mapping[str, CheckStatus]) -> None:
    """Raise Contradiction if a row's latency check is not that of ``statuses``, by subject."""
    for row in performance.all_rows:
        expected = check_status(row.status, performance.inconclusive)
        found = statuses.get(row.subject)
        if found is not expected:
            seen = "none" if found is None else str(found)
            msg = f"performance: {row.subject}: found a check of status {seen}, expected {expected}"
            raise Contradiction(msg)


def performance_checks(
    performance: Performance, *, start: Place, places: Mapping[str, Place]
) -> Iterator[Check]:
    searches = {each.name for each in list_experiments() if each.searches}
    for row in performance.all_rows:
        place = places.get(row.scenario, start)
        status = check_status(row.status, performance.inconclusive)
        urgent = status not in (CheckStatus.PASS, CheckStatus.SKIPPED)
        searching = isinstance(row, PerformanceRow) and row.experiment in searches
        hint = _HINTS.get(row.status, "")
        if row.whole:
            hint = _HINTS_OF_COMMANDS.get(row.status, hint)
        if searching and row.status is PerformanceStatus.INCONCLUSIVE:
            hint = _SEARCHES
        yield Check(
            id=f"{CheckKind.LATENCY}:{row.subject}",
            kind=CheckKind.LATENCY,
            subject=row.subject,
            status=status,
            text=_text(row),
            detail="\n".join(_detail(row)) if urgent else "",
            hint=hint,
            time_s=row.time_s,
            file=place.file,
            line=place.line,
            reproduce=row.reproduce,
        )


def summarize(performance: Performance) -> str:
    found = [row.status for row in performance.all_rows]
    counts = [
        f"{found.count(each)} {STATUS_WORDS[each]}" for each in PerformanceStatus if each in found
    ]
    return f"times: {', '.join(counts) or 'none'}"


def _text(row: Row) -> str:
    match row.status:
        case PerformanceStatus.WRONG_OUTPUTS:
            return f"wrong outputs, so its times do not count: {row.reason}"
        case PerformanceStatus.REGRESSED:
            return f"slower by more than the threshold: {_numbers(row)}"
        case PerformanceStatus.INCONCLUSIVE:
            return f"unproven: {row.reason or 'the budget ended first'}; {_numbers(row)}"
        case PerformanceStatus.MEASURED:
            return _numbers(row)
        case _:
            return row.reason


def _numbers(row: Row) -> str:
    times = row.named_times
    if isinstance(row, PerformanceRow):
        shown = [time_s for time_s in times if time_s[1].stage.decides] or times[-1:]
        # What counts comes first: a check is about the earlier program, where there is one.
        ordered = sorted(row.named_ratios, key=lambda each: each[1].against is Reference.BASELINE)
    else:
        shown = list(times)
        ordered = list(row.named_ratios)
    parts = ["emulated"] if row.emulated else []
    parts += [f"{name} {each.median_ms:.4g} ms" for name, each in shown]
    parts += [f"ratio to {name} {ratio_with_interval(each)}" for name, each in ordered]
    return ", ".join(parts)


def _detail(row: Row) -> Iterator[str]:
    yield f"device: {row.device or 'none'}{', emulated' if row.emulated else ''}"
    for name, each in row.named_times:
        upper = "no upper end" if each.upper_ms is None else f"{each.upper_ms:.4g} ms"
        interval = f"interval {each.lower_ms:.4g} ms to {upper}"
        processes = f"{each.processes} processes, spread {each.spread:.1%}"
        yield f"{name}: {each.median_ms:.4g} ms, {interval}, {processes}"
    for name, ratio in row.named_ratios:
        answers = f"different: {ratio.different}, over the threshold: {ratio.exceeds}"
        seen = f"ratio {ratio_with_interval(ratio)}, {ratio.pairs} pairs"
        yield f"{ratio.stage.label} against {name}: {seen}; {answers}"
    yield from (f"left out: {each.count} samples, {each.reason}" for each in row.left_out)
    yield from row.conditions
