"""Time of an iteration in one program over that in another, also of programs that print nothing.

    python benchmarks/latency.py BEFORE AFTER -- $PWD/MODEL --cpu --input data:$PWD/data.npy
    python benchmarks/latency.py --launcher "qemu-aarch64-static -L SYSROOT" BEFORE AFTER -- /MODEL

Programs run in a folder that is removed afterwards, so paths in their arguments are absolute.

A minimum-size build tells no times. So a program runs with few iterations and with many, and the
difference is shared out: (wall of MANY - wall of FEW) / (MANY - FEW); what start and end take is
in both. The programs take turns, BEFORE a second time in each round: the ratio of its two turns
is what this machine cannot tell apart. The figure to quote is the median of the rounds' ratios of
wall time. CPU time, and the fastest runs of all rounds, are less disturbed by other programs.
"""

import math
import os
import resource
import shlex
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from megtrim.libs.util.process import Command, ProcessRunner

ROUNDS = 11
SECONDS = 2.0
FEW = 1
_MOST = 100_000
_ORDERS = ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1), (0, 2, 1), (1, 2, 0))
_TIMEOUT_S = 3600.0

Run = Callable[[int], None]
"""Runs a program with so many iterations, or raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What an iteration took: wall time, and CPU time of this machine's programs."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A run with few iterations and one with many, of which ``share`` more."""

    few: Took
    many: Took
    share: int

    @property
    def wall_s(self) -> float:
        return (self.many.wall_s - self.few.wall_s) / self.share

    @property
    def cpu_s(self) -> float:
        return (self.many.cpu_s - self.few.cpu_s) / self.share


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Median of the rounds, and the quarters below and above which the outer ones lie."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3f} ({self.low:.3f} .. {self.high:.3f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A program's time of an iteration over that of BEFORE, which ran in the same rounds."""

    wall: Ratio
    cpu: Ratio
    fastest: float
    """Wall time by the fastest run of each kind, in whatever round that was."""

    def __str__(self) -> str:
        return f"wall {self.wall}  CPU {self.cpu}  fastest {self.fastest:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """AFTER beside BEFORE, and BEFORE beside itself."""

    rounds: int
    iterations: int
    """By which the long runs were longer."""
    iteration_s: float
    after: Beside
    again: Beside

    def __str__(self) -> str:
        told = f"{self.rounds} rounds, {self.iterations} iterations more"
        return (
            f"{told}, {1000 * self.iteration_s:.2f} ms each before\n"
            f"after         {self.after}\n"
            f"before again  {self.again}"
        )


def compare(before: Run, after: Run, again: Run, *, seconds: float, rounds: int) -> Compared:
    """Time the three in turns; ``again`` is the same program as ``before``."""
    share = _enough(before, seconds)
    runs = (before, after, again)
    turns: tuple[list[Turn], list[Turn], list[Turn]] = ([], [], [])
    for number in range(rounds):
        # Nobody is always the first, or always behind the same one.
        for place in _ORDERS[number % len(_ORDERS)]:
            run = runs[place]
            turns[place].append(_turn(run, share, backwards=number % 2 == 1))
    first, second, third = turns
    return Compared(
        rounds=rounds,
        iterations=share,
        iteration_s=statistics.median(turn.wall_s for turn in first),
        after=beside(first, second),
        again=beside(first, third),
    )


def beside(before: Sequence[Turn], after: Sequence[Turn]) -> Beside:
    pairs = list(zip(before, after, strict=True))
    return Beside(
        wall=ratio([(first.wall_s, second.wall_s) for first, second in pairs]),
        cpu=ratio([(first.cpu_s, second.cpu_s) for first, second in pairs]),
        fastest=_fastest_s(after) / _fastest_s(before),
    )


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    if any(before <= 0 for before, _ in pairs):
        msg = "more iterations took no more time: give them more --seconds"
        raise SystemExit(msg)
    ratios = [after / before for before, after in pairs]
    if len(ratios) == 1:
        ratios *= 2  # a round alone has no quarters
    low, median, high = statistics.quantiles(ratios, method="inclusive")
    return Ratio(median=median, low=low, high=high)


def _fastest_s(turns: Sequence[Turn]) -> float:
    few = min(turn.few.wall_s for turn in turns)
    return (min(turn.many.wall_s for turn in turns) - few) / turns[0].share


def _turn(run: Run, share: int, *, backwards: bool) -> Turn:
    counts = (FEW + share, FEW) if backwards else (FEW, FEW + share)
    took = {count: _time(run, count) for count in counts}
    return Turn(few=took[FEW], many=took[FEW + share], share=share)


def _enough(run: Run, seconds: float) -> int:
    """Return how many iterations more take so many seconds more, by doubling."""
    least = _time(run, FEW).wall_s
    count = 1
    while count < _MOST:
        took = _time(run, FEW + count).wall_s - least
        if took >= seconds:
            return count
        # What is small is mostly noise: it is not believed by more than a factor.
        grown = count * seconds / max(took, seconds / 16)
        count = min(_MOST, max(count + 1, math.ceil(grown)))
    return count


def _time(run: Run, iterations: int) -> Took:
    cpu_s = _cpu_s()
    start = time.perf_counter()
    run(iterations)
    return Took(wall_s=time.perf_counter() - start, cpu_s=_cpu_s() - cpu_s)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def runner(program: Path, arguments: Sequence[str], launcher: Sequence[str], folder: Path) -> Run:
    processes = ProcessRunner(os.environ)

    def run(iterations: int) -> None:
        argv = (*launcher, str(program.absolute()), *arguments, "--iter", str(iterations))
        ended = processes.run(Command(argv=argv, cwd=folder, timeout_s=_TIMEOUT_S))
        if not ended.ok:
            msg = f"{shlex.join(argv)} ended with {ended.rc}\n{ended.stderr[-2000:]}"
            raise SystemExit(msg)

    return run


@click.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--launcher", default="", help="Emulator and its options.")
@click.option("--seconds", default=SECONDS, show_default=True, help="That a long run takes more.")
@click.option("--rounds", default=ROUNDS, show_default=True)
def main(
    before: Path,
    after: Path,
    arguments: tuple[str, ...],
    launcher: str,
    seconds: float,
    rounds: int,
) -> None:
    """Time two programs; ARGUMENTS are a model, as an absolute path, and what goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        first, second, third = (
            runner(program, arguments, shlex.split(launcher), Path(folder))
            for program in (before, after, before)
        )
        found = compare(first, second, third, seconds=seconds, rounds=rounds)
    click.echo(str(found))


if __name__ == "__main__":
    main()
