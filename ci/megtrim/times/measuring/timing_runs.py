"""The processes of contestants: files put once, steps prepared once, then one process at a time.

Both sides share a run directory. The engine writes algorithm caches back: each run has a copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from megtrim.core.own_program import find_program, read_error
from megtrim.core.timing.experiment import CacheUse
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending
from megtrim.libs.programs.telemetry import Conditions
from megtrim.libs.programs.timing_log import DamagedLog, TimingLog
from megtrim.libs.util.environment import Variables
from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.limits import clean_log
from megtrim.libs.util.value import Value
from megtrim.places.devices import relocation_support
from megtrim.places.devices.device import RunDirectory
from megtrim.places.devices.retry import expect_not_killed
from megtrim.times.experiments.commands import StepCommand, StepFiles, make_dumping
from megtrim.times.experiments.contest import Contestant, Mark, Sample, Side, name_files

PADDING = "MEGTRIM_PADDING"
_RUN_OF_OUTPUT = re.compile(r"run(?P<run>\d{1,9})-var(?P<id>\d{1,9})", re.ASCII)
_LONGEST_REASON = 300
_SHORTEST_MS = 0.0005
"""What a log, or a phone's clock, shows as 0."""
LARGEST_PADDING_BYTES = 4096
"""One page: the size of the environment moves the stack within it."""


class ContestFiles(Value):
    programs: Mapping[Side, Path]
    model: Path
    inputs: Mapping[str, Path]
    cache: Path | None = None

    def names_of(self, side: str) -> StepFiles:
        return name_files(side, inputs={name: path.suffix for name, path in self.inputs.items()})

    def list_files(self, sides: Iterable[str]) -> Mapping[str, Path]:
        found: dict[str, Path] = {}
        for side in sides:
            names = self.names_of(side)
            found |= {names.program: self.programs[Side(side)], names.model: self.model}
            found |= {file: self.inputs[name] for name, file in names.inputs}
        return found


class ContestEnded(ProductFailure):
    """A program's failure, which ends its contest and costs its own row only."""

    def __init__(self, status: PerformanceStatus, reason: str) -> None:
        super().__init__(clean_log(reason.splitlines()[0])[:_LONGEST_REASON])
        self.status = status


class ContestRuns:
    def __init__(
        self,
        sides: tuple[str, ...],
        files: ContestFiles,
        directory: RunDirectory,
        *,
        machine: str,
        scratch: Path,
        timeout_s: float,
        environment: Variables = (),
    ) -> None:
        self._files = files
        self._directory = directory
        self._machine = machine
        self._scratch = scratch
        self._timeout_s = timeout_s
        self._environment = dict(environment)
        self._caches: dict[str, Path] = dict.fromkeys(sides, files.cache) if files.cache else {}
        self._dumps = 0
        self.program_time_s = 0.0
        for name, path in files.list_files(sides).items():
            directory.put(path, name)

    def prepare(self, side: str, contestant: Contestant) -> None:
        for command in contestant.commands[:-1]:
            self._run(side, contestant, command)
            if command.step.cache is CacheUse.WRITES:
                data = self._directory.get(self._files.names_of(side).algo_cache)
                if data is None:
                    msg = f"{contestant.name}: the search left no algorithm cache"
                    raise ContestEnded(PerformanceStatus.FAILED, msg)
                self._caches[side] = self._scratch / f"{side}.cache"
                self._caches[side].write_bytes(data)

    def run_measured(
        self,
        side: str,
        contestant: Contestant,
        *,
        iterations: int,
        cpus: tuple[int, ...] = (),
        padding_bytes: int = 0,
    ) -> ProgramRun:
        command = contestant.commands[-1]
        env = {PADDING: "x" * padding_bytes}
        return self._run(side, contestant, command, ("--iter", str(iterations)), env=env, cpus=cpus)

    def run_for_outputs(self, side: str, contestant: Contestant) -> tuple[bytes, ...]:
        """Return the outputs in order: layouts and fusions number their names differently."""
        self._dumps += 1
        folder = f"outputs{self._dumps}"
        self._directory.make(folder)
        self._run(side, contestant, make_dumping(contestant.commands[-1], folder))
        matches = [
            match
            for name in self._directory.names(folder)
            if (match := _RUN_OF_OUTPUT.fullmatch(name))
        ]
        # Earlier ones were warm-ups.
        last = max((int(match["run"]) for match in matches), default=0)
        of_last = {int(match["id"]): match[0] for match in matches if int(match["run"]) == last}
        outputs = [self._directory.get(f"{folder}/{of_last[place]}") for place in sorted(of_last)]
        found = tuple(data for data in outputs if data is not None)
        if not found or len(found) < len(outputs):
            msg = f"{contestant.name}: it dumped no output"
            raise ContestEnded(PerformanceStatus.FAILED, msg)
        return found

    def _run(
        self,
        side: str,
        contestant: Contestant,
        command: StepCommand,
        more: tuple[str, ...] = (),
        *,
        env: Mapping[str, str] | None = None,
        cpus: tuple[int, ...] = (),
    ) -> ProgramRun:
        if command.step.cache is CacheUse.READS:
            self._directory.put(self._caches[side], self._files.names_of(side).algo_cache)
        argv = (*command.argv, *more)
        given = {**self._environment, **(env or {})}
        run = self._directory.run(argv, timeout_s=self._timeout_s, env=given, cpus=cpus)
        self.program_time_s += run.wall_s
        relocation_support.expect_loaded(self._machine, run)
        expect_not_killed(self._machine, run)
        expect_passed(contestant.name, run, timeout_s=self._timeout_s)
        return run


def expect_passed(name: str, run: ProgramRun, *, timeout_s: float) -> None:
    if ending(run) is RunOutcome.PASSED:
        return
    ended = f"it ended with {run.status} ({ending(run)})"
    if said := read_error(run.stderr) or read_error(run.stdout):
        ended += f": {said}"
    if run.timed_out:
        ended = f"it did not end within {timeout_s:g} s"
    raise ContestEnded(PerformanceStatus.FAILED, f"{name}: {ended}")


def read_times(run: ProgramRun, *, source: str, iterations: int, warmups: int) -> TimingLog | None:
    # The older program prints on one stream, the newer one on the other.
    text = f"{run.stdout}{run.stderr}"
    own = find_program()
    return own.read_timing_log(text, source=source, iterations=iterations, warmups=warmups)


def make_sample(
    turn: Turn, run: ProgramRun, *, iterations: int, warmups: int, other_load: float
) -> Sample:
    """One whose log is damaged has no times.

    ``other_load``: the share of the CPUs above which other programs disturb it.
    """
    sample = _make_marked(turn, [run], other_load)
    try:
        log = read_times(run, source=turn.contestant, iterations=iterations, warmups=warmups)
    except DamagedLog:
        log = None
    if log is None:
        return replace(sample, marks=(*sample.marks, Mark.DAMAGED_LOG))
    return replace(
        sample,
        prepare_ms=next(iter(_lengthen(log.prepare_ms)), None),
        warm_ups_ms=_lengthen(log.warmups_ms),
        iterations_ms=_lengthen(log.iterations_ms),
    )


def make_sample_by_length(
    turn: Turn, runs: Sequence[ProgramRun], lengths: Sequence[int], *, other_load: float
) -> Sample:
    took_ms = 1000 * (runs[1].wall_s - runs[0].wall_s) / (lengths[1] - lengths[0])
    sample = _make_marked(turn, runs, other_load)
    return replace(sample, iterations_ms=(took_ms,)) if took_ms > 0 else sample


def make_sample_of_runs(turn: Turn, runs: Sequence[ProgramRun], *, other_load: float) -> Sample:
    sample = _make_marked(turn, runs, other_load)
    return replace(sample, runs_ms=_lengthen(1000 * run.wall_s for run in runs))


def _make_marked(turn: Turn, runs: Sequence[ProgramRun], other_load: float) -> Sample:
    return Sample(
        contestant=turn.contestant,
        round_number=turn.round_number,
        position=turn.position,
        marks=list_marks(runs, other_load=other_load),
    )


def list_marks(runs: Sequence[ProgramRun], *, other_load: float) -> tuple[Mark, ...]:
    disturbed = [run.conditions for run in runs if run.conditions and run.conditions.invalid]
    found = {_choose_mark(conditions) for conditions in disturbed}
    found |= {Mark.BUSY for run in runs if was_busy(run, other_load)}
    return tuple(mark for mark in Mark if mark in found)


def was_busy(run: ProgramRun, other_load: float) -> bool:
    return run.other_load is not None and run.other_load > other_load


def _choose_mark(conditions: Conditions) -> Mark:
    low = conditions.before.low_battery or conditions.after.low_battery
    throttled = conditions.before.throttled or conditions.after.throttled
    # A temperature that was not reached, or a governor that changed, is a clock rate like any.
    return Mark.LOW_BATTERY if low and not throttled else Mark.THROTTLED


def _lengthen(times_ms: Iterable[float]) -> tuple[float, ...]:
    return tuple(max(each, _SHORTEST_MS) for each in times_ms)


class Turn(Value):
    round_number: int
    position: int
    contestant: str
    cpus: tuple[int, ...]
    """The same for all of one round; empty: any."""
    padding_bytes: int


def plan_turns(
    contestants: Sequence[str], rounds: int, *, cpus: Sequence[int], width: int = 1, seed: int
) -> list[Turn]:
    """Equal arguments give equal turns.

    Each process gets the next ``width`` of ``cpus``, or is not bound. Each round's order is drawn
    by chance, as the signed-rank test assumes: a place must not favour a side.
    """
    import numpy as np

    if not contestants or len(set(contestants)) != len(contestants) or width < 1 or rounds < 0:
        msg = "a schedule takes distinct contestants, a width >= 1, and rounds >= 0"
        raise ValueError(msg)
    generator = np.random.default_rng(seed)
    in_order = sorted(contestants)
    turns = []
    for number in range(rounds):
        bound: tuple[int, ...] = ()
        if len(cpus) > width:
            bound = tuple(sorted(cpus[(number + step) % len(cpus)] for step in range(width)))
        for position, index in enumerate(generator.permutation(len(in_order))):
            turn = Turn(
                round_number=number,
                position=position,
                contestant=in_order[index],
                cpus=bound,
                padding_bytes=int(generator.integers(LARGEST_PADDING_BYTES)),
            )
            turns.append(turn)
    return turns
