"""How often comparisons of times call a change that is not there, and find one that is.

    python benchmarks/perf_statistics.py                      resample the recorded rounds
    python benchmarks/perf_statistics.py --record ROUNDS      record them again (needs g++)
    python benchmarks/perf_statistics.py --live COUNT --slower PERCENT [--load]

Recorded rounds are processes of one program, two a round. A resampled comparison draws blocks of
four neighbouring rounds, so that drift of the machine is kept, no round twice, and turns the two
sides of each block by a coin. A planted slowdown multiplies the second side. Live comparisons run
real processes until the plan stops; the load is a process that keeps one CPU busy half the time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median, quantiles

from scipy import stats

from megtrim.perf.comparison import (
    Answer,
    Comparison,
    Criterion,
    Pair,
    compare_at_looks,
    match_pairs,
)
from megtrim.perf.samples import Sample, Stage
from megtrim.perf.schedule import Turn, plan_turns
from megtrim.perf.sequential import SamplingPlan

HERE = Path(__file__).parent
DATA = HERE / "data" / "process_times.json"
BLOCK = 4
PLAN = SamplingPlan()
CRITERION = Criterion(threshold=0.01)
_LOAD = """
import os, time
os.sched_setaffinity(0, {1})
parent = os.getppid()
while os.getppid() == parent:
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        pass
    time.sleep(0.05)
"""


def main() -> None:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=int, metavar="ROUNDS")
    parser.add_argument("--live", type=int, metavar="COUNT")
    parser.add_argument("--slower", type=float, default=0.0, metavar="PERCENT")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--draws", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.record:
        record(arguments.record)
    elif arguments.live:
        compare_live(arguments.live, arguments.slower, load=arguments.load)
    else:
        resample(arguments.draws)


def record(rounds: int) -> None:
    """Write the median times of two equal contestants, without load and under load."""
    blocks: dict[str, list[list[float]]] = {}
    document: dict[str, object] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "load_average_at_start": os.getloadavg(),
        "unit": "ms",
        "blocks": blocks,
    }
    with compiled() as program:
        for name, load in (("no load of ours", False), ("one load on CPU 1", True)):
            with background(load=load):
                turns = plan_turns(["a", "b"], rounds, cpus=range(os.cpu_count() or 1), seed=1)
                samples = [run(program, turn, percent=100) for turn in turns]
            pairs = match_pairs(samples, "a", "b", Stage.ITERATION)
            blocks[name] = [[round(p.first_ms, 4), round(p.second_ms, 4)] for p in pairs]
    document["load_average_at_end"] = os.getloadavg()
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps(document) + "\n", "utf-8")


def resample(draws: int) -> None:
    """Print the shares of answers, without a slowdown and with planted ones."""
    document = json.loads(DATA.read_text("utf-8"))
    for name, recorded in document["blocks"].items():
        rounds = [Pair(first_ms=a, second_ms=b) for a, b in recorded]
        print(f"{name}: {len(rounds)} rounds, {spread(rounds)}")
        for percent in (0, 3, 5):
            generator = random.Random(percent)
            results = [
                compare_at_looks(draw(rounds, percent, generator), CRITERION, PLAN)
                for _ in range(draws)
            ]
            print_shares(f"  +{percent}%", [result for result in results if result])


def draw(rounds: list[Pair], percent: float, generator: random.Random) -> list[Pair]:
    """Draw the rounds of one comparison in blocks, none twice."""
    drawn: list[Pair] = []
    for block in generator.sample(range(len(rounds) // BLOCK), PLAN.looks[-1] // BLOCK):
        turned = generator.random() < 0.5
        for pair in rounds[block * BLOCK : (block + 1) * BLOCK]:
            first, second = pair.first_ms, pair.second_ms
            if turned:
                first, second = second, first
            drawn.append(Pair(first_ms=first, second_ms=second * (1 + percent / 100)))
    return drawn


def compare_live(count: int, slower: float, *, load: bool) -> None:
    """Run real comparisons, each until the plan stops."""
    results = []
    with compiled() as program, background(load=load):
        for number in range(count):
            results.append(run_comparison(program, slower, seed=number))
    print_shares(f"live, +{slower}%, {'loaded' if load else 'no load of ours'}", results)


def run_comparison(program: Path, slower: float, *, seed: int) -> Comparison:
    """Run rounds up to each look, until it is clear."""
    turns = plan_turns(["a", "b"], PLAN.looks[-1], cpus=range(os.cpu_count() or 1), seed=seed)
    samples: list[Sample] = []
    result = None
    for look in PLAN.looks:
        for turn in turns[len(samples) : 2 * look]:
            samples.append(run(program, turn, 100 + slower * (turn.contestant == "b")))
        pairs = match_pairs(samples, "a", "b", Stage.ITERATION)
        result = compare_at_looks(pairs, CRITERION, PLAN)
        if result and result.exceeds is not Answer.INCONCLUSIVE:
            return result
    assert result
    return result


def run(program: Path, turn: Turn, percent: float) -> Sample:
    """Run one process as its turn says."""
    finished = subprocess.run(
        [program, "5", str(percent)],
        env={"PADDING": "x" * turn.padding_bytes},
        preexec_fn=lambda: os.sched_setaffinity(0, {turn.cpu}),
        capture_output=True,
        text=True,
        check=True,
    )
    warm_up, *iterations = (float(line) for line in finished.stdout.split())
    return Sample(
        contestant=turn.contestant,
        round_number=turn.round_number,
        position=turn.position,
        warm_ups_ms=(warm_up,),
        iterations_ms=tuple(iterations),
    )


def spread(rounds: list[Pair]) -> str:
    """Describe how processes differ."""
    times = [time for pair in rounds for time in (pair.first_ms, pair.second_ms)]
    low, _, high = quantiles(times, n=4)
    logs = [math.log(pair.second_ms / pair.first_ms) for pair in rounds]
    return (
        f"between processes: standard deviation {float(stats.variation(times)):.1%} of the mean, "
        f"interquartile range {(high - low) / median(times):.1%} of the median; "
        f"median |log ratio| within a round {median(map(abs, logs)):.1%}"
    )


def print_shares(label: str, results: list[Comparison]) -> None:
    """Print how many comparisons gave each answer, with 95% binomial intervals."""
    answers = Counter(result.exceeds for result in results)
    slower = sum(result.exceeds is Answer.YES and result.ratio > 1 for result in results)
    print(
        f"{label}: different {share(sum(r.different for r in results), len(results))}; "
        f"slower by more than 1% {share(slower, len(results))}; "
        f"exceeds {share(answers[Answer.YES], len(results))}; "
        f"inconclusive {share(answers[Answer.INCONCLUSIVE], len(results))}; "
        f"pairs {mean(result.pairs for result in results):.1f}",
        flush=True,
    )


def share(count: int, total: int) -> str:
    """Format a share with its interval."""
    interval = stats.binomtest(count, total).proportion_ci()
    return f"{count}/{total} = {count / total:.2%} ({interval.low:.2%} to {interval.high:.2%})"


@contextmanager
def compiled() -> Iterator[Path]:
    """Compile the program that is timed."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "work"
        subprocess.run(["g++", "-O2", "-o", program, HERE / "perf_work" / "work.cpp"], check=True)
        yield program


@contextmanager
def background(*, load: bool) -> Iterator[None]:
    """Keep CPU 1 busy half the time."""
    if not load:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", _LOAD])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
