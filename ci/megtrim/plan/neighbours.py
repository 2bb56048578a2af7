"""Scenarios that are near a traced one: what somebody may run next, and what nobody traced.

Pure: the same scenario has the same neighbours, in one order, each with a name of its own, and none
of them is the scenario itself. What an input can become is asked of its file by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from megtrim.config.model import Config
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.load_and_run import application
from megtrim.load_and_run.argument_mutation import is_on, render_flags, set_flag, without
from megtrim.load_and_run.arguments import Flag, flags
from megtrim.load_and_run.dialects import Dialect
from megtrim.load_and_run.npy_mutation import NpyMutation


class NeighbourKind(StrEnum):
    """What of a scenario is another."""

    ITERATIONS = "iterations"
    WARM_UP = "warm-up"
    THREADS = "threads"
    BATCH = "batch"
    VALUES = "values"
    SIZE = "size"
    FLAGS = "flags"
    FORMAT = "format"
    COMPLAINT = "complaint"
    """The program is to say something: what is wrong, or how it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A run that differs from its scenario in one thing."""

    name: str
    kind: NeighbourKind
    what: str
    """One line: what differs."""
    arguments: tuple[str, ...]
    threads: int
    model: Path | None
    """None: the file that is named is not there."""
    change: NpyMutation | None = None
    """Of every input that can be changed so."""
    cached: bool = True
    """With the scenario's algorithm cache, where it has one."""
    searches: bool = False
    """The engine takes what it measures to be fastest, which may compute in another order."""

    @property
    def run(self) -> tuple[object, ...]:
        """What is run; equal for equal runs, whatever they are called."""
        return (self.arguments, self.threads, self.model, self.change, self.cached)


_NUMBERS = (
    ("iter", "iter", NeighbourKind.ITERATIONS, (1, 3, 12), 10),
    ("warmup_iter", "warm-up", NeighbourKind.WARM_UP, (0, 1, 3), 1),
    ("batch_size", "batch-size", NeighbourKind.BATCH, (2,), None),
)
"""Flag, its name here, what it changes, the values, and what every release does without it."""
_THREADS = (1, 2, 4)
_CPUS, _SEARCHES = ("cpu", "cpu_default"), ("fast_run", "full_run")
_THREAD_FLAGS = ("multithread", "multithread_default")
_LAYOUTS = ("enable_nchw44", "enable_nchw44_dot", "enable_nchw88")
_RECORDS = ("record_comp_seq", "record_comp_seq2")
_SWITCHES = (
    *("weight_preprocess", "winograd_transform", *_LAYOUTS, "enable_ioc16"),
    *("enable_fuse_preprocess", "enable_fuse_conv_bias_nonlinearity"),
    *("enable_fuse_conv_bias_with_z", "optimize_for_inference", "enable_jit"),
    *(*_RECORDS, "fake_first", "const_shape", "share_param_mem", "disable_mem_opt"),
    *("no_sanity_check", "reproducible", "copy_to_host", "lite", "cpu_default", *_SEARCHES),
)
"""Switches that make a CPU run another way and leave what it computes; of every release."""
_INSTEAD: Mapping[str, tuple[str, ...]] = {
    name: group for group in (_CPUS, _SEARCHES, _LAYOUTS, _RECORDS) for name in group
}
"""Of such a group, a run has one."""
_ALONG = {"record_comp_seq2": "no_sanity_check"}
"""A switch that the program refuses without another."""
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


def select_scenarios(config: Config, *, asked: bool) -> Iterator[Scenario]:
    """Yield the scenarios whose neighbours are run: all if asked, else those a budget is about."""
    budgets = {budget.artifact for budget in config.budgets if budget.neighbours is not None}
    for each in all_scenarios(config):
        if asked or (each.settings.application or config.engine.target) in budgets:
            yield each


def neighbours(
    scenario: Scenario, *, dialect: Dialect, changes: Collection[NpyMutation]
) -> tuple[Neighbour, ...]:
    """Return a scenario's neighbours. ``changes``: what its inputs can become."""
    own = _itself(scenario, dialect)
    by_engine = scenario.settings.application is None
    told = _of_engine(scenario, own, dialect) if by_engine else _of_application(scenario, own)
    found: dict[tuple[object, ...], Neighbour] = {own.run: own}
    names: set[str] = set()
    for each in (*told, *_of_inputs(own, changes)):
        if each.run not in found:
            found[each.run] = replace(each, name=_unique(each.name, names))
            names.add(found[each.run].name)
    order = list(NeighbourKind)
    rest = [each for each in found.values() if each is not own]
    return tuple(sorted(rest, key=lambda each: order.index(each.kind)))


def _itself(scenario: Scenario, dialect: Dialect) -> Neighbour:
    """Return the scenario as if it were a neighbour, for the others to be changed from."""
    settings = scenario.settings
    arguments, threads = settings.args, settings.threads
    if settings.application is None:
        given = flags(arguments, dialect=dialect, source=scenario.id)
        # What the flags say of threads wins, as on the scenario's own command line.
        said = [flag.value for flag in given if flag.name in _THREAD_FLAGS and flag.value]
        threads = int(said[-1]) if said and said[-1].isdecimal() else threads
        arguments = render_flags(given, dialect)
    return Neighbour(
        name="",
        kind=NeighbourKind.FLAGS,
        what="",
        arguments=arguments,
        threads=threads,
        model=scenario.model.file,
    )


def _of_engine(scenario: Scenario, own: Neighbour, dialect: Dialect) -> Iterator[Neighbour]:
    """Yield what the engine's own program can be told."""
    given = flags(own.arguments, dialect=dialect, source=scenario.id)
    yield from _of_numbers(own, given, dialect)
    alone = render_flags(without(given, *_THREAD_FLAGS), dialect)
    for each in _of_threads(own):
        if each.threads != own.threads:
            yield replace(each, arguments=alone)
    for switch in _switches(scenario, dialect):
        yield _toggle_switch(own, given, switch, dialect)
    if _has_cache(scenario):
        what = "without the algorithm cache"
        other = replace(own, name="without-algo-cache", kind=NeighbourKind.FLAGS, what=what)
        yield replace(other, cached=False, searches=True)
    yield from _of_model(scenario, own)
    complaint = replace(own, kind=NeighbourKind.COMPLAINT, what="a flag that there is not")
    yield replace(complaint, name="unknown-flag", arguments=(*own.arguments, _UNKNOWN))
    if dialect.is_switch("help"):
        yield replace(complaint, name="help", what="--help", arguments=(*own.arguments, "--help"))


def _of_numbers(own: Neighbour, given: Sequence[Flag], dialect: Dialect) -> Iterator[Neighbour]:
    """Yield the runs with other numbers; a program's own default is no other one."""
    said = {flag.name for flag in given}
    for flag, name, kind, counts, default in _NUMBERS:
        for count in counts if flag in dialect.values else ():
            if count == default and flag not in said:
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
    """Yield the switches that this program has; a search makes nothing of a cache that is given."""
    for switch in _SWITCHES:
        other = dialect.other_names.get(switch, "")
        # The oldest releases know both names of one thing.
        told_as_other = other in dialect.switches and other < switch
        in_vain = switch in _SEARCHES and _has_cache(scenario)
        if switch in dialect.switches and not told_as_other and not in_vain:
            yield switch


def _toggle_switch(
    own: Neighbour, given: Sequence[Flag], switch: str, dialect: Dialect
) -> Neighbour:
    """Return the run with a switch turned: on in place of its group's other, or off."""
    shown = switch.replace("_", "-")
    if is_on(given, switch, dialect):
        name, what, turned = f"without-{shown}", f"without --{shown}", without(given, switch)
    else:
        turned = without(given, *_INSTEAD.get(switch, ()))
        along = _ALONG.get(switch, "")
        if along in dialect.switches:
            turned = set_flag(turned, along, None)
        name, what, turned = shown, f"--{shown}", set_flag(turned, switch, None)
    return replace(
        own,
        name=name,
        kind=NeighbourKind.FLAGS,
        what=what,
        arguments=render_flags(turned, dialect),
        searches=switch in _SEARCHES,
    )


def _of_application(scenario: Scenario, own: Neighbour) -> Iterator[Neighbour]:
    """Yield what is known of a team's own program: its words are its own, its places are not."""
    used = application.names_in(own.arguments)
    yield from _of_threads(own) if application.THREADS in used else ()
    yield from _of_model(scenario, own) if application.MODEL in used else ()


def _of_model(scenario: Scenario, own: Neighbour) -> Iterator[Neighbour]:
    """Yield the same run of the model's other dumps, and of none."""
    for path in scenario.model.also:
        name = f"model-{_NOT_IN_A_NAME.sub('-', path.name)}"
        yield replace(
            own, name=name, kind=NeighbourKind.FORMAT, what=f"the dump {path}", model=path
        )
    what = "a model file that is not there"
    yield replace(own, name="no-model", kind=NeighbourKind.COMPLAINT, what=what, model=None)


def _of_inputs(own: Neighbour, changes: Collection[NpyMutation]) -> Iterator[Neighbour]:
    for change, (name, kind, what) in _OF_INPUTS.items():
        if change in changes:
            yield replace(own, name=name, kind=kind, what=what, change=change)


def _has_cache(scenario: Scenario) -> bool:
    return scenario.settings.fast_run or scenario.settings.algo_cache is not None


def _unique(name: str, taken: Collection[str]) -> str:
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique
