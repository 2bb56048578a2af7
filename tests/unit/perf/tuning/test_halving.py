"""Who takes part in a search, who goes on, and who wins."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.experiments.situation import Situation
from megtrim.load_and_run.dialects import LITE, SDK
from megtrim.perf.times import Answer, RatioResult, Reference
from megtrim.perf.tuning.halving import Heat, Search, find_fastest, list_candidates
from megtrim.util.errors import InfrastructureFailure, InputError, ProductFailure


def hold(ratios: Mapping[str, object], name: str, rounds: int | None) -> Heat:
    """Return what a contest brings whose ratio is known."""
    found = ratios[name]
    if isinstance(found, PerformanceStatus):
        return Heat(experiment=name, rounds=rounds or 40, status=found, reason="x", ratio=None)
    assert isinstance(found, float)
    ratio = RatioResult(
        against=Reference.BASELINE,
        stage=TimeStage.INFERENCE,
        ratio=found,
        lower=found * 0.99,
        upper=found * 1.01,
        pairs=rounds or 40,
        different=Answer.YES if abs(found - 1) > 0.02 else Answer.INCONCLUSIVE,
        exceeds=Answer.INCONCLUSIVE,
    )
    status = PerformanceStatus.MEASURED
    return Heat(experiment=name, rounds=rounds or 40, status=status, reason="", ratio=ratio)


def search(ratios: Mapping[str, object], contests: int = 99) -> Search:
    """Search among these; the budget ends after so many contests."""
    count = iter(range(contests))
    return find_fastest(
        [*ratios],
        lambda name, rounds: hold(ratios, name, rounds),
        goes_on=lambda: next(count, None) is not None,
    )


@pytest.mark.parametrize(
    ("ratios", "winner", "held"),
    [
        (
            {"a": 0.9, "b": 0.7, "c": 1.2, "d": 0.8, "e": 0.6},
            "e",
            ["a12", "b12", "c12", "d12", "e12", "e16", "b16", "d16", "e24", "b24", "e40"],
        ),
        ({"a": 0.9, "b": 0.8}, "b", ["a12", "b12", "b40"]),
        ({"a": 0.9}, "a", ["a12", "a40"]),
        ({"a": 0.99, "b": 1.3}, "", ["a12", "b12", "a40"]),
        ({"a": 1.1, "b": 1.2}, "", ["a12", "b12", "a40"]),
        ({"a": PerformanceStatus.WRONG_OUTPUTS, "b": 0.9}, "b", ["a12", "b12", "b40"]),
    ],
)
def test_the_faster_half_goes_on(
    ratios: Mapping[str, object], winner: str, held: list[str]
) -> None:
    """With more pairs; the last one wins if it is surely faster, in pairs of their own."""
    found = search(ratios)

    assert [f"{each.experiment}{each.rounds}" for each in found.heats] == held
    assert (found.winner, found.skipped) == (winner, ())


def test_a_budget_ends_a_search() -> None:
    """What was not measured is named; what was is compared once more."""
    found = search({"a": 0.9, "b": 0.8, "c": 0.7}, contests=2)

    assert found.skipped == ("c",)
    assert found.winner == "b"


@pytest.mark.parametrize(
    ("ratios", "contests", "error", "message"),
    [
        ({"a": 0.9}, 0, InputError, "the budget ended before any comparison"),
        ({"a": PerformanceStatus.FAILED}, 9, ProductFailure, "no winner: a: x"),
        ({"a": PerformanceStatus.INFRASTRUCTURE}, 9, InfrastructureFailure, "no winner: a: x"),
        (
            {"a": PerformanceStatus.INFRASTRUCTURE, "b": PerformanceStatus.WRONG_OUTPUTS},
            9,
            ProductFailure,
            "no winner: b: x",
        ),
    ],
)
def test_no_winner_is_made_up(
    ratios: Mapping[str, object],
    contests: int,
    error: type[Exception],
    message: str,
) -> None:
    """The reason is said, and whose fault it is."""
    with pytest.raises(error, match=message):
        search(ratios, contests)


def test_who_takes_part() -> None:
    """What can run; not what searches in each process, nor what shortens a warm-up alone."""
    names = [each.name for each in list_candidates(Situation(dialect=LITE, architecture="x86_64"))]

    assert {"fast-run-cache", "nchw88", "layout-dumped", "recipe-x86", "record-1"} <= {*names}
    assert not {"baseline", "fast-run", "full-run", "layout-online", "nchw44"} & {*names}
    assert not any(name.startswith("fake-first") for name in names)
    old = list_candidates(Situation(dialect=SDK, architecture="aarch64"))
    assert "nchw44" in [each.name for each in old]
