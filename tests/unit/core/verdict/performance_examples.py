"""Times for tests: rows of every status, a trimmed program, a history with gaps and a change."""

from dataclasses import replace
from datetime import date, timedelta

from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, RatioResult, Reference, SamplesLeftOut, StageTime
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.performance import (
    ChangePoint,
    HistorySeries,
    Performance,
    PerformanceRow,
    Point,
    TrimmingRow,
    VariantTime,
)
from unit.core.verdict.examples import HOSTILE, RESNET, TUNED, facts

BASE = "main at 2981d114c5d7"


def time_of(stage: TimeStage, median_ms: float, *, width: float = 0.02) -> StageTime:
    """Return a time whose interval reaches ``width`` to both sides."""
    return StageTime(
        stage=stage,
        median_ms=median_ms,
        lower_ms=median_ms * (1 - width),
        upper_ms=median_ms * (1 + width),
        processes=12,
        spread=0.018,
    )


def times(inference_ms: float, *, warm_up_ms: float = 28.5) -> tuple[StageTime, ...]:
    return (
        time_of(TimeStage.PREPARE, 1.6),
        time_of(TimeStage.WARM_UP, warm_up_ms),
        time_of(TimeStage.INFERENCE, inference_ms),
    )


def ratio(
    value: float,
    *,
    against: Reference = Reference.BASELINE,
    name: str = "",
    width: float = 0.02,
    different: Answer = Answer.YES,
    exceeds: Answer = Answer.YES,
) -> RatioResult:
    return RatioResult(
        against=against,
        name=name,
        stage=TimeStage.INFERENCE,
        ratio=value,
        lower=value - width,
        upper=value + width,
        pairs=12,
        different=different,
        exceeds=exceeds,
    )


def since(value: float, **changes: object) -> RatioResult:
    return replace(ratio(value, against=Reference.BASE, name=BASE), **changes)  # type: ignore[arg-type]


def row(experiment: str = "baseline", **changes: object) -> PerformanceRow:
    good = PerformanceRow(
        scenario=RESNET,
        cpu_class="any",
        experiment=experiment,
        device="board-1",
        status=PerformanceStatus.MEASURED,
        times=times(5.2),
        time_s=41.5,
        reproduce=f"megtrim perf run --experiment {experiment}",
    )
    return replace(good, **changes)  # type: ignore[arg-type]


def skipped(experiment: str, status: PerformanceStatus, reason: str) -> PerformanceRow:
    return row(experiment, status=status, reason=reason, times=(), time_s=0.0)


NO_CHANGE = since(1.001, different=Answer.NO, exceeds=Answer.NO)
REGRESSED = row(
    "nchw44",
    status=PerformanceStatus.REGRESSED,
    times=times(4.9),
    ratios=(ratio(0.942), since(1.051)),
    left_out=(SamplesLeftOut(reason="throttled", count=3),),
    conditions=("throttled after the run: policy4 is held to 1800 MHz of 2400 MHz",),
)
UNPROVEN = row(
    "weight-preprocess",
    status=PerformanceStatus.INCONCLUSIVE,
    reason="20 minutes were not enough",
    times=times(5.1),
    ratios=(
        ratio(0.98, width=0.05, different=Answer.INCONCLUSIVE, exceeds=Answer.INCONCLUSIVE),
        since(1.012, exceeds=Answer.INCONCLUSIVE),
    ),
)
ROWS = (
    row(ratios=(NO_CHANGE,)),
    row(
        "fast-run",
        times=(*times(3.9, warm_up_ms=1821.5)[:2], time_of(TimeStage.SECOND_WARM_UP, 12.25),
               *times(3.9)[2:]),
        ratios=(ratio(0.75),),
    ),
    row("full-run", times=times(3.8, warm_up_ms=10_212.0), ratios=(ratio(0.731),)),
    REGRESSED,
    row("nchw88", times=times(21.0), ratios=(ratio(4.04),)),
    UNPROVEN,
    skipped("nchw44-dot", PerformanceStatus.SKIPPED, "the device has no dot product"),
    skipped("layout-transform", PerformanceStatus.FAILED, "it hung: ended after 60 s"),
    row("fuse", status=PerformanceStatus.WRONG_OUTPUTS, reason="1 output differs by 0.5",
        times=times(1.1)),
    replace(
        skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "pixel-6 went offline"),
        scenario=TUNED,
        cpu_class="armv82-dotprod",
        device="",
    ),
)  # fmt: skip


def variant(name: str, size_bytes: int, median_ms: float, to_plain: float = 0.0) -> VariantTime:
    """Return a variant; ``to_plain`` 0: it is plain."""
    calm = replace(
        ratio(to_plain or 1.0, against=Reference.PLAIN), different=Answer.NO, exceeds=Answer.NO
    )
    return VariantTime(
        variant=name,
        size_bytes=size_bytes,
        time=time_of(TimeStage.INFERENCE, median_ms),
        ratio=calm if to_plain else None,
    )


TRIMMING = TrimmingRow(
    scenario=RESNET,
    cpu_class="any",
    artifact="load_and_run",
    device="board-1",
    status=PerformanceStatus.MEASURED,
    variants=(
        variant("plain", 39_300_016, 5.2),
        variant("region", 2_900_000, 5.24, 1.008),
        variant("reduced", 2_641_920, 5.18, 0.996),
    ),
    time_s=64.0,
)


def nights(count: int = 60, *, step: float = 1.05, gap: range = range(20, 24)) -> HistorySeries:
    """Return a series that gets slower at two thirds, with nights that are missing."""
    first = date(2026, 3, 1)
    change = count * 2 // 3
    points = []
    for number in range(count):
        if number in gap:
            continue
        median_ms = (5.2 if number < change else 5.2 * step) * (1 + 0.004 * ((number * 7) % 5 - 2))
        points.append(
            Point(
                run=str(number),
                measured_at=f"{first + timedelta(days=number)}T02:00:00Z",
                commit=f"{number:012x}",
                time=time_of(TimeStage.INFERENCE, median_ms, width=0.01),
            )
        )
    day = (first + timedelta(days=change)).isoformat()
    return HistorySeries(
        scenario=RESNET,
        cpu_class="any",
        experiment="baseline",
        points=tuple(points),
        changes=(ChangePoint(date=day, ratio=step),),
    )


def performance(**changes: object) -> Performance:
    all_kinds = Performance(
        threshold=0.01,
        floor_ms=0.2,
        inconclusive="warn",
        rows=ROWS,
        trimming=(TRIMMING,),
        history=(nights(),),
    )
    return replace(all_kinds, **changes)  # type: ignore[arg-type]


def timed(**changes: object) -> Verdict:
    return join(facts(performance=performance(**changes)))


def many(count: int = 500) -> Performance:
    """Return ``count`` rows, fifty for each scenario."""
    rows = tuple(
        row(
            f"experiment-{number % 50}" if number % 50 else "baseline",
            scenario=f"m{number // 50}/default@any",
            times=times(5.0 + number % 7),
            ratios=(ratio(1.0 + number % 7 / 5),) if number % 50 else (),
        )
        for number in range(count)
    )
    return Performance(threshold=0.01, floor_ms=0.0, inconclusive="fail", rows=rows)


def hostile_performance() -> Performance:
    """Return rows and a history whose every free text tries to break out of the report."""
    bad = replace(ratio(1.5, against=Reference.BASE, name=HOSTILE), lower=1.4, upper=None, pairs=3)
    regressed = row(
        HOSTILE,
        scenario=HOSTILE,
        cpu_class=HOSTILE,
        device=HOSTILE,
        status=PerformanceStatus.REGRESSED,
        reason=HOSTILE,
        ratios=(bad,),
        left_out=(SamplesLeftOut(reason=HOSTILE, count=1),),
        conditions=(HOSTILE, "x" * 100_000),
        reproduce=HOSTILE,
    )
    lost = row(
        f"other {HOSTILE}", scenario=HOSTILE, cpu_class=HOSTILE,
        status=PerformanceStatus.FAILED, reason=HOSTILE, times=(),
    )  # fmt: skip
    trimming = replace(
        TRIMMING,
        scenario=HOSTILE,
        artifact=HOSTILE,
        device=HOSTILE,
        variants=(replace(TRIMMING.variants[0], variant=HOSTILE), *TRIMMING.variants[1:]),
    )
    series = replace(nights(3), scenario=HOSTILE, experiment=HOSTILE)
    point = replace(series.points[0], commit=HOSTILE)
    return Performance(
        threshold=0.01,
        floor_ms=0.0,
        inconclusive="fail",
        rows=(regressed, lost),
        trimming=(trimming,),
        history=(replace(series, points=(point, *series.points[1:])),),
    )
