"""Programs whose times are compared, each with a slowdown that is planted in it."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Protocol

import click

from megtrim.engines.load_and_run.timing_log import read_timing_log
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.times.experiments.contest import Sample
from megtrim.times.measuring.timing_runs import Turn, plan_turns

SOURCES = Path(__file__).parent / "perf_work"
CPUS = sorted(os.sched_getaffinity(0))
"""`taskset -c` limits them, to keep other work of the machine away."""
CALIBRATION_ROUNDS = 100


class Program(Protocol):
    @property
    def width(self) -> int:
        """CPUs that it keeps busy."""
        ...

    def run(self, turn: Turn, slower: float) -> Sample: ...


@dataclass(frozen=True)
class Work:
    path: Path
    width: int = 1

    def run(self, turn: Turn, slower: float) -> Sample:
        printed = execute(bind(turn, str(self.path), "5", str(100 + 100 * slower)), pad(turn))
        warm_up, *iterations = (float(line) for line in printed.split())
        return make_sample(turn, [warm_up], iterations)


@dataclass(frozen=True)
class Engine:
    """The engine's ``load_and_run``: ``slower`` by a pause each time that it reads its clock."""

    argv: tuple[str, ...]
    preload: Path
    pause_us: float = 0.0
    """That makes an iteration take twice its time."""
    width: int = 2

    def run(self, turn: Turn, slower: float) -> Sample:
        delay = {"LD_PRELOAD": str(self.preload), "DELAY_US": f"{slower * self.pause_us:.3f}"}
        printed = execute(bind(turn, *self.argv), pad(turn) | delay)
        iterations = len(re.findall(r"iter \d+/", printed))
        warmups = len(re.findall(r"warm ?up \d+(?:  |: )", printed))
        log = read_timing_log(printed, source=self.argv[0], iterations=iterations, warmups=warmups)
        if log is None:
            msg = f"{self.argv[0]} printed no times"
            raise click.ClickException(msg)
        return make_sample(turn, log.warmups_ms, log.iterations_ms)


@contextmanager
def compile_work() -> Iterator[Work]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "work"
        execute(("g++", "-O2", "-o", str(program), str(SOURCES / "work.cpp")))
        yield Work(program)


@contextmanager
def calibrate_engine(argv: tuple[str, ...], slower: float) -> Iterator[Engine]:
    """Compile the pause, and find how long it must be to make an iteration slower by a share.

    How often the clock is read in an iteration, and how much of a pause passes while the worker
    goes on, is for the engine to know: so one pause is tried.
    """
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "delay.so"
        execute(("g++", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCES / "delay.cpp")))
        plain = Engine(argv, library)
        if not slower:
            yield plain
            return
        before_ms = measure_iteration(plain, 0)
        tried_us = 1000 * before_ms
        after_ms = measure_iteration(Engine(argv, library, tried_us), slower)
        click.echo(
            f"{argv[0]}: {before_ms:.3f} ms an iteration, {after_ms:.3f} with the first pause"
        )
        yield Engine(argv, library, tried_us * slower * before_ms / (after_ms - before_ms))


def measure_iteration(engine: Engine, slower: float) -> float:
    turns = plan_turns(["a"], CALIBRATION_ROUNDS, cpus=CPUS, width=engine.width, seed=0)
    return median(median(engine.run(turn, slower).iterations_ms) for turn in turns)


def make_sample(turn: Turn, warm_ups: Sequence[float], iterations: Sequence[float]) -> Sample:
    return Sample(
        contestant=turn.contestant,
        round_number=turn.round_number,
        position=turn.position,
        warm_ups_ms=tuple(warm_ups),
        iterations_ms=tuple(iterations),
    )


def bind(turn: Turn, *argv: str) -> tuple[str, ...]:
    return ("taskset", "--cpu-list", ",".join(map(str, turn.cpus or CPUS)), *argv)


def pad(turn: Turn) -> dict[str, str]:
    return {"PADDING": "x" * turn.padding_bytes}


def execute(argv: tuple[str, ...], env: Mapping[str, str] | None = None) -> str:
    command = Command(argv=argv, timeout_s=600, env=env or {}, merge_stderr=True)
    ended = ProcessRunner(os.environ).run(command)
    if not ended.ok:
        raise click.ClickException(ended.stdout)
    return ended.stdout
