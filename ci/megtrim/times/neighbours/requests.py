"""From a scenario to its neighbours and the runs of them: which there are, and their files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from megtrim.core.chain.session import Session, TrimRequest
from megtrim.core.config.scenarios import Scenario
from megtrim.core.project import read_any_model
from megtrim.core.trim.runs.execution import RunSpec
from megtrim.core.trim.runs.scenario_runs import cache_of, make_run_spec
from megtrim.engines.megengine.load_and_run.arguments import (
    Flag,
    flags,
    is_on,
    render_flags,
    set_flag,
    without,
)
from megtrim.engines.megengine.load_and_run.dialects import Dialect
from megtrim.engines.megengine.load_and_run.program import find_dialect
from megtrim.libs.programs import application_arguments, npy
from megtrim.libs.programs.app_outputs import NPY
from megtrim.libs.programs.npy import NpyMutation
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value


def near(scenario: Scenario, session: Session) -> tuple[Neighbour, ...]:
    changes = [
        change for change in NpyMutation if _mutate_inputs(scenario, session.request, change)
    ]
    return neighbours(
        scenario, dialect=find_dialect(session.services.engine.flags), changes=changes
    )


def order_of(
    neighbour: Neighbour, scenario: Scenario, session: Session, program: Path, folder: Path
) -> RunSpec:
    own = make_run_spec(scenario, session, program, cache=cache_of(scenario, session))
    model = own.model
    if neighbour.model is not None:
        model = session.request.path(neighbour.model)
    return replace(
        own,
        model=model,
        without_model=neighbour.model is None,
        arguments=neighbour.arguments,
        threads=neighbour.threads,
        cache=own.cache if neighbour.cached else None,
        inputs=_inputs(neighbour, scenario, session.request, folder),
    )


def _inputs(
    neighbour: Neighbour, scenario: Scenario, request: TrimRequest, folder: Path
) -> dict[str, Path]:
    given = {name: request.path(path) for name, path in scenario.settings.inputs.items()}
    if neighbour.change is None:
        return given
    folder.mkdir(exist_ok=True)
    for number, (name, data) in enumerate(
        _mutate_inputs(scenario, request, neighbour.change).items()
    ):
        given[name] = folder / f"input{number}{NPY}"
        given[name].write_bytes(data)
    return given


def _mutate_inputs(
    scenario: Scenario, request: TrimRequest, change: NpyMutation
) -> dict[str, bytes]:
    settings = scenario.settings
    if not settings.inputs and not settings.is_command and change is NpyMutation.VALUES:
        return dict(_made_up(request.path(scenario.own_model.file)))
    return dict(_changed_files(settings.inputs, request, change))


def _changed_files(
    inputs: Mapping[str, Path], request: TrimRequest, change: NpyMutation
) -> Iterator[tuple[str, bytes]]:
    for name, relative in sorted(inputs.items()):
        path = request.path(relative)
        if path.suffix == NPY:
            data = read_bytes(
                path, most_bytes=npy.LARGEST_BYTES, expected="a .npy file", shown=str(relative)
            )
            made = npy.apply_change(data, change, source=str(relative))
            if made is not None:
                yield name, made


def _made_up(model: Path) -> Iterator[tuple[str, bytes]]:
    try:
        inputs = read_any_model(model).inputs
    except InputError:
        return  # of a format that is not known: it runs, with what else is not known
    for input_ in inputs:
        made = npy.generate_input(input_.dtype, input_.shape) if input_.shape else None
        if made is not None:
            yield input_.name, made


class NeighbourKind(StrEnum):
    ITERATIONS = "iterations"
    WARM_UP = "warm-up"
    THREADS = "threads"
    BATCH = "batch"
    VALUES = "values"
    SIZE = "size"
    FLAGS = "flags"
    FORMAT = "format"
    COMPLAINT = "complaint"


class Neighbour(Value):
    name: str
    kind: NeighbourKind
    what: str
    arguments: tuple[str, ...]
    threads: int
    model: Path | None
    """None: the program gets the name of a file that does not exist."""
    change: NpyMutation | None = None
    cached: bool = True
    searches: bool = False
    """The engine chooses what it measures as fastest, which may change the order of sums."""

    @property
    def run(self) -> tuple[object, ...]:
        return (self.arguments, self.threads, self.model, self.change, self.cached)


_NUMBERS = (
    ("iter", "iter", NeighbourKind.ITERATIONS, (1, 3, 12), 10),
    ("warmup_iter", "warm-up", NeighbourKind.WARM_UP, (0, 1, 3), 1),
    ("batch_size", "batch-size", NeighbourKind.BATCH, (2,), None),
)
"""Flag, its name here, its kind, the values to try, and the default of every release."""
_THREADS = (1, 2, 4)
_CPUS = ("cpu", "cpu_default")
_SEARCHES = ("fast_run", "full_run")
_THREAD_FLAGS = ("multithread", "multithread_default")
_LAYOUTS = ("enable_nchw44", "enable_nchw44_dot", "enable_nchw88")
_RECORDS = ("record_comp_seq", "record_comp_seq2")
_SWITCHES = (
    "weight_preprocess",
    "winograd_transform",
    *_LAYOUTS,
    "enable_ioc16",
    "enable_fuse_preprocess",
    "enable_fuse_conv_bias_nonlinearity",
    "enable_fuse_conv_bias_with_z",
    "optimize_for_inference",
    "enable_jit",
    *_RECORDS,
    "fake_first",
    "const_shape",
    "share_param_mem",
    "disable_mem_opt",
    "no_sanity_check",
    "reproducible",
    "copy_to_host",
    "lite",
    "cpu_default",
    *_SEARCHES,
)
"""Switches of every release that change how a CPU computes, but not what."""
_INSTEAD: Mapping[str, tuple[str, ...]] = {
    name: group for group in (_CPUS, _SEARCHES, _LAYOUTS, _RECORDS) for name in group
}
"""A run has at most one switch of each group."""
_ALONG = {"record_comp_seq2": "no_sanity_check"}
"""Switches that the program accepts only with another one."""
_UNKNOWN = "--megtrim-asks-for-an-unknown-flag"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]")
_OF_INPUTS = {
    NpyMutation.VALUES: (
        "other-values",
        NeighbourKind.VALUES,
        "the inputs' numbers in reverse order",
    ),
    NpyMutation.BATCH: ("batch-2", NeighbourKind.BATCH, "every input twice, as a batch"),
    NpyMutation.SMALLER: (
        "smaller-input",
        NeighbourKind.SIZE,
        "inputs of half the height and width",
    ),
    NpyMutation.LARGER: (
        "larger-input",
        NeighbourKind.SIZE,
        "inputs of twice the height and width",
    ),
}


def neighbours(
    scenario: Scenario, *, dialect: Dialect, changes: Collection[NpyMutation]
) -> tuple[Neighbour, ...]:
    own = _itself(scenario, dialect)
    by_engine = not scenario.settings.is_command
    candidates = _of_engine(scenario, own, dialect) if by_engine else _of_application(scenario, own)
    found: dict[tuple[object, ...], Neighbour] = {own.run: own}
    names: set[str] = set()
    mutated = (
        replace(own, name=name, kind=kind, what=what, change=change)
        for change, (name, kind, what) in _OF_INPUTS.items()
        if change in changes
    )
    for each in (*candidates, *mutated):
        if each.run not in found:
            more = (f"{each.name}-{number}" for number in itertools.count(2))
            name = next(name for name in itertools.chain([each.name], more) if name not in names)
            found[each.run] = replace(each, name=name)
            names.add(name)
    order = list(NeighbourKind)
    rest = [each for each in found.values() if each is not own]
    return tuple(sorted(rest, key=lambda each: order.index(each.kind)))


def _itself(scenario: Scenario, dialect: Dialect) -> Neighbour:
    settings = scenario.settings
    arguments = settings.args
    threads = settings.threads
    if not settings.is_command:
        given = flags(arguments, dialect=dialect, source=scenario.id)
        # Flags override the number of threads, as on the scenario's own command line.
        values = [flag.value for flag in given if flag.name in _THREAD_FLAGS and flag.value]
        threads = int(values[-1]) if values and values[-1].isdecimal() else threads
        arguments = render_flags(given, dialect)
    return Neighbour(
        name="",
        kind=NeighbourKind.FLAGS,
        what="",
        arguments=arguments,
        threads=threads,
        model=scenario.own_model.file,
    )


def _of_engine(scenario: Scenario, own: Neighbour, dialect: Dialect) -> Iterator[Neighbour]:
    given = flags(own.arguments, dialect=dialect, source=scenario.id)
    yield from _of_numbers(own, given, dialect)
    alone = render_flags(without(given, *_THREAD_FLAGS), dialect)
    for thread in _of_threads(own):
        if thread.threads != own.threads:
            yield replace(thread, arguments=alone)
    for switch in _switches(scenario, dialect):
        yield _toggle_switch(own, given, switch, dialect)
    if _has_cache(scenario):
        what = "without the algorithm cache"
        other = replace(own, name="without-algo-cache", kind=NeighbourKind.FLAGS, what=what)
        yield replace(other, cached=False, searches=True)
    yield from _of_model(scenario, own)
    complaint = replace(own, kind=NeighbourKind.COMPLAINT, what="a flag that does not exist")
    yield replace(complaint, name="unknown-flag", arguments=(*own.arguments, _UNKNOWN))
    if dialect.is_switch("help"):
        yield replace(complaint, name="help", what="--help", arguments=(*own.arguments, "--help"))


def _of_numbers(own: Neighbour, given: Sequence[Flag], dialect: Dialect) -> Iterator[Neighbour]:
    values = {flag.name for flag in given}
    for flag, name, kind, counts, default in _NUMBERS:
        for count in counts if flag in dialect.values else ():
            if count == default and flag not in values:
                continue
            what = f"--{flag.replace('_', '-')} {count}"
            arguments = render_flags(set_flag(given, flag, str(count)), dialect)
            yield replace(own, name=f"{name}-{count}", kind=kind, what=what, arguments=arguments)


def _of_threads(own: Neighbour) -> Iterator[Neighbour]:
    for count in _THREADS:
        what = "1 thread" if count == 1 else f"{count} threads"
        yield replace(
            own, name=f"threads-{count}", kind=NeighbourKind.THREADS, what=what, threads=count
        )


def _switches(scenario: Scenario, dialect: Dialect) -> Iterator[str]:
    for switch in _SWITCHES:
        other = dialect.other_names.get(switch, "")
        # The oldest releases accept both names of one switch.
        listed_as_other = other in dialect.switches and other < switch
        in_vain = switch in _SEARCHES and _has_cache(scenario)
        if switch in dialect.switches and not listed_as_other and not in_vain:
            yield switch


def _toggle_switch(
    own: Neighbour, given: Sequence[Flag], switch: str, dialect: Dialect
) -> Neighbour:
    shown = switch.replace("_", "-")
    if is_on(given, switch, dialect):
        name = f"without-{shown}"
        what = f"without --{shown}"
        turned = without(given, switch)
    else:
        turned = without(given, *_INSTEAD.get(switch, ()))
        along = _ALONG.get(switch, "")
        if along in dialect.switches:
            turned = set_flag(turned, along, None)
        name = shown
        what = f"--{shown}"
        turned = set_flag(turned, switch, None)
    return replace(
        own,
        name=name,
        kind=NeighbourKind.FLAGS,
        what=what,
        arguments=render_flags(turned, dialect),
        searches=switch in _SEARCHES,
    )


def _of_application(scenario: Scenario, own: Neighbour) -> Iterator[Neighbour]:
    used = application_arguments.names_in(own.arguments)
    yield from _of_threads(own) if application_arguments.THREADS in used else ()
    yield from _of_model(scenario, own) if application_arguments.MODEL in used else ()


def _of_model(scenario: Scenario, own: Neighbour) -> Iterator[Neighbour]:
    for path in scenario.own_model.also:
        name = f"model-{_NOT_IN_A_NAME.sub('-', path.name)}"
        yield replace(
            own, name=name, kind=NeighbourKind.FORMAT, what=f"the dump {path}", model=path
        )
    what = "a model file that does not exist"
    yield replace(own, name="no-model", kind=NeighbourKind.COMPLAINT, what=what, model=None)


def _has_cache(scenario: Scenario) -> bool:
    return scenario.settings.fast_run or scenario.settings.algo_cache is not None
