"""The exact command line of each step of an experiment, as the engine at hand spells it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from megtrim.experiments.experiment import Backend, CacheUse, Experiment, ModelFile, Step
from megtrim.experiments.table import EXPERIMENTS
from megtrim.load_and_run.arguments import Flag, ProgramArguments, compose, render_flags, without
from megtrim.load_and_run.dialects import Dialect
from megtrim.util.errors import InputError
from megtrim.util.value import Value

ITERATIONS = 10
"""The program's own default."""

_FAKE_FIRST = "fake-first"
_COUNTS = ("iter", "warmup_iter")
_DEVICES = ("cpu", "cpu_default", "cuda", "multithread", "multithread_default")
_OF_STEPS = ("fast_run", "fast_run_algo_policy", "layout_transform", "layout_transform_dump")
_WARMUPS = 1
"""The program's own default."""

_OLD_TARGETS = {"x86_64": "x86", "aarch64": "arm", "arm": "arm"}
"""What ``--layout-transform cpu`` is called in 1.6, by the architecture."""


class StepFiles(Value):
    program: str
    model: str
    dumped_model: str
    algo_cache: str
    inputs: tuple[tuple[str, str], ...] = ()
    outputs: str | None = None


class StepCommand(Value):
    step: Step
    argv: tuple[str, ...]
    iterations: int


def make_commands(
    experiment: Experiment,
    files: StepFiles,
    *,
    dialect: Dialect,
    backend: Backend,
    architecture: str | None,
    threads: int = 1,
    iterations: int = ITERATIONS,
    extra: tuple[str, ...] = (),
) -> tuple[StepCommand, ...]:
    """A step that is not measured makes one iteration: what it is for happens before. ``extra``
    are arguments of the scenario, in front of the experiment's; they name no device.
    ``architecture`` is that of ``uname -m``. Raises InputError for a flag that the program does
    not know.
    """
    made = []
    for step in experiment.steps:
        count = iterations if step.measured else 1
        flags = list_flags(step, dialect, backend, architecture, threads=threads)
        missing = find_unknown(flags, dialect)
        if missing is not None:
            msg = f"{experiment.name}: {describe_unknown(missing)}"
            raise InputError(msg, hint="`megtrim perf list` shows what this engine can run")
        counts = (Flag("warmup_iter", str(step.warmups)), Flag("iter", str(count)))
        arguments = ProgramArguments(
            program=files.program,
            model=files.model if step.model is ModelFile.ORIGINAL else files.dumped_model,
            arguments=(
                *extra,
                *render_flags(flags, dialect),
                *(("--layout-transform-dump", files.dumped_model) if step.dumps else ()),
                *render_flags(counts, dialect),
            ),
            inputs=files.inputs,
            threads=1 if backend is Backend.CUDA else threads,
            algo_cache=None if step.cache is CacheUse.NONE else files.algo_cache,
            dump_dir=files.outputs if step.measured else None,
        )
        made.append(StepCommand(step=step, argv=compose(arguments), iterations=count))
    return tuple(made)


def make_dumping(command: StepCommand, folder: str) -> StepCommand:
    """Return the command that makes one iteration and dumps its outputs into an existing folder.

    Without fake-first: from 1.7 on the program dumps after warm-ups, too, and crashes after one
    that computed nothing.
    """
    argv = (word for word in command.argv if word.lstrip("-").replace("_", "-") != _FAKE_FIRST)
    more = ("--iter", "1", "--bin-out-dump", folder)
    return replace(command, argv=(*argv, *more), iterations=1)


def list_flags(
    step: Step, dialect: Dialect, backend: Backend, architecture: str | None, *, threads: int = 1
) -> tuple[Flag, ...]:
    flags = [*_select_device(step, backend, dialect, threads)]
    if step.transforms:
        flags.append(Flag("layout_transform", _find_target(dialect, backend, architecture)))
    return tuple(Flag(_translate(each.name, dialect), each.value) for each in (*flags, *step.flags))


def find_missing(experiment: Experiment, backend: Backend, dialect: Dialect) -> str | None:
    for step in experiment.steps:
        flags = [*list_flags(step, dialect, backend, None)]
        if step.dumps:
            flags.append(Flag("layout_transform_dump", ""))
        if step.cache is not CacheUse.NONE:
            flags.append(Flag("fast_run_algo_policy", ""))
        flags += [Flag("warmup_iter", ""), Flag("iter", "")]
        missing = find_unknown(tuple(flags), dialect)
        if missing is not None:
            return missing
    return None


def find_unknown(flags: tuple[Flag, ...], dialect: Dialect) -> str | None:
    return next((each.name for each in flags if not dialect.knows(each.name)), None)


def describe_unknown(name: str) -> str:
    return f"the flag --{name.replace('_', '-')} is unknown to this engine's load_and_run"


def _select_device(
    step: Step, backend: Backend, dialect: Dialect, threads: int
) -> tuple[Flag, ...]:
    if backend is Backend.CUDA:
        # Up to 1.6 there is no such flag: a build with CUDA takes the GPU if no other is named.
        return () if dialect.literal else (Flag("cuda", None),)
    if step.in_place:
        several = threads > 1
        return (
            Flag("multithread_default", str(threads)) if several else Flag("cpu_default", None),
        )
    return (Flag("cpu", None),)


def _find_target(dialect: Dialect, backend: Backend, architecture: str | None) -> str | None:
    """None: 1.6 cannot be given the CPU's name, and tries the layouts of all backends."""
    if backend is Backend.CUDA or not dialect.literal:
        return backend.value
    return _OLD_TARGETS.get(architecture or "")


def _translate(name: str, dialect: Dialect) -> str:
    other = dialect.other_names.get(name)
    return other if other is not None and not dialect.knows(name) and dialect.knows(other) else name


def keep_for_experiments(flags: Sequence[Flag]) -> tuple[Flag, ...]:
    """The baseline is without optimisation, whatever the scenario ships with."""
    chosen = {flag.name for each in EXPERIMENTS for step in each.steps for flag in step.flags}
    return without(flags, *sorted(chosen), *_COUNTS, *_DEVICES, *_OF_STEPS)


def drop_counts(flags: Sequence[Flag]) -> tuple[tuple[Flag, ...], int]:
    asked = [flag.value for flag in flags if flag.name == "warmup_iter" and flag.value]
    warmups = int(asked[-1]) if asked and asked[-1].isdecimal() else _WARMUPS
    return without(flags, *_COUNTS), warmups
