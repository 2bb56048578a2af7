"""Stage `count`: the work of an iteration of each scenario, on the plain and the reduced program.

It runs on an emulator, whichever device verifies the scenario. What cannot be counted is a result
that says why: a missing emulator fails no trim.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.build_spec import Variant
from megtrim.chain.filenames import CACHE_FILE
from megtrim.chain.graph import PLAIN, REDUCED, Task, search_task
from megtrim.chain.result_store import StageFolder
from megtrim.chain.session import Session, binary, scenario_inputs
from megtrim.config.scenarios import Scenario
from megtrim.counts.work import (
    LENGTHS,
    Count,
    CountResult,
    Work,
    find_code,
    join_repeats,
    name_functions,
    parse_blocks,
    subtract,
)
from megtrim.devices.counting import COUNTS_FILE
from megtrim.devices.device import Device
from megtrim.elf.layout import segments
from megtrim.elf.symbol_table import read_linked, read_table
from megtrim.evidence.binding import binding, deviceless
from megtrim.load_and_run.arguments import flags, render_flags, set_flag
from megtrim.load_and_run.exit_status import RunOutcome, ending, error_message
from megtrim.trim.builds import applications
from megtrim.trim.builds.links import locate_named
from megtrim.trim.runs.execution import run_on
from megtrim.trim.runs.scenario_runs import cache_of, make_run_spec, scenario_of
from megtrim.util.errors import InputError, ProductFailure

_REPEATS, _MORE_REPEATS = 2, 4
"""The latter where something varies: what does so seldom shows late."""
_VARIANTS = ((str(Variant.PLAIN), PLAIN), (str(Variant.REDUCED), REDUCED))


def inputs(task: Task, session: Session) -> dict[str, str]:
    scenario = scenario_of(task)
    named, symbols = _describe(scenario, session), []
    for variant, build in _VARIANTS:
        folder, name = session.results.done[build], applications.name_of(scenario, session.request)
        named |= applications.digests(scenario, session, build, variant)
        symbols.append(folder.files.get(locate_named(folder, name), "none"))
    return named | {"symbols": " ".join(symbols)}


def work(task: Task, session: Session, folder: Path) -> CountResult:
    scenario = scenario_of(task)
    try:
        found = tuple(_count(scenario, session))
    except (InputError, ProductFailure) as error:
        return CountResult(reason=error.message)
    return CountResult(work=dict(found))


def _describe(scenario: Scenario, session: Session) -> dict[str, str]:
    """Name all that a count depends on but the program."""
    named = deviceless(scenario_inputs(scenario, session))
    try:
        named |= session.services.emulators[scenario.cpu_class.name].identity()
    except InputError as error:
        named["emulator"] = error.message
    if scenario.searches:
        named["algorithm cache"] = session.results.done[search_task(scenario)].files[CACHE_FILE]
    return named


def _count(scenario: Scenario, session: Session) -> Iterator[tuple[str, Work]]:
    if scenario.settings.application is not None:
        msg = "an application of your own cannot be asked for a number of iterations"
        raise InputError(msg)
    key = binding({**_describe(scenario, session), "timeout": "", "lengths": f"{LENGTHS}"})
    with session.services.emulators[scenario.cpu_class.name].open() as emulator:
        for variant, build in _VARIANTS:
            count = _prepare(scenario, session, session.results.done[build], emulator)
            yield variant, repeat(count, key)


def repeat(count: Callable[[], Mapping[str, Count]], key: str) -> Work:
    repeats = [count() for _ in range(_REPEATS)]
    if join_repeats(key, repeats).left_out:
        repeats += [count() for _ in range(_MORE_REPEATS)]
    return join_repeats(key, repeats)


def _prepare(
    scenario: Scenario, session: Session, build: StageFolder, emulator: Device
) -> Callable[[], Mapping[str, Count]]:
    name = applications.name_of(scenario, session.request)
    path, named = binary(build, name), locate_named(build, name)
    if not named:
        msg = f"the {build.name} build left no copy of {name} with symbols"
        raise InputError(msg)
    table, dialect = read_table(build.file(named)), session.services.engine.dialect()
    code = find_code(segments(read_linked(path), source=str(path)))
    made = make_run_spec(scenario, session, path, cache=cache_of(scenario, session))
    given = flags(made.arguments, dialect=dialect, source=scenario.id)

    def run(iterations: int) -> Mapping[str, Count]:
        asked = set_flag(set_flag(given, "warmup_iter", "1"), "iter", str(iterations))
        arguments = render_flags(asked, dialect)
        with emulator.reserve() as lease:
            spec = replace(made, arguments=arguments, recorded=COUNTS_FILE, dumps=False)
            found = run_on(lease, spec)
        if ending(found.run) is not RunOutcome.PASSED or found.recorded is None:
            said = error_message(found.run.stderr) or f"exit status {found.run.rc}"
            msg = f"the program did not run to its end while it was counted: {said}"
            raise ProductFailure(msg)
        return name_functions(parse_blocks(found.recorded, source=COUNTS_FILE), table, code)

    return lambda: subtract(run(LENGTHS[1]), run(LENGTHS[0]))
