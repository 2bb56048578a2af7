"""How counts rank experiments, next to how times do, on this machine's own architecture.

    python benchmarks/counted_times.py PROGRAM TWIN tiny-vgg.sample data tiny-vgg.data.npy

For each experiment that the sample engine can run: the instructions of an iteration in the
emulator, and the shortest iteration of processes that take turns, both as a ratio to the baseline;
then Spearman's rank correlation. PROGRAM is a plain build of `examples/sample-engine` by the
toolchain host with the key `work`, TWIN its copy in `unstripped`.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scipy.stats import spearmanr

from megtrim.core.parts import hand_in
from megtrim.core.size.counted import LENGTHS, Count
from megtrim.core.timing.experiment import Backend, Experiment
from megtrim.engines.load_and_run.timing_log import read_timing_log
from megtrim.engines.megengine.experiments import EXPERIMENTS
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.libs.elf.layout import segments
from megtrim.libs.elf.symbol_table import FunctionTable, read_table
from megtrim.libs.util.process import ProcessRunner
from megtrim.parts import PARTS
from megtrim.places.devices.counting import Counting, CountingEmulator
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import LocalFolder
from megtrim.times.counts.stage import repeat
from megtrim.times.counts.use import (
    LARGEST_BYTES,
    find_code,
    name_functions,
    parse_blocks,
    subtract,
)
from megtrim.times.experiments.commands import (
    Situation,
    StepCommand,
    StepFiles,
    make_commands,
    why_not,
)

ITERATIONS = 60
PROCESSES = 12
SEARCHING = ("fast-run", "full-run")
"""They search in each process and choose by its times, so most of their work varies."""


@dataclass(frozen=True)
class Bench:
    program: Path
    table: FunctionTable
    model: Path
    inputs: tuple[tuple[str, str], ...]
    folder: Path
    here: Situation

    @classmethod
    def read(cls, asked: argparse.Namespace, folder: Path, here: Situation) -> Bench:
        """``asked``: by a parser of :func:`make_parser`."""
        return cls(
            program=Path(asked.program),
            table=read_table(Path(asked.twin)),
            model=Path(asked.model).resolve(),
            inputs=((asked.input, str(Path(asked.file).resolve())),),
            folder=folder,
            here=here,
        )

    def commands(self, experiment: Experiment, iterations: int) -> tuple[StepCommand, ...]:
        files = StepFiles(
            program="program",
            model=str(self.model),
            dumped_model=str(self.folder / "dumped"),
            algo_cache=str(self.folder / f"{experiment.name}.cache"),
            inputs=self.inputs,
        )
        return make_commands(
            experiment,
            files,
            dialect=self.here.dialect,
            backend=Backend.CPU,
            architecture=self.here.architecture,
            iterations=iterations,
        )

    def measured(self, experiment: Experiment, iterations: int) -> StepCommand:
        return next(s for s in self.commands(experiment, iterations) if s.step.measured)

    def prepare(self, experiment: Experiment, native: LocalFolder) -> None:
        for each in self.commands(experiment, 1):
            if not each.step.measured:
                assert native.run(each.argv, timeout_s=600).rc == 0, experiment.name

    def time(self, experiment: Experiment, native: LocalFolder) -> float:
        command = self.measured(experiment, ITERATIONS)
        done = native.run(command.argv, timeout_s=600)
        counts = {"iterations": ITERATIONS, "warmups": command.step.warmups}
        log = read_timing_log(f"{done.stdout}{done.stderr}", source=experiment.name, **counts)
        assert log is not None
        return min(log.iterations_ms)

    def count(self, experiment: Experiment, opened: Counting) -> dict[str, Count]:
        code = find_code(segments(self.program.read_bytes(), source=str(self.program)))
        found = []
        for length in LENGTHS:
            with opened.device.open() as place:
                place.put(self.program, "program")
                done = place.run(self.measured(experiment, length).argv, timeout_s=600)
                assert done.rc == 0, (experiment.name, done.stderr)
                blocks = parse_blocks(opened.counts.take(LARGEST_BYTES), source="counts")
            found.append(name_functions(blocks, self.table, code))
        return subtract(found[1], found[0])


def make_parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    for name in ("program", "twin", "model", "input", "file"):
        parser.add_argument(name)
    return parser


def main() -> None:
    hand_in(PARTS)
    asked = make_parser(__doc__).parse_args()
    processes = ProcessRunner(os.environ)
    machine = platform.machine()
    dialect = SampleEngine(find_embedded_source(), processes).dialect()
    with tempfile.TemporaryDirectory() as name:
        here = Situation(dialect=dialect, architecture=machine)
        bench = Bench.read(asked, Path(name), here)
        every = [each for each in EXPERIMENTS if why_not(each, bench.here) is None]
        native = LocalFolder(bench.folder, processes, ())
        native.put(bench.program, "program")
        for experiment in every:
            bench.prepare(experiment, native)
        times: defaultdict[str, list[float]] = defaultdict(list)
        for _ in range(PROCESSES):
            for experiment in every:
                times[experiment.name].append(bench.time(experiment, native))
        spec = DeviceSpec(
            name="emulator",
            processes=processes,
            scratch=bench.folder / "runs",
            machine=machine,
            qemu_cpu="max",
            sysroot=None,
        )
        with CountingEmulator(spec=spec, compilers=(("cc",), ("gcc",))).open() as opened:
            works = [repeat(partial(bench.count, each, opened), "0" * 64) for each in every]
    counts = {e.name: w.total.instructions for e, w in zip(every, works, strict=True)}
    show(counts, {name: min(found) for name, found in times.items()}, every[0].name)


def show(counts: dict[str, int], times: dict[str, float], base: str) -> None:
    for name in sorted(times, key=times.__getitem__):
        ratios = counts[name] / counts[base], times[name] / times[base]
        sys.stdout.write(f"{name:36} {ratios[0]:8.4f} {ratios[1]:8.4f}\n")
    for left_out in ((), SEARCHING):
        names = [name for name in counts if name not in left_out]
        found = spearmanr([counts[n] for n in names], [times[n] for n in names]).statistic
        sys.stdout.write(f"rank correlation {found:.3f} over {len(names)} experiments\n")


if __name__ == "__main__":
    main()
