"""Stage `count`: what each scenario uses: instructions that it executes, and memory.

An emulator counts the work of the plain and the reduced program, whichever device verifies the
scenario. The kernel says, by GNU time, the largest resident set of the reduced one where it runs on
this machine, also emulated. What cannot be known is a result that says why: it fails no trim.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import Variant
from megtrim.core.chain.graph import BASE, BASE_REDUCED, PLAIN, REDUCED, Task
from megtrim.core.chain.result_store import StageFolder, content_of
from megtrim.core.chain.session import Session, binary, scenario_inputs
from megtrim.core.config.scenarios import Scenario
from megtrim.core.config.units import PEAK
from megtrim.core.evidence.binding import DEVICE_LABEL, binding
from megtrim.core.own_program import find_dialect, read_error
from megtrim.core.size.counted import (
    BASE_PREFIX,
    LATER,
    LENGTHS,
    MEMORY_KEY,
    WORK_KEY,
    Count,
    MemoryUse,
    Unmapped,
    Use,
    Work,
)
from megtrim.core.size.use import VARIES
from megtrim.core.trim.builds import applications
from megtrim.core.trim.builds.links import locate_named
from megtrim.core.trim.runs.execution import RunSpec, run_on
from megtrim.core.trim.runs.scenario_runs import (
    cache_inputs,
    cache_of,
    make_run_spec,
    scenario_of,
)
from megtrim.libs.elf.layout import segments
from megtrim.libs.elf.needed_libraries import read_own_name
from megtrim.libs.elf.symbol_table import FunctionTable, read_linked, read_table
from megtrim.libs.programs.exit_status import RunOutcome, ending
from megtrim.libs.programs.flags import parse_flags, render_flags, set_flag
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.shortage import find_shortage
from megtrim.places.devices.counting import Counting
from megtrim.places.devices.device import Device
from megtrim.places.devices.local import Local, MeasuringFile, open_measuring_file
from megtrim.places.devices.qemu import Qemu
from megtrim.times.counts.system_calls import add_up, find_unmapped
from megtrim.times.counts.use import (
    LARGEST_BYTES,
    LONGEST_PEAK,
    SYSTEM,
    Blocks,
    Library,
    find_code,
    find_outside,
    join_repeats,
    name_functions,
    parse_blocks,
    parse_peak,
    parse_plan,
    subtract,
)

_REPEATS = 2
_MORE_REPEATS = 4
"""The latter where something varies: what does so seldom shows late."""
_VARIANTS = {str(Variant.PLAIN): PLAIN, str(Variant.REDUCED): REDUCED}
_OF_BASE = {str(Variant.PLAIN): BASE, str(Variant.REDUCED): BASE_REDUCED}
_PLAN = "plan"
_PLAN_FILE = "plan/StaticMemoryInfo.json"
_COUNTS = "the plugin's counts"


def inputs(task: Task, session: Session) -> dict[str, str]:
    scenario = scenario_of(task)
    config = session.config
    named = _describe(scenario, session)
    symbols: list[str] = []
    with _note(named, "emulator"):
        named |= session.services.emulators[scenario.cpu_class.name].identity()
    with _note(named, "timer"):
        named["timer"] = find_timer(session.services.device(scenario))
    named["asked"] = f"{config.work is not None} {config.memory is not None}"
    for variant, build in _VARIANTS.items():
        folder = session.done[build]
        name = applications.name_of(scenario, session.request)
        named |= applications.digests(scenario, session, build, variant)
        files = dict.fromkeys((name, applications.find_holder(name, session)))
        symbols += [folder.files.get(locate_named(folder, file), "none") for file in files]
    for build in _OF_BASE.values():
        if build in session.done:
            named[f"base {build}"] = content_of(session.done[build])
    return named | {"symbols": " ".join(symbols)}


def work(task: Task, session: Session, folder: Path) -> Use:
    scenario = scenario_of(task)
    config = session.config
    works: dict[str, Work] = {}
    memory = None
    reasons: dict[str, str] = {}
    with _note(reasons, "work"):
        works = _count(scenario, session, _VARIANTS) if config.work else works
    with _note(reasons, "memory"):
        memory = _measure(scenario, session, folder, _VARIANTS) if config.memory else None
    if memory is not None:
        with _note(reasons, "processes"):
            seen, unmapped = _watch(scenario, session, REDUCED)
            counted = works[Variant.REDUCED].processes if works else 0
            memory = replace(memory, processes=max(seen, counted), unmapped=unmapped)
    found = Use(work=works, memory=memory, reasons=reasons)
    name = applications.name_of(scenario, session.request)
    for build in _OF_BASE.values():
        if build not in session.done or not applications.is_built(name, session, build):
            return found
    return _measure_base(scenario, session, folder, found)


def _measure_base(scenario: Scenario, session: Session, folder: Path, found: Use) -> Use:
    """Add what the programs of an earlier commit use under this scenario's conditions."""
    works = {**found.work}
    memory = found.memory
    reasons = {**found.reasons}
    if works:
        # Its trimmed program may lack what the new conditions need, and its plain one has it.
        for variant, build in _OF_BASE.items():
            with _note(reasons, f"{BASE_PREFIX}{WORK_KEY}"):
                counted = _count(scenario, session, {variant: build})
                works[f"{BASE_PREFIX}{variant}"] = counted[variant]
    if memory:
        with _note(reasons, f"{BASE_PREFIX}memory"):
            measured = _measure(scenario, session, folder, _OF_BASE)
            memory = replace(memory, base_figures=measured.figures)
        with suppress(InputError, ProductFailure):  # "processes" says why, if the same is of now
            _, unmapped = _watch(scenario, session, BASE_REDUCED)
            memory = replace(memory, base_unmapped=unmapped)
    return replace(found, work=works, memory=memory, reasons=reasons)


@contextmanager
def _note(reasons: dict[str, str], name: str) -> Iterator[None]:
    try:
        yield
    except (InputError, ProductFailure) as error:
        reasons[name] = error.message


def _describe(scenario: Scenario, session: Session) -> dict[str, str]:
    device = session.services.device(scenario)
    named = scenario_inputs(scenario, session)
    if device.kind == Local.kind:  # natively, another CPU may choose other kernels
        named[f"{DEVICE_LABEL}model"] = device.facts().get("CPU model", "")
    named |= cache_inputs(scenario, session)
    return named


def find_keys(scenario: Scenario, session: Session) -> dict[str, str]:
    """Return the keys of what has limits, by :data:`WORK_KEY` and :data:`MEMORY_KEY`.

    Nothing needs to be built for them, unless a search finds the algorithms: then they are unknown.
    """
    config = session.config
    keys: dict[str, str] = {}
    if scenario.searches:
        return keys
    if config.work is not None and config.work.growth is not None:
        with suppress(InputError):  # without an emulator, nothing is counted
            keys[WORK_KEY] = _find_work_key(scenario, session)
    if config.memory is not None and config.memory.growth is not None:
        keys[MEMORY_KEY] = _find_memory_key(scenario, session)
    return keys


def _find_work_key(scenario: Scenario, session: Session) -> str:
    counting = session.services.emulators[scenario.cpu_class.name]
    lengths = "whole" if scenario.settings.is_command else f"{LENGTHS} {LATER}"
    named = _describe(scenario, session) | {"lengths": lengths, "timeout": ""}
    return binding(named | counting.identity())


def _find_memory_key(scenario: Scenario, session: Session) -> str:
    named = _describe(scenario, session) | {"timeout": ""}
    return binding({f"memory {name}": value for name, value in named.items()})  # and the device


def _count(scenario: Scenario, session: Session, builds: Mapping[str, str]) -> dict[str, Work]:
    """``builds``: tasks by variant."""
    counting = session.services.emulators[scenario.cpu_class.name]
    done = session.done
    key = _find_work_key(scenario, session)
    works: dict[str, Work] = {}
    with counting.open() as opened:
        for variant, build in builds.items():
            program = CountedProgram(_prepare(scenario, session, done[build], opened))
            if scenario.settings.is_command:
                works[variant] = program.count_whole(key)
                continue
            # Only the program that ships has a limit.
            works[variant] = program.count(key, later=variant == Variant.REDUCED)
    return works


def repeat(
    count: Callable[[], Mapping[str, Count]],
    key: str,
    *,
    later: Callable[[], Mapping[str, Count]] | None = None,
) -> Work:
    repeats = [count() for _ in range(_REPEATS)]
    seen_later = [later()] if later else []
    if join_repeats(key, repeats).left_out:
        repeats += [count() for _ in range(_MORE_REPEATS)]
        seen_later += [later()] if later else []
    return join_repeats(key, repeats, later=seen_later)


class CountedProgram:
    """Runs a program, where it takes one with a number of iterations, and notes what it missed."""

    def __init__(self, run: Callable[[int], tuple[Mapping[str, Count], int]]) -> None:
        self._run = run
        self._shortest: list[Mapping[str, Count]] = []
        self.processes = 0
        """The most that a run has started."""

    def count(self, key: str, *, later: bool) -> Work:
        found = repeat(self._count_iteration, key, later=self._count_later if later else None)
        outside = find_outside(self._shortest, found)
        return replace(found, processes=self.processes, beside={**found.beside, **outside})

    def count_whole(self, key: str) -> Work:
        """Count all of a program that cannot be asked for a number of iterations."""
        found = repeat(lambda: self._count(1), key)
        return replace(found, processes=self.processes, whole=True)

    def _count_iteration(self) -> Mapping[str, Count]:
        long = self._count(LENGTHS[1])
        short = self._count(LENGTHS[0])
        self._shortest.append(short)
        return subtract(long, short)

    def _count_later(self) -> Mapping[str, Count]:
        return subtract(self._count(LATER), self._count(LENGTHS[1]))

    def _count(self, iterations: int) -> Mapping[str, Count]:
        counted, processes = self._run(iterations)
        self.processes = max(self.processes, processes)
        return counted


def _prepare(
    scenario: Scenario, session: Session, build: StageFolder, opened: Counting
) -> Callable[[int], tuple[Mapping[str, Count], int]]:
    name = applications.name_of(scenario, session.request)
    path = binary(build, name)
    named = locate_named(build, name)
    if not named:
        msg = f"the {build.name} build left no copy of {name} with symbols"
        raise InputError(msg)
    table = read_table(build.file(named))
    code = find_code(segments(read_linked(path), source=name))
    library = _read_library(scenario, session, build)
    made = _make_counted_spec(scenario, session, path)
    machine = session.services.emulators[scenario.cpu_class.name].spec.machine

    def run(iterations: int) -> tuple[Mapping[str, Count], int]:
        _run(opened.device, _ask_for(iterations, made, session))
        blocks = parse_blocks(opened.counts.take(LARGEST_BYTES), source=_COUNTS)
        return name_all(blocks, table, code, machine, library), blocks.processes

    return run


def _read_library(scenario: Scenario, session: Session, build: StageFolder) -> Library | None:
    """Return the trimmed library that a program loads; None: it loads none, or without symbols."""
    name = applications.name_of(scenario, session.request)
    holder = applications.find_holder(name, session)
    named = locate_named(build, holder)
    if holder == name or not named:
        return None
    path = binary(build, holder)
    return Library(
        file=read_own_name(path) or holder,
        table=read_table(build.file(named)),
        segments=tuple(segments(read_linked(path), source=holder)),
    )


def name_all(
    blocks: Blocks,
    table: FunctionTable,
    code: int,
    machine: str,
    library: Library | None = None,
) -> dict[str, Count]:
    """Return the counts by function, and as :data:`SYSTEM` the calls."""
    named = name_functions(blocks, table, code, library)
    return named | {SYSTEM: add_up(blocks.calls, machine)}


def _watch(scenario: Scenario, session: Session, build: str) -> tuple[int, Mapping[Unmapped, int]]:
    """Return how many processes it starts, and what it makes that GNU time does not see."""
    done = session.done[build]
    program = applications.program(scenario, session.request, done)
    asked = _ask_for(1, _make_counted_spec(scenario, session, program), session)
    emulator = session.services.emulators[scenario.cpu_class.name]
    with emulator.open() as opened:
        _run(opened.device, asked)
        blocks = parse_blocks(opened.counts.take(LARGEST_BYTES), source=_COUNTS)
    return blocks.processes, find_unmapped(blocks.calls, emulator.spec.machine)


def find_timer(device: Device) -> str:
    timer = device.which("time") if isinstance(device, Local) else None
    if timer is None:
        msg = "GNU time is not on the path; on Debian: apt-get install time"
        raise InputError(msg)
    return timer


def start_timed(device: Local, written: MeasuringFile) -> Local:
    """Return the device with GNU time in front of its programs, which writes their peak alone."""
    # Without -q, it first writes of any status but 0, which may well be the expected one.
    return device.start_by(find_timer(device), "-q", "-o", str(written.path), "-f", "%M")


def _measure(
    scenario: Scenario, session: Session, folder: Path, builds: Mapping[str, str]
) -> MemoryUse:
    device = session.services.device(scenario)
    request = session.request
    done = session.done
    if not isinstance(device, Local):
        msg = f"a device of kind {device.kind} does not report memory"
        raise InputError(msg)
    plain, reduced = (
        _make_spec(scenario, session, applications.program(scenario, request, done[build]))
        for build in builds.values()
    )
    with open_measuring_file(folder) as written:
        timed = start_timed(device, written)

        def measure() -> int:
            _run(timed, reduced)
            return parse_peak(written.take(LONGEST_PEAK))

        figures = {PEAK: find_largest_peak(measure)}
    if not plain.application:
        # The plain program is asked: what writes it down is not in a trimmed one.
        asked = _ask(plain, session, ("get_static_mem_info", _PLAN))
        with suppress(ProductFailure):  # an engine without it refuses the flag
            figures |= parse_plan(_run(device, asked, _PLAN_FILE))
    return MemoryUse(key=_find_memory_key(scenario, session), figures=figures)


def find_largest_peak(measure: Callable[[], int]) -> int:
    peaks = [measure() for _ in range(_REPEATS)]
    if max(peaks) - min(peaks) > VARIES * min(peaks):
        peaks += [measure() for _ in range(_MORE_REPEATS)]
    return max(peaks)


def _make_spec(scenario: Scenario, session: Session, program: Path) -> RunSpec:
    return make_run_spec(scenario, session, program, cache=cache_of(scenario, session))


def _make_counted_spec(scenario: Scenario, session: Session, program: Path) -> RunSpec:
    """With its companion file, if there is one: the emulated CPU may choose others."""
    return replace(_make_spec(scenario, session, program), dumps=False).with_own_rest()


def _ask_for(iterations: int, made: RunSpec, session: Session) -> RunSpec:
    """A command has no iterations: it is run as it is."""
    if made.application:
        return made
    return _ask(made, session, ("warmup_iter", "1"), ("iter", str(iterations)))


def _ask(made: RunSpec, session: Session, *values: tuple[str, str]) -> RunSpec:
    dialect = find_dialect(session.services.engine.flags)
    given = parse_flags(made.arguments, dialect=dialect, source="scenario")
    for name, value in values:
        given = set_flag(given, name, value)
    return replace(made, arguments=render_flags(given, dialect))


def _run(device: Device, spec: RunSpec, recorded: str = "") -> bytes:
    with device.reserve() as lease:
        found = run_on(lease, replace(spec, recorded=recorded))
    if ending(found.run) is not RunOutcome.PASSED:
        # Whether the program does that by itself is judged where its scenario is verified.
        if killed := find_shortage("the measured program", found.run.rc, "", ()):
            raise killed
        said = read_error(found.run.stderr) or f"exit status {found.run.rc}"
        msg = f"the program did not run to its end while it was measured: {said}"
        if device.kind == Qemu.kind and ending(found.run) is RunOutcome.TRAP:
            msg = (
                f"the program trapped under the emulator ({said}): if it is a trimmed one, it may "
                "choose functions for this CPU that were left out"
            )
        raise ProductFailure(msg)
    return found.recorded or b""
