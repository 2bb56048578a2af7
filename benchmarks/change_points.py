"""How well change points are found: planted steps, drifts, outliers, new devices, quiet nights.

    python benchmarks/change_points.py
    python benchmarks/change_points.py --count 500 --seed 7

Each row is one kind of history under one kind of noise: histories of 120 nights, with a standard
deviation of 1 % of the level, all from one seed. Steps are at least ten nights from both ends.
One row has steps of exactly 2.5 times the noise, the hardest ones. Exits with 1 if a share is not
reached.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import click
import numpy as np
from numpy.typing import NDArray

from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import StageTime
from megtrim.core.verdict.performance import PerformanceRow
from megtrim.libs.history.entries import show_time
from megtrim.times.nights.change_points import Findings, Pattern, find_changes, make_series
from megtrim.times.nights.history import HistoryRun, MeasuredCommit

NIGHTS = 120
LEVEL_MS = 40.0
NOISE = 0.01
"""Standard deviation of a night, as a share of the level."""
LEAST_SILENT = 0.95
_MARGIN = 10
Numbers = NDArray[np.float64]
Draw = np.random.Generator


def gaussian(draw: Draw) -> Numbers:
    return draw.standard_normal(NIGHTS)


def heavy_tails(draw: Draw) -> Numbers:
    """Student's t with 3 degrees of freedom, whose variance is 3."""
    noise: Numbers = draw.standard_t(3, NIGHTS) / np.sqrt(3.0)
    return noise


def resembling(draw: Draw) -> Numbers:
    """Each night is 0.3 of the previous one, and new noise."""
    noise = draw.standard_normal(NIGHTS)
    fresh = np.sqrt(1 - 0.3**2)
    for night in range(1, NIGHTS):
        noise[night] = 0.3 * noise[night - 1] + fresh * noise[night]
    return noise


def skewed(draw: Draw) -> Numbers:
    """Log-normal with sigma 0.5: slow nights are farther out than fast ones."""
    sigma = 0.5
    raw = draw.lognormal(0.0, sigma, NIGHTS)
    mean = np.exp(sigma**2 / 2)
    noise: Numbers = (raw - mean) / (mean * np.sqrt(np.exp(sigma**2) - 1))
    return noise


NOISES: Mapping[str, Callable[[Draw], Numbers]] = {
    "gaussian": gaussian,
    "Student t, 3": heavy_tails,
    "AR 0.3": resembling,
    "log-normal": skewed,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    shape: Numbers
    steps: tuple[int, ...] = ()


def plant_nothing(_draw: Draw) -> Planted:
    return Planted(shape=np.zeros(NIGHTS))


def plant_step(draw: Draw, smallest: float = 2.5, largest: float = 2.5) -> Planted:
    night = int(draw.integers(_MARGIN, NIGHTS - _MARGIN + 1))
    shape = np.zeros(NIGHTS)
    shape[night:] = draw.uniform(smallest, largest) * draw.choice([-1, 1])
    return Planted(shape=shape, steps=(night,))


def plant_larger_step(draw: Draw) -> Planted:
    return plant_step(draw, 2.5, 6.0)


def plant_two_steps(draw: Draw) -> Planted:
    """A regression that is repaired at least 15 nights later."""
    first = int(draw.integers(_MARGIN, NIGHTS - 2 * _MARGIN - 15))
    second = int(draw.integers(first + 15, NIGHTS - _MARGIN + 1))
    shape = np.zeros(NIGHTS)
    shape[first:second] = 3.0
    return Planted(shape=shape, steps=(first, second))


def plant_drift(draw: Draw) -> Planted:
    """A slope over 60 to 120 nights of 4 to 8 times the noise."""
    length = int(draw.integers(60, NIGHTS + 1))
    start = int(draw.integers(0, NIGHTS - length + 1))
    rise = draw.uniform(4.0, 8.0) * draw.choice([-1, 1])
    place = (np.arange(NIGHTS) - start) / (length - 1)
    return Planted(shape=rise * np.clip(place, 0.0, 1.0))


def plant_outliers(draw: Draw) -> Planted:
    """One bad night, or two in a row, three times, a week apart; 6 to 20 times the noise."""
    shape = np.zeros(NIGHTS)
    for first in draw.choice(np.arange(0, NIGHTS - 8, 10), 3, replace=False):
        night = int(first + draw.integers(0, 3))
        shape[night : night + int(draw.integers(1, 3))] = draw.uniform(6.0, 20.0)
    return Planted(shape=shape)


def plant_bad_end(draw: Draw) -> Planted:
    """The last night, or the last two."""
    shape = np.zeros(NIGHTS)
    shape[NIGHTS - int(draw.integers(1, 3)) :] = draw.uniform(6.0, 20.0)
    return Planted(shape=shape)


def is_quiet(found: Findings, _planted: Planted) -> bool:
    return found.pattern is Pattern.QUIET


def is_dated(found: Findings, planted: Planted) -> bool:
    """Every step within two nights, and no other change."""
    dated = [each.first for each in found.changes]
    return len(dated) == len(planted.steps) and all(
        abs(date - step) <= 2 for date, step in zip(dated, planted.steps, strict=True)
    )


def is_drift(found: Findings, planted: Planted) -> bool:
    rises = planted.shape[-1] > planted.shape[0]
    return found.pattern is Pattern.DRIFT and (found.drift_ratio > 1) == rises


KINDS: Mapping[
    str, tuple[Callable[[Draw], Planted], Callable[[Findings, Planted], bool], float]
] = {
    "quiet: not flagged": (plant_nothing, is_quiet, 0.95),
    "step of 2.5 x noise: dated": (plant_step, is_dated, 0.90),
    "step of 2.5 to 6 x noise: dated": (plant_larger_step, is_dated, 0.90),
    "3 x noise, repaired: both dated": (plant_two_steps, is_dated, 0.90),
    "drift: found, not dated": (plant_drift, is_drift, 0.90),
    "outliers: not flagged": (plant_outliers, is_quiet, 0.95),
    "bad last nights: not flagged": (plant_bad_end, is_quiet, 0.95),
}


def make_nights(times_ms: list[float], first_on_new: int) -> list[HistoryRun]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        HistoryRun(
            job="",
            commit=MeasuredCommit(sha=f"{night:040x}", parent="", committed_at=when),
            measured_at=when,
            device=name,
            engine="0" * 64,
            method=1,
            rows=(_make_row(time_ms),),
        )
        for night, time_ms in enumerate(times_ms)
        for when in [show_time(start + timedelta(days=night))]
        for name in ["new" if night >= first_on_new else "old"]
    ]


def _make_row(time_ms: float) -> PerformanceRow:
    time = StageTime(
        stage=TimeStage.INFERENCE,
        processes=10,
        median_ms=time_ms,
        lower_ms=time_ms,
        upper_ms=time_ms,
        spread=0.01,
    )
    return PerformanceRow(
        scenario="model/scenario@c",
        cpu_class="c",
        experiment="reduced",
        device="d",
        status=PerformanceStatus.MEASURED,
        times=(time,),
    )


def count_silent_changes_of_device(
    draw: Draw, make_noise: Callable[[Draw], Numbers], n: int
) -> int:
    """Return how many of ``n`` histories, whose second device is 30 % slower, are not flagged."""
    silent = 0
    for _ in range(n):
        first_on_new = int(draw.integers(_MARGIN, NIGHTS - _MARGIN + 1))
        shape = np.where(np.arange(NIGHTS) >= first_on_new, 0.3 / NOISE, 0.0)
        times_ms = make_history(Planted(shape=shape), make_noise(draw))
        found = make_series(make_nights(times_ms, first_on_new))
        patterns = {series.findings.pattern for series in found}
        silent += len(found) == 2 and patterns <= {Pattern.QUIET, Pattern.TOO_SHORT}
    return silent


def make_history(planted: Planted, noise: Numbers) -> list[float]:
    """Return times in milliseconds. No tail of a distribution makes a time vanish."""
    shares = np.maximum(1 + NOISE * (planted.shape + noise), 0.1)
    return [float(each) for each in LEVEL_MS * shares]


@click.command()
@click.option("--count", default=200, show_default=True, help="Histories of each row.")
@click.option("--seed", default=1, show_default=True)
def main(count: int, seed: int) -> None:
    """Print the share of histories that were judged right, row by row."""
    click.echo(f"{count} histories of {NIGHTS} nights a row, seed {seed}")
    missed = 0
    for place, (kind, (plant, is_right, least)) in enumerate(KINDS.items()):
        for number, (name, make_noise) in enumerate(NOISES.items()):
            draw = np.random.default_rng((seed, place, number))
            right = 0
            covered = 0
            changes = 0
            for _ in range(count):
                planted = plant(draw)
                found = find_changes(make_history(planted, make_noise(draw)))
                right += is_right(found, planted)
                if planted.steps and len(found.changes) == len(planted.steps):
                    for each, step in zip(found.changes, planted.steps, strict=True):
                        covered += each.last_good < step <= each.first_bad
                        changes += 1
            reached = right >= least * count
            missed += not reached
            inside = f"  in its range {covered / changes:6.1%}" if changes else ""
            mark = "" if reached else "  MISSED"
            click.echo(f"{kind:32} {name:13} {right / count:6.1%} of {least:.0%}{inside}{mark}")
    for number, (name, make_noise) in enumerate(NOISES.items()):
        draw = np.random.default_rng((seed, len(KINDS), number))
        right = count_silent_changes_of_device(draw, make_noise, count)
        missed += right < LEAST_SILENT * count
        mark = "" if right >= LEAST_SILENT * count else "  MISSED"
        click.echo(f"{'new device: not flagged':32} {name:13} {right / count:6.1%} of 95%{mark}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
