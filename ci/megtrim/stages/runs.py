"""Running a scenario on a device, the same way for trace, verification and diagnosis.

What is put on the device has fixed names, so that equal scenarios are equal command lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from megtrim.devices import Seat
from megtrim.loadrun.arguments import Invocation, compose
from megtrim.loadrun.outcome import ProgramRun

MODEL = "model.mge"
CACHE = "algo.cache"
DUMP = "dump"
TRACE = "trace.txt"
TRACE_VARIABLE = "MIDOUT_OUTPUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """What to run: a program, a model, its arguments, and the files that go along."""

    program: Path
    model: Path
    arguments: tuple[str, ...]
    inputs: Mapping[str, Path]
    threads: int
    timeout_s: float
    cache: Path | None = None
    search: bool = False
    """Let the engine search for algorithms, and bring back the cache it writes."""

    def with_program(self, program: Path) -> RunOrder:
        """Return the same run of another build."""
        return replace(self, program=program)

    def with_cache(self, cache: Path) -> RunOrder:
        """Return the same run with an algorithm cache that was found, and no search."""
        return replace(self, cache=cache, search=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run left."""

    run: ProgramRun
    trace: bytes | None
    cache: bytes | None
    outputs: Mapping[str, bytes]
    """Dumped output files, by name."""


def run_on(seat: Seat, order: RunOrder) -> RunResult:
    """Run it in a fresh directory of the machine."""
    with seat.open() as directory:
        program = order.program.name
        directory.put(order.program, program)
        directory.put(order.model, MODEL)
        inputs = {name: f"input{i}{path.suffix}" for i, (name, path) in _numbered(order.inputs)}
        for name, path in order.inputs.items():
            directory.put(path, inputs[name])
        if order.cache is not None:
            directory.put(order.cache, CACHE)
        invocation = Invocation(
            program=program,
            model=MODEL,
            arguments=order.arguments,
            inputs=tuple(sorted(inputs.items())),
            threads=order.threads,
            algo_cache=CACHE if order.cache is not None or order.search else None,
            search=order.search,
            dump_dir=DUMP,
        )
        directory.make(DUMP)
        argv = compose(invocation)
        run = directory.run(argv, timeout_s=order.timeout_s, env={TRACE_VARIABLE: TRACE})
        outputs = {name: directory.get(f"{DUMP}/{name}") for name in directory.names(DUMP)}
        return RunResult(
            run=run,
            trace=directory.get(TRACE),
            cache=directory.get(CACHE) if order.search else None,
            outputs={name: data for name, data in outputs.items() if data is not None},
        )


def _numbered(inputs: Mapping[str, Path]) -> list[tuple[int, tuple[str, Path]]]:
    return list(enumerate(sorted(inputs.items())))
