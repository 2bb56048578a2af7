"""Running a scenario on a device, the same way for trace, verification and diagnosis.

What is put on the device has fixed names, so that equal scenarios are equal command lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.filenames import CACHE_FILE
from megtrim.core.project import find_program
from megtrim.libs.programs import application_arguments
from megtrim.libs.programs.app_outputs import PRINTED
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.value import Value
from megtrim.places.devices import relocation_support
from megtrim.places.devices.device import Lease, RunDirectory
from megtrim.places.devices.retry import expect_not_killed

MODEL = "model.mge"
DUMP = "dump"


class RunSpec(Value):
    program: Path
    model: Path
    arguments: tuple[str, ...]
    inputs: Mapping[str, Path]
    threads: int
    timeout_s: float
    cache: Path | None = None
    search: bool = False
    """Let the engine search for algorithms, and bring back the cache it writes."""
    dumps: bool = True
    """Let the engine's program dump its outputs."""
    application: bool = False
    """The program is a team's own: ``arguments`` is its whole command line, with placeholders."""
    companions: tuple[str, ...] = ()
    recorded: str = ""
    """File that the program leaves and that is brought back; empty: none."""
    without_model: bool = False
    """The model is named and not there."""
    with_rest: bool = False
    """The deferred functions of the file with the engine lie next to it."""
    prefix: str = ""
    """Begins the names that the program gets: of model, inputs, cache and dump."""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def holder(self) -> Path:
        """The file with the engine: the program, or the shared object next to it."""
        if not self.companions:
            return self.program
        return self.program.with_name(self.companions[0])

    def with_program(self, program: Path) -> RunSpec:
        return replace(self, program=program)

    def with_cache(self, cache: Path) -> RunSpec:
        return replace(self, cache=cache, search=False)


class RunResult(Value):
    run: ProgramRun
    cache: bytes | None
    outputs: Mapping[str, bytes]
    """Dumped files, or what an application wrote or printed."""
    recorded: bytes | None = None


def run_on(lease: Lease, spec: RunSpec) -> RunResult:
    """Raises UnsupportedRelocations where its C library cannot load what was linked.

    No scenario can run there then. ProgramKilled: something outside ended it, whatever it is.
    """
    with lease.open() as directory:
        program = spec.program.name
        directory.put(spec.program, program)
        for name in spec.companions:
            directory.put(spec.program.with_name(name), name)
        if spec.with_rest:
            rest = f"{spec.holder.name}{REST_SUFFIX}"
            directory.put(spec.holder.with_name(rest), rest)
        if not spec.without_model:
            directory.put(spec.model, spec.prefix + MODEL)
        inputs = {
            name: f"{spec.prefix}input{i}{path.suffix}"
            for i, (name, path) in enumerate(sorted(spec.inputs.items()))
        }
        for name, path in spec.inputs.items():
            directory.put(path, inputs[name])
        if spec.cache is not None:
            directory.put(spec.cache, spec.prefix + CACHE_FILE)
        directory.make(spec.prefix + DUMP)
        argv = _command(spec, program, inputs)
        run = directory.run(argv, timeout_s=spec.timeout_s, env=spec.environment)
        relocation_support.expect_loaded(lease.name, run)
        expect_not_killed(lease.name, run)
        outputs = _outputs(spec, directory, run)
        return RunResult(
            run=run,
            cache=directory.get(spec.prefix + CACHE_FILE) if spec.search else None,
            outputs=outputs,
            recorded=directory.get(spec.recorded) if spec.recorded else None,
        )


def _command(spec: RunSpec, program: str, inputs: Mapping[str, str]) -> tuple[str, ...]:
    places = application_arguments.Places(
        model=spec.prefix + MODEL,
        outputs=spec.prefix + DUMP,
        threads=spec.threads,
        inputs=inputs,
        algo_cache=spec.prefix + CACHE_FILE if spec.cache is not None or spec.search else None,
    )
    if spec.application:
        return application_arguments.compose(program, spec.arguments, places)
    own = find_program()
    return own.compose(program, spec.arguments, places, search=spec.search, dumps=spec.dumps)


def _outputs(spec: RunSpec, directory: RunDirectory, run: ProgramRun) -> dict[str, bytes]:
    if spec.application and application_arguments.OUTPUTS not in application_arguments.names_in(
        spec.arguments
    ):
        return {PRINTED: run.stdout.encode()}
    dump = spec.prefix + DUMP
    found = {name: directory.get(f"{dump}/{name}") for name in directory.names(dump)}
    return {name: data for name, data in found.items() if data is not None}
