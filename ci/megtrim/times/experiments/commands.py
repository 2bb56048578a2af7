"""Whether an experiment can run here, and the command line of each step as the engine spells it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from megtrim.core.own_program import find_program
from megtrim.core.timing.catalogue import list_experiments
from megtrim.core.timing.experiment import (
    Backend,
    CacheUse,
    DataType,
    Experiment,
    ModelFile,
    Step,
)
from megtrim.libs.programs.application_arguments import Places
from megtrim.libs.programs.flags import Dialect, Flag, render_flags, without
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

ITERATIONS = 10
"""The program's own default."""

_FAKE_FIRST = "fake-first"
_COUNTS = ("iter", "warmup_iter")
_DEVICES = ("cpu", "cpu_default", "cuda", "multithread", "multithread_default")
_OF_STEPS = ("fast_run", "fast_run_algo_policy", "layout_transform", "layout_transform_dump")
_WARMUPS = 1

_OLD_TARGETS = {"x86_64": "x86", "aarch64": "arm", "arm": "arm"}
"""What ``--layout-transform cpu`` is called in 1.6, by the architecture."""

OF_FLAGS = "a command runs as it is written, and this experiment sets flags that it does not have"
NO_GPU = "not run here: needs an NVIDIA GPU"

_INT4 = frozenset({"QuantizedS4", "Quantized4Asymm"})
_INT8 = frozenset({"QuantizedS8", "Quantized8Asymm"})
_FLOAT32 = "Float32"


class StepFiles(Value):
    program: str
    model: str
    dumped_model: str
    algo_cache: str
    inputs: tuple[tuple[str, str], ...] = ()

    def compose(self, step: Step, words: Sequence[str], *, threads: int) -> tuple[str, ...]:
        places = Places(
            outputs="",
            threads=threads,
            model=self.model if step.model is ModelFile.ORIGINAL else self.dumped_model,
            inputs=dict(self.inputs),
            algo_cache=None if step.cache is CacheUse.NONE else self.algo_cache,
        )
        return find_program().compose(self.program, words, places, search=False, dumps=False)


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
    """A step that is not measured makes one iteration. ``extra``: the scenario's, in front.
    ``architecture``: of ``uname -m``. Raises InputError for a flag that the program does not know.
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
        words = [*extra, *render_flags(flags, dialect)]
        if step.dumps:
            words += ["--layout-transform-dump", files.dumped_model]
        words += render_flags(counts, dialect)
        argv = files.compose(step, words, threads=1 if backend is Backend.CUDA else threads)
        made.append(StepCommand(step=step, argv=argv, iterations=count))
    return tuple(made)


def make_dumping(command: StepCommand, folder: str) -> StepCommand:
    """Return the command that makes one iteration and dumps its outputs into an existing folder.

    Without fake-first: from 1.7 on, a dump after a warm-up that computed nothing crashes.
    """
    argv = (word for word in command.argv if word.lstrip("-").replace("_", "-") != _FAKE_FIRST)
    more = ("--iter", "1", "--bin-out-dump", folder)
    return replace(command, argv=(*argv, *more), iterations=1)


def list_flags(
    step: Step, dialect: Dialect, backend: Backend, architecture: str | None, *, threads: int = 1
) -> tuple[Flag, ...]:
    flags = [*_select_device(step, backend, dialect, threads)]
    if step.transforms:
        # 1.6 cannot be given the name of another CPU, and then tries the layouts of all backends.
        newer = backend is Backend.CUDA or not dialect.literal
        target = backend.value if newer else _OLD_TARGETS.get(architecture or "")
        flags.append(Flag("layout_transform", target))
    found = []
    for flag in (*flags, *step.flags):
        other = dialect.other_names.get(flag.name, "")
        renamed = not dialect.knows(flag.name) and dialect.knows(other)
        found.append(Flag(other if renamed else flag.name, flag.value))
    return tuple(found)


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
    return next((flag.name for flag in flags if not dialect.knows(flag.name)), None)


def describe_unknown(name: str) -> str:
    shown = name.replace("_", "-")
    return f"the flag --{shown} is unknown to this engine's {find_program().NAME}"


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


def keep_for_experiments(flags: Sequence[Flag]) -> tuple[Flag, ...]:
    chosen = {
        flag.name for each in list_experiments() for step in each.steps for flag in step.flags
    }
    return without(flags, *sorted(chosen), *_COUNTS, *_DEVICES, *_OF_STEPS)


def drop_counts(flags: Sequence[Flag]) -> tuple[tuple[Flag, ...], int]:
    asked = [flag.value for flag in flags if flag.name == "warmup_iter" and flag.value]
    warmups = int(asked[-1]) if asked and asked[-1].isdecimal() else _WARMUPS
    return without(flags, *_COUNTS), warmups


class Situation(Value):
    """What there is; None: not known, and taken to be enough."""

    dialect: Dialect
    architecture: str | None
    cpu_features: frozenset[str] | None = None
    data_type: DataType | None = None
    backend: Backend = Backend.CPU
    has_gpu: bool = False


def why_not(experiment: Experiment, situation: Situation) -> str | None:
    """Flags come first, so that commands for a GPU are checked where there is none."""
    needs = experiment.needs
    backend = choose_backend(experiment, situation)
    missing = find_missing(experiment, backend, situation.dialect)
    if missing is not None:
        return describe_unknown(missing)
    if needs.elsewhere:
        return f"needs {needs.elsewhere}: {needs.why_elsewhere}"
    if backend is Backend.CUDA and not situation.has_gpu:
        return NO_GPU
    machine = situation.architecture
    features = situation.cpu_features
    if needs.architectures and machine is not None and machine not in needs.architectures:
        return f"needs {join_any(needs.architectures)}, and this is {machine}"
    lacking = describe_lacking(needs.cpu_features, features)
    if lacking is not None:
        return lacking
    data_type = situation.data_type
    if needs.data_types and data_type is not None and data_type not in needs.data_types:
        return f"needs a model of {join_any(needs.data_types)}, but this one is of {data_type}"
    return None


def describe_lacking(wanted: Iterable[str], features: frozenset[str] | None) -> str | None:
    absent = [each for each in wanted if features is not None and each not in features]
    return f"needs a CPU with {absent[0]}, which this one does not have" if absent else None


def choose_backend(experiment: Experiment, situation: Situation) -> Backend:
    backends = experiment.needs.backends
    return situation.backend if situation.backend in backends else backends[0]


def find_data_type(names: Iterable[str]) -> DataType | None:
    """By the engine's names; None: none that experiments tell apart. Quantised ends are float32."""
    found = set(names)
    if found & _INT4:
        return DataType.INT4
    if found & _INT8:
        return DataType.INT8
    return DataType.FLOAT32 if _FLOAT32 in found else None


def describe_needs(experiment: Experiment) -> tuple[str, ...]:
    needs = experiment.needs
    found = []
    if Backend.CPU not in needs.backends:
        found.append("an NVIDIA GPU")
    elif needs.architectures:
        found.append(join_any(needs.architectures))
    elif Backend.CUDA not in needs.backends:
        found.append("a CPU")
    if needs.cpu_features:
        found.append(f"a CPU with {' and '.join(needs.cpu_features)}")
    if needs.data_types:
        found.append(f"a model of {join_any(needs.data_types)}")
    if needs.elsewhere:
        found.append(needs.elsewhere)
    return tuple(found)


def join_any(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
