"""The keep set: regions, functions and operators that the scenarios need, and which needs each.

Its text has one line for each scenario, region, function, operator, data type, elementwise mode
and graph hash, sorted::

    {
     "version": 2,
     "generation": 20220507,
     "operators": "listed",
     "scenario resnet18/default@any": {"model_sha256": "...", ...},
     "region megbrain_misc<-394016210>": ["resnet18/default@any"],
     "function _ZN3mgb12tensor_stats4nextEv": ["resnet18/default@any"],
     ...
     "": "end"
    }

``"operators": "all"`` keeps all operators, and lists none. Functions are listed only if functions
are trimmed; a scenario then names the link that they belong to. Version 1 did not say which models
have a hash. Pure: text in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from megtrim.elf.symbol_names import is_linkable
from megtrim.models.operators import MAX_HASH, Needed, OperatorNeeds
from megtrim.regions.json_lines import MAX_TEXT, Entries, LineReader, dump_entries
from megtrim.regions.region import Region, is_identifier, order
from megtrim.regions.trace import TraceFailure, TraceProblem
from megtrim.util.environment import Variables
from megtrim.util.errors import ACCEPT, InputError
from megtrim.util.input_files import read_text
from megtrim.util.value import Value

OPERATOR_KINDS = ("operator", "dtype", "elemwise_mode", "hash")
_ALL, _LISTED = "all", "listed"
_HASH = re.compile(r"[0-9]{1,20}")


def which(needs: OperatorNeeds | None) -> str:
    return _ALL if needs is None else _LISTED


def dump_operators(needs: OperatorNeeds | None) -> Iterator[tuple[str, object]]:
    if needs is None:
        return
    yield from ((f"operator {name}", models) for name, models in needs.operators)
    yield from ((f"dtype {name}", models) for name, models in needs.dtypes)
    yield from ((f"elemwise_mode {name}", models) for name, models in needs.elemwise_modes)
    yield from ((f"hash {number}", models) for number, models in needs.hashes)


def parse_operators(
    reader: LineReader, tables: dict[str, Entries], *, version: int
) -> OperatorNeeds | None:
    """Read the entries back, each by its kind, and that of ``operators``.

    Version 1 does not say whose a hash is: there, each belongs to all models.
    """
    kept = reader.single(tables["operators"], "operators")
    if kept not in (_ALL, _LISTED):
        reader.fail(f"found {kept!r}, expected {_ALL!r} or {_LISTED!r}", "operators")
    if kept == _ALL:
        for kind in OPERATOR_KINDS:
            for name, _ in tables[kind]:
                reader.fail(f"{kind} {name} is listed, but all are kept", f"{kind} {name}")
        return None
    return OperatorNeeds(
        hashes=_parse_hashes(reader, tables, version),
        dtypes=_parse_needed(reader, tables, "dtype"),
        operators=_parse_needed(reader, tables, "operator"),
        elemwise_modes=_parse_needed(reader, tables, "elemwise_mode"),
    )


def _parse_needed(reader: LineReader, tables: dict[str, Entries], kind: str) -> Needed:
    users: dict[str, set[str]] = {}
    for name, models in tables[kind]:
        # These names go into the header, which is compiled.
        if not is_identifier(name):
            reader.fail(f"found {name[:80]!r}, expected a C++ identifier", f"{kind} {name}")
        users.setdefault(name, set()).update(reader.texts(models, f"{kind} {name}"))
    return tuple((name, tuple(sorted(users[name]))) for name in sorted(users))


def _parse_hashes(
    reader: LineReader, tables: dict[str, Entries], version: int
) -> tuple[tuple[int, tuple[str, ...]], ...]:
    every = {name.partition("/")[0] for name, _ in tables["scenario"]}
    users: dict[int, set[str]] = {}
    for name, value in tables["hash"]:
        key = f"hash {name}"
        if not _HASH.fullmatch(name) or str(int(name)) != name:
            reader.fail('expected "hash NUMBER"', key)
        if version == 1 and value is not True:
            reader.fail('expected "hash NUMBER": true', key)
        models = every if version == 1 else reader.texts(value, key)
        users.setdefault(reader.number(int(name), 0, MAX_HASH, key), set()).update(models)
    return tuple((number, tuple(sorted(users[number]))) for number in sorted(users))


GENERATIONS = (20190219, 20220507)
"""Versions of the header in engines: up to 1.6, and from 1.7 on."""

VERSION = 2
_VERSIONS = (1, VERSION)
_MAX_THREADS = 4096
_KINDS = (
    *("version", "generation", "operators", "scenario", "region", "function"),
    *OPERATOR_KINDS,
)
_SCENARIO_FIELDS = (
    *("model_sha256", "arguments", "inputs", "algo_cache_sha256", "threads", "trace_sha256"),
)
_LINK = "link_sha256"
_ENVIRONMENT = "environment"
_GRAPH = "graph_sha256"
_TOOLCHAIN = "toolchain"
_OPTIONAL_FIELDS = (_LINK, _ENVIRONMENT, _GRAPH, _TOOLCHAIN)
_BOUND = {
    "model_sha256": "the model",
    "arguments": "the arguments",
    "inputs": "an input",
    "algo_cache_sha256": "the algorithm cache",
    "threads": "the number of threads",
    "environment": "the environment",
}
"""What a trace is bound to, and its name in messages."""
_NO_GRAPH = " (whether only weights did is not known: the keep set does not name its graph)"
HINT = "restore the committed file, or write it again"


class ScenarioRecord(Value):
    id: str
    """``MODEL/SCENARIO@CLASS``."""
    model_sha256: str
    graph_sha256: str | None = None
    """Of the model without the values of its weights; None if its file does not show them."""
    toolchain: str = ""
    """Kind and target of the toolchain; empty if each machine chooses its own."""
    arguments: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]
    """Input name and sha256, sorted."""
    algo_cache_sha256: str | None
    threads: int
    environment: Variables = ()
    trace_sha256: str
    regions: tuple[Region, ...]
    """Sorted and unique; empty if only functions are trimmed."""
    functions: tuple[str, ...] = ()
    """Linkage names of observable functions, sorted; empty if only regions are trimmed."""
    link_sha256: str | None = None
    """The link that these names belong to: inlining differs from link to link."""


class KeepSet(Value):
    """What a reduced build keeps. Without scenarios it keeps all kernels."""

    generation: int
    scenarios: tuple[ScenarioRecord, ...]
    """Sorted by id."""
    operators: OperatorNeeds | None
    """None keeps all operators and data types."""

    def regions(self) -> dict[Region, tuple[str, ...]]:
        users = _users((scenario.id, scenario.regions) for scenario in self.scenarios)
        return {region: users[region] for region in sorted(users, key=order)}

    def functions(self) -> dict[str, tuple[str, ...]]:
        users = _users((scenario.id, scenario.functions) for scenario in self.scenarios)
        return {name: users[name] for name in sorted(users)}


_Item = TypeVar("_Item", Region, str)


def _users(needs: Iterable[tuple[str, tuple[_Item, ...]]]) -> dict[_Item, tuple[str, ...]]:
    found: dict[_Item, list[str]] = {}
    for name, items in needs:
        for item in items:
            found.setdefault(item, []).append(name)
    return {item: tuple(names) for item, names in found.items()}


def build_keep_set(
    generation: int, scenarios: Iterable[ScenarioRecord], operators: OperatorNeeds | None
) -> KeepSet:
    """Combine scenarios and operators; equal sets give equal values in any order.

    Raises TraceFailure for a scenario for which nothing would be kept, InputError for records that
    contradict each other.
    """
    if generation not in GENERATIONS:
        known = " and ".join(map(str, GENERATIONS))
        msg = f"headers of generation {generation} are unknown, expected {known}"
        raise InputError(msg, hint="which version of the engine is it?")
    records = tuple(sorted(scenarios, key=lambda record: record.id))
    for before, after in pairwise(records):
        if before.id == after.id:
            msg = f"scenario {after.id} occurs twice in one keep set"
            raise InputError(msg, hint="use a different name for each scenario")
    _check_needs(records)
    if not records and operators is None:
        msg = "a keep set without scenarios and operators would trim nothing"
        raise InputError(msg, hint="add at least one trace or one operator JSON")
    return KeepSet(
        generation=generation,
        scenarios=tuple(_normal(record) for record in records),
        operators=operators,
    )


def _check_needs(records: tuple[ScenarioRecord, ...]) -> None:
    traced = any(record.regions for record in records)
    for record in records:
        if not record.regions and (traced or not record.functions):
            msg = f"{record.id}: its trace contains no region, so nothing would be kept for it"
            raise TraceFailure(TraceProblem.EMPTY, msg, hint="record its trace again")
        if (record.link_sha256 is None) is bool(record.functions):
            msg = f"{record.id}: expected either both functions and their link, or neither"
            raise InputError(msg, hint="record its functions again")


def find_lost_regions(
    previous: KeepSet, current: KeepSet
) -> tuple[tuple[str, tuple[Region, ...]], ...]:
    """Return what scenarios lost, sorted, where nothing else changed.

    Another model, other arguments, inputs or threads, or a new algorithm search may well need less.
    """
    lost = (
        (record.id, tuple(sorted({*old.regions} - {*record.regions}, key=order)))
        for old, record in _same(previous, current)
    )
    return tuple((name, gone) for name, gone in lost if gone)


def find_lost_functions(
    previous: KeepSet, current: KeepSet
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the same of functions of one link: inlining differs from link to link."""
    lost = (
        (record.id, tuple(sorted({*old.functions} - {*record.functions})))
        for old, record in _same(previous, current)
        if old.link_sha256 == record.link_sha256
    )
    return tuple((name, gone) for name, gone in lost if gone)


def _same(previous: KeepSet, current: KeepSet) -> Iterator[tuple[ScenarioRecord, ScenarioRecord]]:
    before = {record.id: record for record in previous.scenarios}
    for record in current.scenarios:
        old = before.get(record.id)
        if old and not differing(old, record) and not is_of_another_toolchain(old, record):
            yield old, record


def differing(before: ScenarioRecord, now: ScenarioRecord) -> str:
    """Return what changed since it was traced. Other weights select the same kernels: no change."""
    nouns = dict(_BOUND)
    if has_other_weights(before, now):
        del nouns["model_sha256"]
    elif before.graph_sha256 and now.graph_sha256:
        nouns["model_sha256"] = "the graph of the model"
    changed = [name for name in nouns if getattr(before, name) != getattr(now, name)]
    unknown = "model_sha256" in changed and now.graph_sha256 and not before.graph_sha256
    listed = ", ".join(nouns[name] for name in changed)
    return f"{listed} changed{_NO_GRAPH if unknown else ''}" if changed else ""


def has_other_weights(before: ScenarioRecord, now: ScenarioRecord) -> bool:
    same = before.graph_sha256 is not None and before.graph_sha256 == now.graph_sha256
    return same and before.model_sha256 != now.model_sha256


def is_of_another_toolchain(before: ScenarioRecord, now: ScenarioRecord) -> bool:
    return "" not in (before.toolchain, now.toolchain) and before.toolchain != now.toolchain


def missing(keep: KeepSet, regions: Iterable[Region]) -> tuple[Region, ...]:
    kept = keep.regions()
    return tuple(sorted({*regions} - kept.keys(), key=order)) if kept else ()


def _normal(record: ScenarioRecord) -> ScenarioRecord:
    return replace(
        record,
        inputs=tuple(sorted(record.inputs)),
        regions=tuple(sorted(set(record.regions), key=order)),
        functions=tuple(sorted(set(record.functions))),
    )


def dump_keep_set(keep: KeepSet) -> str:
    return dump_entries(
        (
            ("version", VERSION),
            ("generation", keep.generation),
            ("operators", which(keep.operators)),
            *((f"scenario {record.id}", _dump_record(record)) for record in keep.scenarios),
            *((f"region {region}", users) for region, users in keep.regions().items()),
            *((f"function {name}", users) for name, users in keep.functions().items()),
            *dump_operators(keep.operators),
        )
    )


def read_keep_set(path: Path, *, shown: str = "") -> KeepSet:
    text = read_text(path, most_bytes=MAX_TEXT, expected="a keep set", shown=shown, hint=HINT)
    return parse_keep_set(text, source=shown or str(path))


def parse_keep_set(text: str, *, source: str) -> KeepSet:
    """Parse what ``dump_keep_set`` wrote, or the merge of two such texts by line.

    The order of lines does not matter, and if a region or function has two lines, the scenarios of
    both need it. Raises InputError naming ``source:line`` for anything else.
    """
    reader = LineReader(text, source, HINT, ACCEPT)
    tables = reader.kinds(_KINDS)
    version = reader.single(tables["version"], "version")
    if version not in _VERSIONS or isinstance(version, bool):
        reader.fail(f"found version {version!r}, expected {VERSION}", "version")
    generation = reader.single(tables["generation"], "generation")
    reader.number(generation, *GENERATIONS, "generation")
    if generation not in GENERATIONS:
        reader.fail(f"headers of generation {generation} are unknown", "generation")
    regions = _by_scenario(reader, "region", tables["region"], Region.parse)
    functions = _by_scenario(reader, "function", tables["function"], _function)
    records: dict[str, ScenarioRecord] = {}
    for name, value in tables["scenario"]:
        record = _record(reader, name, value, regions.get(name, ()), functions.get(name, ()))
        if not record.regions and (regions or not record.functions):
            reader.fail(f"no region is needed by {name}", f"scenario {name}")
        if records.setdefault(name, record) != record:
            problem = f"scenario {name!r} occurs twice, with different values"
            reader.fail(problem, f"scenario {name}")
    for kind in ("region", "function"):
        for item, users in tables[kind]:
            for name in users:
                if name not in records:
                    problem = f"a {kind} is needed by {name!r}, which is not a scenario of the file"
                    reader.fail(problem, f"{kind} {item}")
    operators = parse_operators(reader, tables, version=version)
    return build_keep_set(generation, records.values(), operators)


def _dump_record(record: ScenarioRecord) -> dict[str, object]:
    fields: dict[str, object] = {
        "model_sha256": record.model_sha256,
        "arguments": record.arguments,
        "inputs": dict(record.inputs),
        "algo_cache_sha256": record.algo_cache_sha256,
        "threads": record.threads,
        "trace_sha256": record.trace_sha256,
    }
    # A file has no key for what its scenario does not have.
    if record.environment:
        fields[_ENVIRONMENT] = dict(record.environment)
    fields |= {name: each for name in (_GRAPH, _TOOLCHAIN) if (each := getattr(record, name))}
    return fields if record.link_sha256 is None else fields | {_LINK: record.link_sha256}


def _by_scenario(
    reader: LineReader, kind: str, entries: Entries, parse: Callable[[str], _Item]
) -> dict[str, tuple[_Item, ...]]:
    found: dict[str, set[_Item]] = {}
    for text, users in entries:
        key = f"{kind} {text}"
        try:
            item = parse(text)
        except InputError as error:
            reader.fail(error.message, key)
        names = reader.texts(users, key)
        if not names:
            reader.fail(f"no scenario needs {text}", key)
        for name in names:
            found.setdefault(name, set()).add(item)
    return {name: tuple(items) for name, items in found.items()}


def _function(text: str) -> str:
    # These names go into a linker script.
    if not is_linkable(text):
        msg = f"found {text[:80]!r}, expected the linkage name of a function"
        raise InputError(msg)
    return text


def _record(
    reader: LineReader,
    name: str,
    value: Any,
    regions: tuple[Region, ...],
    functions: tuple[str, ...],
) -> ScenarioRecord:
    keys = (f"scenario {name}",)
    if not name or not name.isprintable():
        reader.fail(f"found the scenario {name!r}, expected MODEL/SCENARIO@CLASS", *keys)
    fields = reader.fields(value, _SCENARIO_FIELDS, *keys, optional=_OPTIONAL_FIELDS)
    if _LINK in fields and not functions:
        reader.fail(f"the list of functions of {name} is empty, though it has a {_LINK}", *keys)
    if functions and _LINK not in fields:
        reader.fail(f"functions are listed for {name}, but its {_LINK} is missing", *keys)
    inputs = reader.mapping(fields["inputs"], *keys, "inputs")
    cache = fields["algo_cache_sha256"]
    (toolchain,) = reader.texts([fields.get(_TOOLCHAIN, "")], *keys, _TOOLCHAIN)
    return ScenarioRecord(
        id=name,
        model_sha256=reader.sha256(fields["model_sha256"], *keys, "model_sha256"),
        graph_sha256=reader.sha256(fields[_GRAPH], *keys, _GRAPH) if _GRAPH in fields else None,
        toolchain=toolchain,
        arguments=reader.texts(fields["arguments"], *keys, "arguments"),
        inputs=tuple(sorted((n, reader.sha256(sha, *keys, n)) for n, sha in inputs.items())),
        algo_cache_sha256=None
        if cache is None
        else reader.sha256(cache, *keys, "algo_cache_sha256"),
        threads=reader.number(fields["threads"], 0, _MAX_THREADS, *keys, "threads"),
        environment=_variables(reader, fields, *keys),
        trace_sha256=reader.sha256(fields["trace_sha256"], *keys, "trace_sha256"),
        regions=regions,
        functions=functions,
        link_sha256=reader.sha256(fields[_LINK], *keys, _LINK) if _LINK in fields else None,
    )


def _variables(reader: LineReader, fields: Mapping[str, Any], *keys: str) -> Variables:
    found = fields.get(_ENVIRONMENT, Entries())
    given = reader.mapping(found, *keys, _ENVIRONMENT)
    reader.texts([*given.values()], *keys, _ENVIRONMENT)
    return tuple(sorted(given.items()))
