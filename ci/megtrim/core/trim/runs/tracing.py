"""Tracing a scenario on a device: search for algorithms if wanted, run the profile build, check.

It needs programs and a device, and no configuration: the stage ``profile`` and a device job,
which has nothing but a bundle, share it.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from megtrim.core.build_spec import Link, Variant
from megtrim.core.chain.filenames import TRACE_FILE
from megtrim.core.functions import probes, qemu_log
from megtrim.core.functions.blocks import find_blocks
from megtrim.core.functions.observables import FunctionList, Observables, function_list
from megtrim.core.keep.marks import RegionTraces
from megtrim.core.keep.split_function import SplitFunction
from megtrim.core.keep.trace import Trace
from megtrim.core.own_program import read_error
from megtrim.core.trim.runs import execution
from megtrim.core.trim.runs.complaints import list_spoken
from megtrim.core.trim.runs.execution import RunResult, RunSpec
from megtrim.libs.elf.block_map import parse_block_map
from megtrim.libs.elf.symbol_table import holding, parse_table, read_linked
from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending
from megtrim.libs.util.errors import InfrastructureFailure, ProductFailure
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import Lease
from megtrim.places.devices.retry import ProgramKilled

Note = Callable[[RunResult], None]


class Recorded(Value):
    functions: FunctionList
    blocks: tuple[SplitFunction, ...]
    """Of functions that may be cut; empty where no blocks can be observed."""
    run: ProgramRun


EMULATED = "qemu"
"""Devices of this kind log what they translate."""

_LOGGED = (qemu_log.LOG_FILE, qemu_log.ENVIRONMENT)
_PROBED = (probes.RECORD_FILE, probes.ENVIRONMENT)
_UNTRIMMED = "the model, its arguments or its inputs do not work untrimmed"
_ON_PLAIN = "does the scenario run on the plain build?"
_OF_LIBRARY = (
    "does the scenario run on the plain build, and does its program leave SIGTRAP to the libraries "
    "that it loads?"
)
_LONG = "a-name-that-no-short-string-holds-"
FORM = "3"
"""What a list depends on besides its inputs: how links are made and what else runs."""


def search(scenario: str, spec: RunSpec, lease: Lease, note: Note) -> tuple[bytes, ProgramRun]:
    """Raises ProductFailure where the run fails or leaves none."""
    found = _run_checked(scenario, spec, lease, note, f"the {Variant.PLAIN} build", _UNTRIMMED)
    if not found.cache:
        msg = f"{scenario}: the search succeeded, but left no algorithm cache"
        raise ProductFailure(msg, hint="does the model have an operator with several algorithms?")
    return found.cache, found.run


def trace(
    scenario: str, spec: RunSpec, traces: RegionTraces, lease: Lease, note: Note
) -> tuple[Trace, bytes, ProgramRun]:
    """Raises ProductFailure where the run fails, TraceFailure where the trace cannot be used."""
    wanted = leave_trace(spec, traces)
    found = _run_checked(scenario, wanted, lease, note, f"the {Variant.PROFILE} build", _UNTRIMMED)
    said = found.run.stderr
    parsed = traces.check(found.recorded, said=said, source=f"trace of {scenario}")
    return parsed, found.recorded or b"", found.run


def leave_trace(spec: RunSpec, traces: RegionTraces) -> RunSpec:
    """``spec`` is of a program of the profile build."""
    environment = {**spec.environment, traces.variable: TRACE_FILE}
    return replace(spec, recorded=TRACE_FILE, environment=environment)


def link_for(lease: Lease, *, shared: bool) -> Link:
    """No emulator knows where a loader put a shared object: that records its functions itself."""
    return Link.UNFOLDED if lease.kind == EMULATED and not shared else Link.PROBED


def ran(
    scenario: str,
    spec: RunSpec,
    lease: Lease,
    note: Note,
    *,
    observables: Observables,
    speaks: bool,
    splits: bool = False,
    complaints: Sequence[RunSpec] = (),
) -> Recorded:
    """Return the list of functions that ran, and the run that was asked for.

    ``spec`` is of the link that :func:`link_for` names, with its symbols; ``observables`` are
    those of the unfolded link, and make the list the same, whoever records. ``speaks``: the
    program has words for what goes wrong, so they are kept. ``splits``: blocks are asked for, so
    its map of them must be one that megtrim reads. ``complaints``: further runs. Where
    one fails, and runs blocks that no other does, their functions may not be cut. Raises
    ProductFailure where the run fails, InfrastructureFailure where nothing was recorded.
    """
    logged = link_for(lease, shared=bool(spec.companions)) is Link.UNFOLDED
    record, variables = _LOGGED if logged else _PROBED

    def watch(each: RunSpec) -> RunSpec:
        return replace(each, recorded=record, environment={**each.environment, **variables})

    wanted = watch(spec)
    spoken: tuple[RunSpec, ...] = ()
    if speaks and not spec.application:  # an application's words are those of its own scenarios
        spoken = tuple(list_spoken(spec))
    data = read_linked(spec.holder)
    table = parse_table(data, source=str(spec.holder))
    mapped = parse_block_map(data, source=str(spec.holder)) if logged and splits else ()
    hint = _OF_LIBRARY if spec.companions else _ON_PLAIN
    # A string copies long names, as users have them, by other functions than those that fit in it.
    found = [
        _run_checked(scenario, each, lease, note, "the link that shows its functions", hint)
        for each in (wanted, replace(wanted, prefix=_LONG))
    ]
    found += [_run(scenario, watch(each), lease, note) for each in spoken]
    # Only an emulator's log shows blocks, and on a device such a run may end before it calls any.
    further = [each for each in complaints if logged and each not in spoken]
    for complaint in further:
        with suppress(ProgramKilled, ProductFailure):  # ended from outside, or it wrote too much
            found.append(_run(scenario, watch(complaint), lease, note))
    names: set[str] = set()
    addresses: set[int] = set()
    failing: set[int] = set()
    for each in found:
        if not each.recorded:
            lost = f"left no {wanted.recorded}, so its functions are not known"
            msg = f"{scenario}: {lease.name} {lost}"
            loads = f"does the program load {spec.holder.name}? Else " if spec.companions else ""
            raise InfrastructureFailure(msg, hint=f"{loads}run it again, or on another device")
        source = f"{wanted.recorded} of {scenario}"
        if logged:
            seen = qemu_log.find_addresses(each.recorded, table, source=source)
            if ending(each.run) is RunOutcome.PASSED:
                addresses |= seen
            else:
                failing |= seen
        else:
            names.update(probes.parse_record(each.recorded, table, source=source))
    functions = function_list(observables, names.union(holding(table, addresses | failing)))
    known = find_blocks(mapped, table, addresses)
    with_failing = find_blocks(mapped, table, addresses | failing)
    blocks = tuple(
        known[name]
        for name in functions.names
        if name in known and known[name] == with_failing[name]
    )
    return Recorded(functions=functions, blocks=blocks, run=found[0].run)


def _run_checked(
    scenario: str, spec: RunSpec, lease: Lease, note: Note, what: str, hint: str
) -> RunResult:
    found = _run(scenario, spec, lease, note)
    how = ending(found.run)
    if how is not RunOutcome.PASSED:
        said = read_error(found.run.stderr) or "it said nothing"
        msg = f"{scenario}: {what} ended with {found.run.status} ({how}): {said}"
        raise ProductFailure(msg, hint=hint)
    return found


def _run(scenario: str, spec: RunSpec, lease: Lease, note: Note) -> RunResult:
    found = execution.run_on(lease, spec)
    note(found)
    if refused := probes.refusal(found.run.stderr):
        msg = f"{scenario}: {lease.name}: {refused}"
        raise InfrastructureFailure(msg, hint="record the functions on a device of kind qemu")
    return found
