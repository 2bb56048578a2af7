"""The keep set: the regions and operators that all scenarios together need, and who needs each.

It is what a team commits, as ``megtrim/keepset.json``: one line for each scenario, region,
operator, data type, elementwise mode and graph hash, sorted, so that git merges it by line::

    {
     "version": 1,
     "generation": 20220507,
     "operators": "listed",
     "scenario resnet18/default@any": {"model_sha256": "...", ...},
     "region megbrain_misc<-394016210>": ["resnet18/default@any"],
     ...
     "": "end"
    }

``"operators": "all"`` keeps all operators, and names none. Pure: text in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from megtrim.errors import InputError
from megtrim.midout.grammar import is_identifier
from megtrim.midout.lines import MAX_TEXT, Entries, Reader, dump_entries
from megtrim.midout.region import Region, order
from megtrim.midout.trace import TraceFailure, TraceProblem
from megtrim.models.operators import MAX_HASH, Needed, OperatorNeeds

GENERATIONS = (20190219, 20220507)
"""Versions of the header that engines know: up to 1.6, and from 1.7."""

VERSION = 1
_MAX_THREADS = 4096
_OPERATOR_KINDS = ("operator", "dtype", "elemwise_mode", "hash")
_KINDS = ("version", "generation", "operators", "scenario", "region", *_OPERATOR_KINDS)
_ALL, _LISTED = "all", "listed"
_SCENARIO_FIELDS = (
    *("model_sha256", "arguments", "inputs", "algo_cache_sha256", "threads", "trace_sha256"),
)
_HASH = re.compile(r"[0-9]{1,20}")
_HINT = "take the committed file again, or write it anew: megtrim header --accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRecord:
    """What one scenario brought, and the digests that bind it to what it was traced with."""

    id: str
    """``MODEL/SCENARIO@CLASS``."""
    model_sha256: str
    arguments: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]
    """Input name and sha256, sorted."""
    algo_cache_sha256: str | None
    threads: int
    trace_sha256: str
    regions: tuple[Region, ...]
    """Sorted and unique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSet:
    """What a reduced build keeps. Without scenarios it keeps all kernels."""

    generation: int
    """20190219 or 20220507."""
    scenarios: tuple[ScenarioRecord, ...]
    """Sorted by id."""
    operators: OperatorNeeds | None
    """None keeps all operators and data types."""

    def regions(self) -> dict[Region, tuple[str, ...]]:
        """Return each region with the scenarios that need it, both sorted."""
        users: dict[Region, list[str]] = {}
        for scenario in self.scenarios:
            for region in scenario.regions:
                users.setdefault(region, []).append(scenario.id)
        return {region: tuple(users[region]) for region in sorted(users, key=order)}


def build_keep_set(
    generation: int, scenarios: Iterable[ScenarioRecord], operators: OperatorNeeds | None
) -> KeepSet:
    """Join scenarios and operators; equal sets give equal values, whatever their order.

    Raises TraceFailure where a scenario has no regions: a build from it would keep nothing.
    """
    if generation not in GENERATIONS:
        known = " and ".join(map(str, GENERATIONS))
        msg = f"headers of generation {generation} are unknown, expected {known}"
        raise InputError(msg, hint="which version of the engine is it?")
    records = tuple(sorted(scenarios, key=lambda record: record.id))
    for before, after in pairwise(records):
        if before.id == after.id:
            msg = f"scenario {after.id} stands twice in one keep set"
            raise InputError(msg, hint="give each scenario a name of its own")
    for record in records:
        if not record.regions:
            said = f"{record.id}: its trace holds no region, so nothing would be kept for it"
            raise TraceFailure(TraceProblem.EMPTY, said, hint="record its trace again")
    if not records and operators is None:
        msg = "a keep set of no scenario and no operators would trim nothing"
        raise InputError(msg, hint="give at least one trace or one operator JSON")
    return KeepSet(
        generation=generation,
        scenarios=tuple(_normal(record) for record in records),
        operators=operators,
    )


def shrunken(previous: KeepSet, current: KeepSet) -> tuple[tuple[str, tuple[Region, ...]], ...]:
    """Return the scenarios that lost regions, with what they lost, sorted.

    Only a scenario of which nothing else changed can shrink: another model, other arguments,
    inputs or threads, or a new search for algorithms may well need less.
    """
    before = {record.id: record for record in previous.scenarios}
    lost = []
    for record in current.scenarios:
        old = before.get(record.id)
        if old is None or _bound(old) != _bound(record):
            continue
        if gone := tuple(sorted({*old.regions} - {*record.regions}, key=order)):
            lost.append((record.id, gone))
    return tuple(lost)


def _bound(record: ScenarioRecord) -> tuple[object, ...]:
    what = record.model_sha256, record.arguments, record.inputs
    return (*what, record.algo_cache_sha256, record.threads)


def missing(keep: KeepSet, regions: Iterable[Region]) -> tuple[Region, ...]:
    """Return what a run needs and the keep set lacks, sorted; nothing where all are kept."""
    if not keep.scenarios:
        return ()
    return tuple(sorted({*regions} - keep.regions().keys(), key=order))


def _normal(record: ScenarioRecord) -> ScenarioRecord:
    return ScenarioRecord(
        id=record.id,
        model_sha256=record.model_sha256,
        arguments=record.arguments,
        inputs=tuple(sorted(record.inputs)),
        algo_cache_sha256=record.algo_cache_sha256,
        threads=record.threads,
        trace_sha256=record.trace_sha256,
        regions=tuple(sorted(set(record.regions), key=order)),
    )


def dump_keep_set(keep: KeepSet) -> str:
    """Return the text of ``megtrim/keepset.json``. Equal values give equal text."""
    operators = _ALL if keep.operators is None else _LISTED
    return dump_entries(
        (
            ("version", VERSION),
            ("generation", keep.generation),
            ("operators", operators),
            *((f"scenario {record.id}", _dump_record(record)) for record in keep.scenarios),
            *((f"region {region}", users) for region, users in keep.regions().items()),
            *_dump_operators(keep.operators),
        )
    )


def read_keep_set(path: Path) -> KeepSet:
    """Read a keep set's file. Raises InputError."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_TEXT + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise InputError(msg, hint=_HINT) from None
    return parse_keep_set(text, source=str(path))


def parse_keep_set(text: str, *, source: str) -> KeepSet:
    """Read what ``dump_keep_set`` wrote, and what a merge by line makes of two such texts.

    The order of lines does not matter, and a region that stands twice is needed by those of
    both lines. Raises InputError naming ``source:line`` for anything else.
    """
    reader = Reader(text, source, _HINT)
    tables = reader.kinds(_KINDS)
    version = reader.single(tables["version"], "version")
    if version != VERSION or isinstance(version, bool):
        reader.fail(f"found version {version!r}, expected {VERSION}", "version")
    generation = reader.single(tables["generation"], "generation")
    reader.number(generation, *GENERATIONS, "generation")
    if generation not in GENERATIONS:
        reader.fail(f"headers of generation {generation} are unknown", "generation")
    regions = _regions_by_scenario(reader, tables["region"])
    records: dict[str, ScenarioRecord] = {}
    for name, value in tables["scenario"]:
        record = _record(reader, name, value, regions.get(name, ()))
        if records.setdefault(name, record) != record:
            reader.fail(f"scenario {name!r} stands twice, and differs", f"scenario {name}")
    for region, users in tables["region"]:
        for name in users:
            if name not in records:
                said = f"a region is needed by {name!r}, which is no scenario here"
                reader.fail(said, f"region {region}")
    return build_keep_set(generation, records.values(), _operators(reader, tables))


def _dump_record(record: ScenarioRecord) -> dict[str, object]:
    return {
        "model_sha256": record.model_sha256,
        "arguments": record.arguments,
        "inputs": dict(record.inputs),
        "algo_cache_sha256": record.algo_cache_sha256,
        "threads": record.threads,
        "trace_sha256": record.trace_sha256,
    }


def _dump_operators(needs: OperatorNeeds | None) -> Iterator[tuple[str, object]]:
    if needs is None:
        return
    yield from ((f"operator {name}", models) for name, models in needs.operators)
    yield from ((f"dtype {name}", models) for name, models in needs.dtypes)
    yield from ((f"elemwise_mode {name}", models) for name, models in needs.elemwise_modes)
    yield from ((f"hash {number}", True) for number in needs.hashes)


def _regions_by_scenario(reader: Reader, entries: Entries) -> dict[str, tuple[Region, ...]]:
    found: dict[str, set[Region]] = {}
    for text, users in entries:
        key = f"region {text}"
        try:
            region = Region.parse(text)
        except InputError as error:
            reader.fail(error.message, key)
        names = reader.texts(users, key)
        if not names:
            reader.fail(f"no scenario needs {text}", key)
        for name in names:
            found.setdefault(name, set()).add(region)
    return {name: tuple(regions) for name, regions in found.items()}


def _record(reader: Reader, name: str, value: Any, regions: tuple[Region, ...]) -> ScenarioRecord:
    keys = (f"scenario {name}",)
    if not name or not name.isprintable():
        reader.fail(f"{name!r} is no scenario, expected MODEL/SCENARIO@CLASS", *keys)
    if not regions:
        reader.fail(f"no region is needed by {name}", *keys)
    fields = reader.fields(value, _SCENARIO_FIELDS, *keys)
    inputs = reader.mapping(fields["inputs"], *keys, "inputs")
    cache = fields["algo_cache_sha256"]
    return ScenarioRecord(
        id=name,
        model_sha256=reader.sha256(fields["model_sha256"], *keys, "model_sha256"),
        arguments=reader.texts(fields["arguments"], *keys, "arguments"),
        inputs=tuple(sorted((n, reader.sha256(sha, *keys, n)) for n, sha in inputs.items())),
        algo_cache_sha256=None
        if cache is None
        else reader.sha256(cache, *keys, "algo_cache_sha256"),
        threads=reader.number(fields["threads"], 0, _MAX_THREADS, *keys, "threads"),
        trace_sha256=reader.sha256(fields["trace_sha256"], *keys, "trace_sha256"),
        regions=regions,
    )


def _operators(reader: Reader, tables: dict[str, Entries]) -> OperatorNeeds | None:
    kept = reader.single(tables["operators"], "operators")
    if kept not in (_ALL, _LISTED):
        reader.fail(f"found {kept!r}, expected {_ALL!r} or {_LISTED!r}", "operators")
    if kept == _ALL:
        for kind in _OPERATOR_KINDS:
            for name, _ in tables[kind]:
                reader.fail(f"{kind} {name} is listed, but all are kept", f"{kind} {name}")
        return None
    return OperatorNeeds(
        hashes=tuple(sorted({_hash(reader, *entry) for entry in tables["hash"]})),
        dtypes=_needed(reader, tables, "dtype"),
        operators=_needed(reader, tables, "operator"),
        elemwise_modes=_needed(reader, tables, "elemwise_mode"),
    )


def _needed(reader: Reader, tables: dict[str, Entries], kind: str) -> Needed:
    users: dict[str, set[str]] = {}
    for name, models in tables[kind]:
        # These names stand in the header, which is compiled.
        if not is_identifier(name):
            reader.fail(f"found {name[:80]!r}, expected a C++ identifier", f"{kind} {name}")
        users.setdefault(name, set()).update(reader.texts(models, f"{kind} {name}"))
    return tuple((name, tuple(sorted(users[name]))) for name in sorted(users))


def _hash(reader: Reader, name: str, value: Any) -> int:
    key = f"hash {name}"
    if value is not True or not _HASH.fullmatch(name) or str(int(name)) != name:
        reader.fail('expected "hash NUMBER": true', key)
    return reader.number(int(name), 0, MAX_HASH, key)
