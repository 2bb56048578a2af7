"""How often comparisons of times call a change that is not there, and find one that is.

    python benchmarks/perf_statistics.py                      resample the recorded rounds
    python benchmarks/perf_statistics.py --simulate           draw times of known spread
    python benchmarks/perf_statistics.py --record ROUNDS      record them again
    python benchmarks/perf_statistics.py --live COUNT --slower PERCENT --load
    python benchmarks/perf_statistics.py --live COUNT --slower PERCENT -- load_and_run MODEL …

Recorded rounds are processes of one program, two a round. A resampled comparison draws blocks of
four neighbouring rounds, so that drift of the machine is kept, no round twice. As the two processes
of a round ran the same program, which of them is called the first is open: a coin says so for each
round, as it orders each round of a schedule. `--turn block` throws it once for each block; the
shares then depend on how alike the four rounds happen to be, which few recorded rounds do not tell.
A planted slowdown multiplies the second side.

Simulated times are log-normal, or Student's t with 4 degrees of freedom, and independent. Live
comparisons run real processes until the plan stops, of a program of the benchmark's own or of the
engine; the load is a process that keeps one CPU busy half the time. Recording and live runs need
g++ and taskset.
"""

import json
import math
import os
import platform
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median, quantiles

import click
import numpy as np
from perf_processes import CPUS, Program, calibrate_engine, compile_work
from scipy import stats

from megtrim.core.timing.spec import Criterion
from megtrim.core.timing.times import Answer, RatioResult
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.times.comparison import Pair, compare_at_looks, match_pairs
from megtrim.times.experiments.contest import Sample, SamplingPlan
from megtrim.times.measuring.timing_runs import plan_turns

HERE = Path(__file__).parent
DATA = HERE / "data" / "process_times.json"
BLOCK = 4
PLAN = SamplingPlan()
CRITERION = Criterion(threshold=0.01)
_LOAD = """
import os, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
parent = os.getppid()
while os.getppid() == parent:
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        pass
    time.sleep(0.05)
"""


@click.command()
@click.option("--record", "rounds", type=int, help="Record this many rounds of each block again.")
@click.option("--live", "count", type=int, help="Compare real processes this often.")
@click.option("--slower", type=float, default=0.0, help="Planted slowdown of live runs, percent.")
@click.option("--load", is_flag=True, help="Keep the last CPU busy half the time during live runs.")
@click.option("--draws", default=10_000, show_default=True, help="Comparisons a row.")
@click.option("--turn", type=click.Choice(["round", "block"]), default="round", show_default=True)
@click.argument("program", nargs=-1)
@click.option("--simulate", "simulated", is_flag=True, help="Draw times; read no recorded ones.")
def main(
    rounds: int | None,
    count: int | None,
    slower: float,
    load: bool,
    draws: int,
    turn: str,
    simulated: bool,
    program: tuple[str, ...],
) -> None:
    """Print how often comparisons of times call a change."""
    if simulated:
        simulate(draws)
    elif rounds:
        record(rounds)
    elif count:
        compare_live(count, slower, program, load=load)
    else:
        resample(draws, coin=1 if turn == "round" else BLOCK)


def record(rounds: int) -> None:
    blocks: dict[str, list[list[float]]] = {}
    document: dict[str, object] = {
        "machine": f"{platform.machine()}, {len(CPUS)} CPUs",
        "load_average_at_start": os.getloadavg(),
        "unit": "ms",
        "blocks": blocks,
    }
    with compile_work() as program:
        for name, load in (("no load of ours", False), ("a load on the last CPU", True)):
            with background(load=load):
                turns = plan_turns(["a", "b"], rounds, cpus=CPUS, seed=1)
                samples = [program.run(turn, slower=0) for turn in turns]
            pairs = match_pairs(samples, "a", "b")
            blocks[name] = [[round(time_ms, 4) for time_ms in pair] for pair in pairs]
    document["load_average_at_end"] = os.getloadavg()
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps(document) + "\n", "utf-8")


def resample(draws: int, *, coin: int) -> None:
    document = json.loads(DATA.read_text("utf-8"))
    for name, recorded in document["blocks"].items():
        rounds = [(first, second) for first, second in recorded]
        click.echo(f"{name}: {len(rounds)} rounds, {spread(rounds)}")
        for percent in (0, 3, 5):
            generator = random.Random(percent)
            results = [
                compare_at_looks(draw(rounds, percent, generator, coin), CRITERION, PLAN)
                for _ in range(draws)
            ]
            print_shares(f"  +{percent}%", [result for result in results if result])


def draw(rounds: list[Pair], percent: float, generator: random.Random, coin: int) -> list[Pair]:
    blocks = generator.sample(range(len(rounds) // BLOCK), PLAN.looks[-1] // BLOCK)
    chosen = [pair for block in blocks for pair in rounds[block * BLOCK : (block + 1) * BLOCK]]
    drawn = []
    turned = False
    for number, pair in enumerate(chosen):
        if number % coin == 0:
            turned = generator.random() < 0.5
        first, second = pair[::-1] if turned else pair
        drawn.append((first, second * (1 + percent / 100)))
    return drawn


def simulate(draws: int) -> None:
    generator = np.random.default_rng(1)
    for heavy in (False, True):
        for spread_percent in (1, 2, 3):
            for percent in (0, 1, 2, 3, 5):
                results = [
                    compare_at_looks(
                        make_pairs(generator, spread_percent, percent, heavy=heavy), CRITERION, PLAN
                    )
                    for _ in range(draws)
                ]
                label = f"{'t' if heavy else 'normal'}, spread {spread_percent}%, +{percent}%"
                print_shares(label, [result for result in results if result])


def make_pairs(
    generator: np.random.Generator, spread_percent: float, percent: float, *, heavy: bool
) -> list[Pair]:
    """Draw the pairs of one comparison; with heavy tails by Student's t."""
    shape = (2, PLAN.looks[-1])
    # The standard deviation of t with 4 degrees of freedom is the root of 2.
    noise = (
        generator.standard_t(4, shape) / math.sqrt(2) if heavy else generator.standard_normal(shape)
    )
    first, second = np.exp(noise * spread_percent / 100)
    slowed = second * (1 + percent / 100)
    return list(zip(first, slowed, strict=True))


def compare_live(count: int, slower: float, argv: tuple[str, ...], *, load: bool) -> None:
    open_program = calibrate_engine(argv, slower / 100) if argv else compile_work()
    with open_program as program, background(load=load):
        found = [run_comparison(program, slower, seed=number) for number in range(count)]
    planted = 1 + slower / 100
    rounds = [(first, second / planted) for _, pairs in found for first, second in pairs]
    label = f"live, +{slower}%, {'loaded' if load else 'no load of ours'}"
    click.echo(f"{label}: {len(rounds)} rounds, {spread(rounds)}")
    print_shares(label, [result for result, _ in found])
    ratio = median(second / first for _, pairs in found for first, second in pairs)
    click.echo(f"{label}: median ratio of all rounds {ratio:.4f}")


def run_comparison(program: Program, slower: float, *, seed: int) -> tuple[RatioResult, list[Pair]]:
    turns = plan_turns(["a", "b"], PLAN.looks[-1], cpus=CPUS, width=program.width, seed=seed)
    samples: list[Sample] = []
    result = None
    pairs = []
    for look in PLAN.looks:
        samples += [
            program.run(turn, slower / 100 if turn.contestant == "b" else 0)
            for turn in turns[len(samples) : 2 * look]
        ]
        pairs = match_pairs(samples, "a", "b")
        result = compare_at_looks(pairs, CRITERION, PLAN)
        if result and result.exceeds is not Answer.INCONCLUSIVE:
            break
    assert result
    return result, pairs


def spread(rounds: list[Pair]) -> str:
    times = [time for pair in rounds for time in pair]
    low, _, high = quantiles(times, n=4)
    logs = [math.log(second / first) for first, second in rounds]
    return (
        f"between processes: standard deviation {float(stats.variation(times)):.1%} of the mean, "
        f"interquartile range {(high - low) / median(times):.1%} of the median; "
        f"median |log ratio| within a round {median(map(abs, logs)):.1%}"
    )


def print_shares(label: str, results: list[RatioResult]) -> None:
    answers = Counter(result.exceeds for result in results)
    different = sum(result.different is Answer.YES for result in results)
    slower = sum(result.exceeds is Answer.YES and result.ratio > 1 for result in results)
    click.echo(
        f"{label}: different {share(different, len(results))}; "
        f"slower by more than 1% {share(slower, len(results))}; "
        f"exceeds {share(answers[Answer.YES], len(results))}; "
        f"inconclusive {share(answers[Answer.INCONCLUSIVE], len(results))}; "
        f"pairs {mean(result.pairs for result in results):.1f}"
    )


def share(count: int, total: int) -> str:
    interval = stats.binomtest(count, total).proportion_ci()
    return f"{count}/{total} = {count / total:.2%} ({interval.low:.2%} to {interval.high:.2%})"


@contextmanager
def background(*, load: bool) -> Iterator[None]:
    if not load:
        yield
        return
    command = Command(argv=(sys.executable, "-c", _LOAD), timeout_s=86_400)
    with ProcessRunner(os.environ).background(command):
        yield


if __name__ == "__main__":
    main()
