"""Running a scenario on a device, the same way for trace, verification and diagnosis.

What is put on the device has fixed names, so that equal scenarios are equal command lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.filenames import CACHE_FILE
from megtrim.core.own_program import find_program, name_model_file
from megtrim.libs.elf.needed_libraries import read_own_name
from megtrim.libs.programs import application_arguments
from megtrim.libs.programs.app_outputs import PRINTED, SAID
from megtrim.libs.programs.application_arguments import (
    OUTPUTS,
    STDERR_FILE,
    STDIN,
    STDIN_FILE,
    STDOUT_FILE,
)
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.value import Value
from megtrim.places.devices import relocation_support
from megtrim.places.devices.device import Lease, RunDirectory
from megtrim.places.devices.retry import expect_not_killed
from megtrim.places.devices.written import LARGEST_TOTAL_BYTES

DUMP = "dump"
_SHOWN_BYTES = 2**20
"""Of what a command prints, for logs and messages."""


class RunSpec(Value):
    program: Path
    model: Path | None
    arguments: tuple[str, ...]
    inputs: Mapping[str, Path]
    """Files that it reads; what :data:`STDIN` names is its standard input."""
    threads: int
    timeout_s: float
    cache: Path | None = None
    search: bool = False
    """Let the engine search for algorithms, and bring back the cache it writes."""
    dumps: bool = True
    """Let the engine's program dump its outputs."""
    application: bool = False
    """``arguments`` is the whole command line, with placeholders."""
    status: int = 0
    """Exit status that it must end with."""
    printed: bool | None = None
    """Whether what a command prints is an output; None: if it writes no files."""
    said: bool = False
    """Whether what it writes to standard error is an output."""
    companions: tuple[str, ...] = ()
    recorded: str = ""
    """File that the program leaves and that is brought back; empty: none."""
    without_model: bool = False
    """The model is named and not there."""
    missing: str = ""
    """An input that is named and not there; empty: all are."""
    is_folder: bool = False
    """A folder is in the place of the ``missing`` input."""
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

    @property
    def rest(self) -> Path:
        """The companion file, which is there only if functions are deferred."""
        holder = self.holder
        return holder.with_name(f"{holder.name}{REST_SUFFIX}")

    def with_own_rest(self) -> RunSpec:
        """Run it with its companion file, if there is one."""
        return replace(self, with_rest=self.rest.is_file())

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
        _put_program(directory, spec)
        if spec.model is not None and not spec.without_model:
            directory.put(spec.model, spec.prefix + name_model_file())
        read = {name: path for name, path in spec.inputs.items() if name != STDIN}
        inputs = {
            name: f"{spec.prefix}input{i}{path.suffix}"
            for i, (name, path) in enumerate(sorted(read.items()))
        }
        for name, path in read.items():
            if name != spec.missing:
                directory.put(path, inputs[name])
        if spec.is_folder:
            directory.make(inputs[spec.missing])
        if spec.cache is not None:
            directory.put(spec.cache, spec.prefix + CACHE_FILE)
        directory.make(spec.prefix + DUMP)
        argv = _command(spec, spec.program.name, inputs)
        given = spec.inputs.get(STDIN)
        if given is not None:
            directory.put(given, STDIN_FILE)
        run = directory.run(
            argv,
            timeout_s=spec.timeout_s,
            env=spec.environment,
            stdin=STDIN_FILE if given else "",
            stdout=STDOUT_FILE if spec.application else "",
            stderr=STDERR_FILE if spec.said else "",
        )
        run = replace(run, expected=spec.status)
        printed = b""
        said = b""
        if spec.application:
            printed = directory.get(STDOUT_FILE) or b""
            run = replace(run, stdout=_show(printed))
        if spec.said:
            said = directory.get(STDERR_FILE) or b""
            run = replace(run, stderr=_show(said))
        relocation_support.expect_loaded(lease.name, run)
        expect_not_killed(lease.name, run)
        outputs = _outputs(spec, directory, printed, said)
        return RunResult(
            run=run,
            cache=directory.get(spec.prefix + CACHE_FILE) if spec.search else None,
            outputs=outputs,
            recorded=directory.get(spec.recorded) if spec.recorded else None,
        )


def _put_program(directory: RunDirectory, spec: RunSpec) -> None:
    directory.put(spec.program, spec.program.name)
    for name in spec.companions:
        library = spec.program.with_name(name)
        directory.put(library, read_own_name(library) or name)
    if spec.with_rest:
        holder = spec.holder
        # Its program finds it by the name under which it was loaded.
        loaded = read_own_name(holder) if spec.companions else ""
        directory.put(spec.rest, f"{loaded or holder.name}{REST_SUFFIX}")


def _command(spec: RunSpec, program: str, inputs: Mapping[str, str]) -> tuple[str, ...]:
    places = application_arguments.Places(
        model=spec.prefix + name_model_file() if spec.model is not None else None,
        outputs=spec.prefix + DUMP,
        threads=spec.threads,
        inputs=inputs,
        algo_cache=spec.prefix + CACHE_FILE if spec.cache is not None or spec.search else None,
    )
    if spec.application:
        return application_arguments.compose(program, spec.arguments, places)
    own = find_program()
    return own.compose(program, spec.arguments, places, search=spec.search, dumps=spec.dumps)


def _show(data: bytes) -> str:
    return data[:_SHOWN_BYTES].decode("utf-8", "replace")


def _outputs(
    spec: RunSpec, directory: RunDirectory, printed: bytes, said: bytes
) -> dict[str, bytes]:
    dump = spec.prefix + DUMP
    if not spec.application:
        return _read_written(directory, dump)
    writes = OUTPUTS in application_arguments.names_in(spec.arguments)
    outputs = _read_written(directory, dump) if writes else {}
    for name in (PRINTED, SAID):
        if any(each.split("/")[0] == name for each in outputs):
            msg = f"found {name!r} among the files in {{outputs}}, expected another name"
            raise ProductFailure(msg, hint="megtrim uses this name for what the program prints")
    if said:
        outputs[SAID] = said
    counts = not writes if spec.printed is None else spec.printed
    # Where there are files, nothing printed proves nothing, and says nothing against them.
    if counts and (printed or not outputs):
        outputs[PRINTED] = printed
    return outputs


def _read_written(directory: RunDirectory, folder: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    total = 0
    for name in directory.names(folder):
        data = directory.get(f"{folder}/{name}")
        if data is None:
            msg = f"the program left {folder}/{name}, but it is gone now"
            raise ProductFailure(
                msg, hint="is something still running after the program has ended?"
            )
        total += len(data)
        if total > LARGEST_TOTAL_BYTES:
            msg = f"the program left more than {LARGEST_TOTAL_BYTES:,} bytes in {folder}"
            raise ProductFailure(msg, hint="let the command write less into {outputs}")
        found[name] = data
    return found
