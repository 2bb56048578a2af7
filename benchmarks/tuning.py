"""How near a race comes to the fastest flags, and in how many runs.

    python benchmarks/tuning.py
    python benchmarks/tuning.py --landscapes 1000 --spread 5

A landscape gives a time to each of 72 combinations of flags: an effect of each flag, drawn by
chance, and in half of the pairs of flags an interaction. In a flat one they are a tenth of that.
Processes differ by the spread; their times are normal, Student's t with 3 degrees of freedom, or
normal with one process in 20 slower by 8 spreads on average; from round to round the machine drifts
by 5%. An exhaustive search runs all combinations in each of its rounds and takes the fastest by the
median. Losses are against the true fastest. Shares of runs are of 40 rounds with all combinations.
Nothing is run, so any machine gives the same numbers.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import click
import numpy as np

from megtrim.perf.samples import Sample
from megtrim.perf.schedule import Turn
from megtrim.perf.tuning.racing import STAGES, WITHIN, RaceResult, race

CHOICES = (3, 2, 2, 3, 2)
"""Layouts, weights, cache, fusions, recording."""
ROWS = (("rough", "normal"), ("rough", "t"), ("rough", "spikes"), ("flat", "normal"))
FLAT = 0.1
SEARCHES = (6, 12, STAGES[-1])
DRIFT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one search chose."""

    loss: float
    """Time over the fastest's, less 1."""
    share: float
    """Runs over those of an exhaustive search of as many rounds as a race may have."""


@click.command()
@click.option("--landscapes", default=300, show_default=True, help="Landscapes a row.")
@click.option("--spread", "spreads", multiple=True, type=float, default=(1.0, 3.0, 6.0))
@click.option("--seed", default=1, show_default=True)
def main(landscapes: int, spreads: tuple[float, ...], seed: int) -> None:
    """Print losses and runs of races, and of exhaustive searches."""
    for spread, (kind, noise) in itertools.product(spreads, ROWS):
        races: list[Found] = []
        searches: dict[int, list[Found]] = {rounds: [] for rounds in SEARCHES}
        for number in range(landscapes):
            generator = np.random.default_rng((seed, number))
            truth = draw_landscape(generator) * (FLAT if kind == "flat" else 1)
            races.append(hold_race(truth, generator, noise, spread / 100))
            for rounds, found in searches.items():
                found.append(search(truth, generator, noise, spread / 100, rounds))
        label = f"{kind}, spread {spread:g}%, {noise}"
        click.echo(f"{label}: race {describe(races)}")
        for rounds, found in searches.items():
            click.echo(f"{label}: all, {rounds} rounds {describe(found)}")


def draw_landscape(generator: np.random.Generator) -> np.ndarray:
    """Return the logarithm of the time of each combination; the first is the baseline."""
    effects = [generator.normal(-0.05, 0.1, count) for count in CHOICES]
    pairs = {
        pair: generator.normal(0, 0.04, (CHOICES[pair[0]], CHOICES[pair[1]]))
        * (generator.random() < 0.5)
        for pair in itertools.combinations(range(len(CHOICES)), 2)
    }
    logs = [
        sum(effects[place][choice] for place, choice in enumerate(each) if choice)
        + sum(table[each[i], each[j]] for (i, j), table in pairs.items() if each[i] and each[j])
        for each in itertools.product(*(range(count) for count in CHOICES))
    ]
    return np.array(logs)


def hold_race(
    truth: np.ndarray, generator: np.random.Generator, noise: str, spread: float
) -> Found:
    """Race all combinations."""
    names = [f"c{number:02}" for number in range(len(truth))]
    drift = generator.normal(0, DRIFT, STAGES[-1])

    def take(turn: Turn) -> Sample:
        level = truth[int(turn.contestant[1:])] + drift[turn.round_number]
        time_ms = 100 * math.exp(level + float(draw_noise(generator, noise, spread, ())))
        return Sample(
            contestant=turn.contestant,
            round_number=turn.round_number,
            position=turn.position,
            iterations_ms=(time_ms,),
        )

    result: RaceResult = race(names, take, cpus=(0, 1), seed=int(generator.integers(2**32)))
    return make_found(truth, int(result.winner[1:]), result.runs)


def search(
    truth: np.ndarray, generator: np.random.Generator, noise: str, spread: float, rounds: int
) -> Found:
    """Run all combinations in all rounds."""
    shape = (rounds, len(truth))
    logs = truth + draw_noise(generator, noise, spread, shape)
    return make_found(truth, int(np.median(logs, axis=0).argmin()), logs.size)


def draw_noise(
    generator: np.random.Generator, noise: str, spread: float, shape: tuple[int, ...]
) -> np.ndarray:
    """Return what processes differ by."""
    if noise == "t":
        # Its standard deviation is the root of 3.
        return spread * generator.standard_t(3, shape) / math.sqrt(3)
    found = generator.standard_normal(shape)
    if noise == "spikes":
        found = found + (generator.random(shape) < 0.05) * generator.exponential(8, shape)
    return spread * np.asarray(found)


def make_found(truth: np.ndarray, chosen: int, runs: int) -> Found:
    """Compare a choice with the truth."""
    loss = math.expm1(float(truth[chosen] - truth.min()))
    return Found(loss=loss, share=runs / (len(truth) * STAGES[-1]))


def describe(found: list[Found]) -> str:
    """Return shares of landscapes and of runs."""
    near = sum(each.loss <= WITHIN for each in found) / len(found)
    shares = [each.share for each in found]
    return (
        f"within {WITHIN:.0%} of the fastest in {near:.1%}, "
        f"worst loss {max(each.loss for each in found):.1%}; "
        f"runs {np.mean(shares):.1%} on average, {max(shares):.1%} at most"
    )


if __name__ == "__main__":
    main()
