"""Count the instructions of an iteration in each experiment, on the real engine under qemu-user.

    python benchmarks/counted_experiments.py PROGRAM TWIN MODEL data FILE.npy [--machine x86_64]

PROGRAM is a plain `load_and_run` for Linux on that machine, by default arm64, TWIN the same program
with its symbols. For each experiment that such a program can run with such a model, prints how many
instructions an iteration executes, their ratio to the baseline's, and whether the outputs are equal
to the baseline's to the last bit. Functions that vary are left out, by name; most of them wait for
another thread.
"""

import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from counted_times import Bench, make_parser

from megtrim.core.parts import hand_in
from megtrim.core.size.counted import Work
from megtrim.core.timing.experiment import DataType, Experiment
from megtrim.engines.load_and_run.dialects import LITE
from megtrim.engines.load_and_run.dump import parse_dump
from megtrim.engines.megengine.experiments import EXPERIMENTS
from megtrim.libs.util.process import ProcessRunner
from megtrim.parts import PARTS
from megtrim.places.devices.counting import Counting, CountingEmulator
from megtrim.places.devices.device import DeviceSpec
from megtrim.times.counts.use import join_repeats
from megtrim.times.experiments.commands import Situation, make_dumping, why_not

SYSROOTS = {"aarch64": Path("/usr/aarch64-linux-gnu"), "x86_64": None}
"""By machine: where its C library is; None: this machine's own."""
REPEATS = 2
SEARCHING = ("fast-run", "full-run", "full-run-cache", "layout-online")
"""Left out: each searches for long in an emulator, by an emulator's times."""
_TIMEOUT_S = 1800.0


def run_through(experiment: Experiment, bench: Bench, opened: Counting) -> list[bytes]:
    """Run all steps, so that what they write is there; return the outputs of the last."""
    outputs = bench.folder / f"{experiment.name}.outputs"
    outputs.mkdir()
    with opened.device.open() as place:
        place.put(bench.program, "program")
        for command in bench.commands(experiment, 1):
            asked = make_dumping(command, str(outputs)) if command.step.measured else command
            done = place.run(asked.argv, timeout_s=_TIMEOUT_S)
            assert done.rc == 0, (experiment.name, done.rc, done.stderr)
            opened.counts.take(2**30)
    return read_outputs(outputs)


def read_outputs(folder: Path) -> list[bytes]:
    """Of the last run: a fake first run dumps as well. Their names say nothing: a variable of a
    changed graph has another number.
    """
    runs: defaultdict[int, list[bytes]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        run = int(path.name.partition("-")[0].removeprefix("run"))
        dumped = parse_dump(path.read_bytes(), name=path.name, source=str(path))
        runs[run].append(dumped.data)
    return runs[max(runs)]


def main() -> None:
    hand_in(PARTS)
    parser = make_parser(__doc__)
    parser.add_argument("experiments", nargs="*", help="all where none is named")
    parser.add_argument("--machine", choices=SYSROOTS, default="aarch64")
    asked = parser.parse_args()
    here = Situation(dialect=LITE, architecture=asked.machine, data_type=DataType.INT8)
    with tempfile.TemporaryDirectory() as name:
        bench = Bench.read(asked, Path(name), here)
        spec = DeviceSpec(
            name="emulator",
            processes=ProcessRunner(os.environ),
            scratch=bench.folder / "runs",
            machine=asked.machine,
            qemu_cpu="max",
            sysroot=SYSROOTS[asked.machine],
        )
        every = [each for each in EXPERIMENTS if why_not(each, here) is None]
        wanted = asked.experiments or [e.name for e in every if e.name not in SEARCHING]
        works: dict[str, Work] = {}
        outputs: dict[str, list[bytes]] = {}
        with CountingEmulator(spec=spec, compilers=(("cc",), ("gcc",))).open() as opened:
            for experiment in (each for each in every if each.name in wanted):
                sys.stderr.write(f"{experiment.name}\n")
                outputs[experiment.name] = run_through(experiment, bench, opened)
                counted = [bench.count(experiment, opened) for _ in range(REPEATS)]
                works[experiment.name] = join_repeats("0" * 64, counted)
    show(works, outputs)


def show(works: Mapping[str, Work], outputs: Mapping[str, list[bytes]]) -> None:
    """Leave out what varies anywhere everywhere, so that all totals are of the same functions."""
    left_out = {function for work in works.values() for function in work.varying}
    totals = {
        name: sum(
            instructions
            for function, (instructions, _accesses) in work.functions.items()
            if function not in left_out
        )
        for name, work in works.items()
    }
    first = next(iter(works))
    for name, total in totals.items():
        same = "equal" if outputs[name] == outputs[first] else "other outputs"
        sys.stdout.write(f"{name:36} {total:12,} {total / totals[first]:7.3f} {same}\n")
    sys.stdout.write(f"left out, because they vary: {', '.join(sorted(left_out))}\n")


if __name__ == "__main__":
    main()
