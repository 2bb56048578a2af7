"""``megtrim trim --reached FILE``: what the field reached stays in the program, in this run."""

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from megtrim.core.chain.graph import Stage, defers_functions
from megtrim.core.chain.result_store import Store
from megtrim.core.checks.invocation import Options
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.model import Config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.wording import count
from megtrim.ship.crashes.lookup import escape, list_lines_to_keep
from megtrim.ship.crashes.reached import MAX_RECORD_BYTES, parse_record, price
from megtrim.ship.crashes.trimmed_programs import FinishedTrim, read_newest
from megtrim.ship.release.archive import open_release
from megtrim.ship.release.prove import read_release
from megtrim.times.neighbours.model import NeighboursResult

_RECORDED = re.compile(rb"\b[0-9a-f]{40} [0-9a-f]{8,16}\b")


def keep_reached(options: Options, loaded: LoadedConfig, console: Console) -> LoadedConfig:
    """Return the configuration with the functions of ``options.reached`` in ``trim.keep``."""
    if not defers_functions(loaded.config):
        msg = f"{loaded.describe('trim')}: no functions are deferred, so none is reached"
        raise InputError(msg, hint="leave --reached out, or set trim.level: deferred")
    record: dict[tuple[str, int], str] = {}
    for path in options.reached:
        record = parse_record(_read_record(path), source=str(path)) | record
    prices = price(record, _read(options, {build_id for build_id, _ in record}).programs)
    names = sorted({name for each in prices for name in each})
    total = sum(prices.values())
    console.say(f"reached    {count(len(prices), 'deferred function')}, {count(total, 'byte')}")
    for each, size_bytes in prices.items():
        console.say(f"{size_bytes:11,}  {' = '.join(each)}")
    for line in _find_scenarios(names, options, loaded.config):
        console.say(line)
    if names:
        console.say(f"they stay in this run; in each, by these lines of {options.config}:")
        console.say("\n".join(list_lines_to_keep(names)))
    trim = loaded.config.trim
    trim = trim.model_copy(update={"keep": (*trim.keep, *map(escape, names))})
    return replace(loaded, config=loaded.config.model_copy(update={"trim": trim}))


def _read_record(path: Path) -> bytes:
    """Raises InputError for a link and for what is no record, of which nothing is shown.

    In a job, who proposes a change chooses what a file of the project is: a link to a key, too.
    """
    expected = "what MEGTRIM_REACHED recorded"
    if path.is_symlink():
        msg = f"{path}: found a symbolic link, expected {expected}"
        raise InputError(msg, hint="name the file itself")
    data = read_bytes(path, most_bytes=MAX_RECORD_BYTES, expected=expected)
    if data and not _RECORDED.search(data):
        msg = f"{path}: found no line with a build id and an address, expected {expected}"
        raise InputError(msg, hint="record it again, with MEGTRIM_REACHED=FILE")
    return data


def _read(options: Options, build_ids: Collection[str]) -> FinishedTrim:
    if options.of_release is None:
        return read_newest(Store(options.results), build_ids)
    with open_release(options.of_release) as folder:
        return read_release(folder, shown=str(options.of_release))


def _find_scenarios(names: Collection[str], options: Options, config: Config) -> list[str]:
    """Neighbours that were run needed these functions first."""
    store = Store(options.results)
    made = (
        store.previous(Stage.NEIGHBOURS, NeighboursResult, each.id)
        for each in all_scenarios(config)
    )
    return [
        f"{row.scenario} calls {name} with {row.what}: a scenario to add?"
        for folder in made
        if folder
        for row in folder.result_as(NeighboursResult).neighbours
        for level in row.levels[:1]
        for name in sorted({*names} & {*level.needs})
    ]
