"""``megtrim trim --reached FILE``: what the field reached stays in the program, in this run."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from megtrim.core.chain.graph import Stage, defers_functions
from megtrim.core.chain.result_store import Store
from megtrim.core.checks.invocation import Options
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.model import Config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.proof.neighbours import NeighboursResult
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.wording import count
from megtrim.ship.crashes.lookup import escape, list_lines_to_keep
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.reached import (
    MAX_RECORD_BYTES,
    describe_passed_over,
    expect_calls,
    join_records,
    parse_record,
    price,
)
from megtrim.ship.crashes.reached_groups import ReachedGroup
from megtrim.ship.crashes.trimmed_programs import read_newest
from megtrim.ship.release.archive import open_release
from megtrim.ship.release.prove import read_release

_MOST_RUNS = 5


def keep_reached(options: Options, loaded: LoadedConfig, console: Console) -> LoadedConfig:
    """Return the configuration with the functions of ``options.reached`` in ``trim.keep``."""
    if not defers_functions(loaded.config):
        msg = f"{loaded.describe('trim')}: no functions are deferred, so none is reached"
        raise InputError(msg, hint="leave --reached out, or set trim.level: deferred or blocks")
    record = join_records(
        [parse_record(_read_record(path), source=str(path)) for path in options.reached]
    )
    expect_calls(record)  # before a release is opened
    reached = price(record, _read(options, {build_id for build_id, _ in record.calls}))
    for line in describe_passed_over(reached.passed_over):
        console.warn(f"skipped {line}")
    prices = reached.prices
    names = sorted({name for each in prices for name in each})
    total = sum(prices.values())
    console.say(f"reached    {count(len(prices), 'deferred function')}, {count(total, 'byte')}")
    for group in reached.groups:
        for line in _describe(group):
            console.say(line)
    for line in _find_scenarios(names, options, loaded.config):
        console.say(line)
    if names:
        console.say(f"they stay in this run; in each, by these lines of {options.config}:")
        console.say("\n".join(list_lines_to_keep(names)))
    return loaded.keeping(map(escape, names))


def _describe(group: ReachedGroup) -> Iterator[str]:
    """Yield who called the functions, in which runs, and each of them, the largest first."""
    size_bytes = count(group.size_bytes, "byte")
    yield f"from {group.caller}: {count(len(group.functions), 'function')}, {size_bytes}"
    for run in group.runs[:_MOST_RUNS]:
        yield f"  in the run: {run}" if run else "  in the field, or in a run that has no name"
    if len(group.runs) > _MOST_RUNS:
        yield f"  and in {count(len(group.runs) - _MOST_RUNS, 'other run')}"
    ordered = sorted(group.functions.items(), key=lambda each: (-each[1], each[0]))
    for names, each_bytes in ordered:
        yield f"{each_bytes:11,}  {' = '.join(names)}"


def _read_record(path: Path) -> bytes:
    """Raises InputError for a link.

    In a job, who proposes a change chooses what a file of the project is: a link to a key, too.
    """
    expected = "what MEGTRIM_REACHED recorded"
    if path.is_symlink():
        msg = f"{path}: found a symbolic link, expected {expected}"
        raise InputError(msg, hint="name the file itself")
    return read_bytes(path, most_bytes=MAX_RECORD_BYTES, expected=expected)


def _read(options: Options, build_ids: Collection[str]) -> tuple[TrimmedProgram, ...]:
    """Return the programs of the releases that are named, and of the results for other builds."""
    programs: list[TrimmedProgram] = []
    for path in options.of_releases:
        with open_release(path) as folder:
            programs += read_release(folder, shown=str(path)).programs
    others = {*build_ids} - {each.build_id for each in programs}
    if not programs:
        return read_newest(Store(options.results), others).programs
    if others:
        with suppress(InputError):  # without results, other builds stay unknown
            newest = read_newest(Store(options.results), others).programs
            programs += (each for each in newest if each.build_id in others)
    return tuple(programs)


def _find_scenarios(names: Collection[str], options: Options, config: Config) -> list[str]:
    """Neighbours that were run needed these functions first."""
    store = Store(options.results)
    lines = []
    for scenario in all_scenarios(config):
        folder = store.previous(Stage.NEIGHBOURS, NeighboursResult, scenario.id)
        rows = folder.result_as(NeighboursResult).neighbours if folder else ()
        for row in rows:
            needs = row.levels[0].needs if row.levels else ()
            called = sorted({*needs}.intersection(names))
            ask = f"with {row.what}: a scenario to add?"
            lines += [f"{row.scenario} calls {name} {ask}" for name in called]
    return lines
