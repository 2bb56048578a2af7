"""The files of a keep set: a folder that a team commits, and the text of each scenario's file.

``MODEL/SCENARIO@CLASS.json``, or ``NAME@CLASS.json`` of a command, is the keep set of that scenario
alone. So two branches that each add
scenarios change no common file. The text has one line for each scenario, region, function, function
that is cut, operator, data type, elementwise mode and graph hash, sorted::

    {
     "version": 2,
     "generation": 20220507,
     "operators": "listed",
     "scenario resnet18/default@any": {"model_sha256": "...", ...},
     "region megbrain_misc<-394016210>": ["resnet18/default@any"],
     "function _ZN3mgb12tensor_stats4nextEv": ["resnet18/default@any"],
     "blocks _ZN3mgb12tensor_stats4nextEv 5e884898da280471 0 3 7": ["resnet18/default@any"],
     ...
     "": "end"
    }

Every entry's line ends with a comma. So where both sides of a merge recorded one scenario again,
their lines can be added, dropped and combined in any order. ``"operators": "all"`` keeps all
operators, and lists none. Functions are listed only if functions are trimmed; a scenario then names
the link that they belong to. The blocks that ran are listed only at the level blocks, by the digest
of their function's graph and their numbers; older files have none. Pure, but for ``read_folder``
and ``find_files``.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from megtrim.core.keep.keepset import (
    GENERATIONS,
    KeepSet,
    ScenarioRecord,
    build_keep_set,
    select_scenarios,
)
from megtrim.core.keep.operators import MAX_HASH, Needed, OperatorNeeds, unite_needs
from megtrim.core.keep.region import Region
from megtrim.core.keep.split_function import SplitFunction
from megtrim.libs.elf.symbol_names import is_linkable
from megtrim.libs.elf.type_names import is_identifier
from megtrim.libs.util.errors import ACCEPT, InputError
from megtrim.libs.util.input_files import FOLDER, MISSING, expect_merged, kind_at, read_text
from megtrim.libs.util.json_text import expect_finite

MAX_TEXT = 64 * 1024 * 1024
MOST_FILES = 10_000
HINT = "restore the committed file, or write it again"
VERSION = 2
_MERGE_HINT = "keep the lines of both sides, and remove those of the markers: that is the merge"
_END = ("", "end")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HASH = re.compile(r"0|[1-9][0-9]{0,19}")
_SUFFIX = ".json"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_FILE = re.compile(rf"(?:{_NAME}/)?{_NAME}@{_NAME}\.json")
_MAX_THREADS = 4096
_ALL = "all"
_LISTED = "listed"
_OPERATOR_KINDS = ("operator", "dtype", "elemwise_mode", "hash")
_KINDS = (
    "version",
    "generation",
    "operators",
    "scenario",
    "region",
    "function",
    "blocks",
    *_OPERATOR_KINDS,
)
_NOUNS = {"region": "region", "function": "function", "blocks": "list of blocks"}
"""Kinds of entries that scenarios need."""
_MODEL = "model_sha256"
_FIELDS = ("arguments", "inputs", "algo_cache_sha256", "threads", "trace_sha256")
_LINK = "link_sha256"
_ENVIRONMENT = "environment"
_GRAPH = "graph_sha256"
_TOOLCHAIN = "toolchain"
_OPTIONAL_FIELDS = (_MODEL, _LINK, _ENVIRONMENT, _GRAPH, _TOOLCHAIN)
_Item = TypeVar("_Item", Region, SplitFunction, str)


class Entries(list[tuple[str, Any]]):
    """A JSON object as in the file: in order, and with duplicate keys."""


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str
    source: str

    def fail(self, problem: str, *keys: str) -> NoReturn:
        """Raise InputError; ``keys`` lead to the wrong entry, from the outside in."""
        at = 0
        for key in keys:
            at = max(at, self.text.find(f"{json.dumps(key)}:", at))
        line = self.text.count("\n", 0, at) + 1
        msg = f"{self.source}:{line}: {problem}"
        raise InputError(msg, hint=HINT, command=ACCEPT)

    def fields(self, value: Any, *keys: str) -> dict[str, Any]:
        if not isinstance(value, Entries):
            self.fail("expected an object", *keys)
        names = [key for key, _ in value]
        for key in names:
            if key not in (known := _FIELDS + _OPTIONAL_FIELDS):
                self.fail(f"unknown key {key[:80]!r}, expected {', '.join(known)}", *keys, key)
            if names.count(key) > 1:
                self.fail(f"the key {key!r} occurs twice", *keys, key)
        for name in _FIELDS:
            if name not in names:
                self.fail(f"the key {name!r} is missing", *keys)
        return dict(value)

    def kinds(self) -> dict[str, Entries]:
        if len(self.text) > MAX_TEXT:
            self.fail(f"more than {MAX_TEXT} characters")
        expect_merged(self.text, shown=self.source, hint=_MERGE_HINT)
        try:
            value = json.loads(self.text, object_pairs_hook=Entries, parse_constant=expect_finite)
        except json.JSONDecodeError as error:
            msg = f"{self.source}:{error.lineno}: not JSON: {error.msg}"
            raise InputError(msg, hint=HINT, command=ACCEPT) from None
        except (ValueError, RecursionError) as error:
            self.fail(f"not usable as JSON: {str(error)[:100]}")
        if not isinstance(value, Entries):
            self.fail("expected an object")
        tables = {name: Entries() for name in _KINDS}
        for key, item in value:
            if (key, item) == _END:
                continue
            kind, _, name = key.partition(" ")
            if kind not in tables:
                self.fail(f"unknown key {key[:80]!r}, expected {', '.join(_KINDS)}", key)
            tables[kind].append((name, item))
        return tables

    def single(self, entries: Entries, kind: str) -> Any:
        """Return the value of a kind without names; two lines may say the same."""
        if not entries:
            self.fail(f"the key {kind!r} is missing")
        for name, value in entries:
            if name:
                self.fail(f"unknown key {f'{kind} {name}'[:80]!r}", f"{kind} {name}")
            if value != entries[0][1]:
                self.fail(f"the key {kind!r} occurs twice, with different values", kind)
        return entries[0][1]

    def mapping(self, value: Any, *keys: str) -> dict[str, Any]:
        if not isinstance(value, Entries):
            self.fail("expected an object", *keys)
        found = dict(value)
        if len(found) != len(value):
            self.fail("a key occurs twice in one object", *keys)
        return found

    def texts(self, value: Any, *keys: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail("expected a list of texts", *keys)
        return tuple(value)

    def sha256(self, value: Any, *keys: str) -> str:
        if not isinstance(value, str) or not _SHA256.fullmatch(value):
            self.fail("expected a sha256, 64 digits of 0-9 and a-f", *keys)
        return value

    def number(self, value: Any, low: int, high: int, *keys: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(f"expected a whole number from {low} to {high}", *keys)
        return value


def dump_keep_set(keep: KeepSet) -> str:
    operators = _ALL if keep.operators is None else _LISTED
    entries: list[tuple[str, object]] = [
        ("version", VERSION),
        ("generation", keep.generation),
        ("operators", operators),
    ]
    entries += [(f"scenario {record.id}", _dump_record(record)) for record in keep.scenarios]
    entries += [(f"region {region}", users) for region, users in keep.regions().items()]
    entries += [(f"function {name}", users) for name, users in keep.functions().items()]
    entries += [(f"blocks {each}", users) for each, users in keep.blocks().items()]
    if keep.operators:
        entries += _list_operators(keep.operators)
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in entries]
    last_key, last_value = _END
    last = f" {json.dumps(last_key)}: {json.dumps(last_value)}"
    return "\n".join(["{", *lines, last, "}"]) + "\n"


def _list_operators(needs: OperatorNeeds) -> Iterator[tuple[str, object]]:
    needed = (needs.operators, needs.dtypes, needs.elemwise_modes, needs.hashes)
    for kind, users in zip(_OPERATOR_KINDS, needed, strict=True):
        yield from ((f"{kind} {name}", models) for name, models in users)


def read_keep_set(path: Path, *, shown: str = "") -> KeepSet:
    text = read_text(path, most_bytes=MAX_TEXT, expected="a keep set", shown=shown, hint=HINT)
    return parse_keep_set(text, source=shown or str(path))


def parse_keep_set(text: str, *, source: str) -> KeepSet:
    """Parse what ``dump_keep_set`` wrote, or the merge of two such texts by line.

    The order of lines does not matter, and if a region or function has two lines, the scenarios of
    both need it. Raises InputError naming ``source:line`` for anything else.
    """
    reader = _Reader(text, source)
    tables = reader.kinds()
    version = reader.single(tables["version"], "version")
    if version != VERSION or isinstance(version, bool):
        reader.fail(f"found version {version!r}, expected {VERSION}", "version")
    generation = reader.single(tables["generation"], "generation")
    reader.number(generation, *GENERATIONS, "generation")
    if generation not in GENERATIONS:
        reader.fail(f"headers of generation {generation} are unknown", "generation")
    regions = _by_scenario(reader, "region", tables["region"], Region.parse)
    functions = _by_scenario(reader, "function", tables["function"], _function)
    blocks = _by_scenario(reader, "blocks", tables["blocks"], SplitFunction.parse)
    records: dict[str, ScenarioRecord] = {}
    # By operators alone, nothing else is listed.
    recorded = regions or functions or reader.single(tables["operators"], "operators") == _ALL
    for name, value in tables["scenario"]:
        record = _record(reader, name, value, regions.get(name, ()), functions.get(name, ()))
        record = replace(record, blocks=blocks.get(name, ()))
        if not record.regions and (regions or (recorded and not record.functions)):
            reader.fail(f"no region is needed by {name}", f"scenario {name}")
        if records.setdefault(name, record) != record:
            problem = f"scenario {name!r} occurs twice, with different values"
            reader.fail(problem, f"scenario {name}")
    for kind, noun in _NOUNS.items():
        for item, users in tables[kind]:
            for name in users:
                if name not in records:
                    problem = f"a {noun} is needed by {name!r}, which is not a scenario of the file"
                    reader.fail(problem, f"{kind} {item}")
    return build_keep_set(generation, records.values(), _parse_operators(reader, tables))


def _dump_record(record: ScenarioRecord) -> dict[str, object]:
    fields: dict[str, object] = {_MODEL: record.model_sha256} if record.model_sha256 else {}
    fields |= {
        "arguments": record.arguments,
        "inputs": dict(record.inputs),
        "algo_cache_sha256": record.algo_cache_sha256,
        "threads": record.threads,
        "trace_sha256": record.trace_sha256,
    }
    # A file has no key for what its scenario does not have.
    if record.environment:
        fields[_ENVIRONMENT] = dict(record.environment)
    for name in (_GRAPH, _TOOLCHAIN):
        if value := getattr(record, name):
            fields[name] = value
    if record.link_sha256 is not None:
        fields[_LINK] = record.link_sha256
    return fields


def _by_scenario(
    reader: _Reader, kind: str, entries: Entries, parse: Callable[[str], _Item]
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
    reader: _Reader, name: str, value: Any, regions: tuple[Region, ...], functions: tuple[str, ...]
) -> ScenarioRecord:
    keys = (f"scenario {name}",)
    if not name or not name.isprintable():
        reader.fail(
            f"found the scenario {name!r}, expected MODEL/SCENARIO@CLASS or NAME@CLASS", *keys
        )
    fields = reader.fields(value, *keys)
    if _LINK in fields and not functions:
        reader.fail(f"the list of functions of {name} is empty, though it has a {_LINK}", *keys)
    if functions and _LINK not in fields:
        reader.fail(f"functions are listed for {name}, but its {_LINK} is missing", *keys)
    inputs = reader.mapping(fields["inputs"], *keys, "inputs")
    cache = fields["algo_cache_sha256"]
    variables = reader.mapping(fields.get(_ENVIRONMENT, Entries()), *keys, _ENVIRONMENT)
    reader.texts([*variables.values()], *keys, _ENVIRONMENT)
    (toolchain,) = reader.texts([fields.get(_TOOLCHAIN, "")], *keys, _TOOLCHAIN)
    model = _model(reader, name, fields, keys)
    graph = reader.sha256(fields[_GRAPH], *keys, _GRAPH) if _GRAPH in fields else None
    arguments = reader.texts(fields["arguments"], *keys, "arguments")
    digests = [(label, reader.sha256(sha256, *keys, label)) for label, sha256 in inputs.items()]
    cache_digest = None
    if cache is not None:
        cache_digest = reader.sha256(cache, *keys, "algo_cache_sha256")
    threads = reader.number(fields["threads"], 0, _MAX_THREADS, *keys, "threads")
    trace = reader.sha256(fields["trace_sha256"], *keys, "trace_sha256")
    link = reader.sha256(fields[_LINK], *keys, _LINK) if _LINK in fields else None
    return ScenarioRecord(
        id=name,
        model_sha256=model,
        graph_sha256=graph,
        toolchain=toolchain,
        arguments=arguments,
        inputs=tuple(sorted(digests)),
        algo_cache_sha256=cache_digest,
        threads=threads,
        environment=tuple(sorted(variables.items())),
        trace_sha256=trace,
        regions=regions,
        functions=functions,
        link_sha256=link,
    )


def _model(reader: _Reader, name: str, fields: dict[str, Any], keys: tuple[str, ...]) -> str:
    if _MODEL in fields:
        return reader.sha256(fields[_MODEL], *keys, _MODEL)
    if "/" in name:
        reader.fail(f"the key {_MODEL!r} is missing", *keys)
    return ""


def _parse_operators(reader: _Reader, tables: dict[str, Entries]) -> OperatorNeeds | None:
    kept = reader.single(tables["operators"], "operators")
    if kept not in (_ALL, _LISTED):
        reader.fail(f"found {kept!r}, expected {_ALL!r} or {_LISTED!r}", "operators")
    if kept == _ALL:
        for kind in _OPERATOR_KINDS:
            for name, _ in tables[kind]:
                reader.fail(f"{kind} {name} is listed, but all are kept", f"{kind} {name}")
        return None
    hashes: dict[int, set[str]] = {}
    for name, models in tables["hash"]:
        key = f"hash {name}"
        if not _HASH.fullmatch(name):
            reader.fail('expected "hash NUMBER"', key)
        users = hashes.setdefault(reader.number(int(name), 0, MAX_HASH, key), set())
        users.update(reader.texts(models, key))
    return OperatorNeeds(
        hashes=tuple((number, tuple(sorted(hashes[number]))) for number in sorted(hashes)),
        dtypes=_parse_needed(reader, tables, "dtype"),
        operators=_parse_needed(reader, tables, "operator"),
        elemwise_modes=_parse_needed(reader, tables, "elemwise_mode"),
    )


def _parse_needed(reader: _Reader, tables: dict[str, Entries], kind: str) -> Needed:
    users: dict[str, set[str]] = {}
    for name, models in tables[kind]:
        # These names go into the header, which is compiled.
        if not is_identifier(name):
            reader.fail(f"found {name[:80]!r}, expected a C++ identifier", f"{kind} {name}")
        users.setdefault(name, set()).update(reader.texts(models, f"{kind} {name}"))
    return tuple((name, tuple(sorted(users[name]))) for name in sorted(users))


def dump_folder(keep: KeepSet) -> dict[str, str]:
    return {
        _file_of(record): dump_keep_set(select_scenarios(keep, {record.id}))
        for record in keep.scenarios
    }


def parse_folder(texts: Mapping[str, str], *, source: str) -> KeepSet:
    parts = {name: _parse_file(name, texts[name], source) for name in sorted(texts)}
    records = [record for part in parts.values() for record in part.scenarios]
    first, *_ = parts
    for name, part in parts.items():
        if part.generation != parts[first].generation:
            msg = (
                f"{source}/{name}: found header generation {part.generation}, "
                f"but {parts[first].generation} in {first}"
            )
            hint = "the engine changed between the two: trace it again"
            raise InputError(msg, hint=hint, command=ACCEPT)
        if not part.regions() and any(record.regions for record in records):
            msg = f"{source}/{name}: no region is needed by {part.scenarios[0].id}"
            raise InputError(msg, hint=HINT, command=ACCEPT)
    needs = [part.operators for part in parts.values()]
    listed = [need for need in needs if need is not None]
    operators = unite_needs(listed) if len(listed) == len(needs) else None
    return build_keep_set(parts[first].generation, records, operators)


def read_folder(path: Path, *, shown: str = "") -> KeepSet:
    shown = shown or str(path)
    texts: dict[str, str] = {}
    left = MAX_TEXT
    for name in find_files(path, shown=shown):
        texts[name] = read_text(
            path / name, most_bytes=left, expected="a keep set", shown=f"{shown}/{name}", hint=HINT
        )
        left -= len(texts[name])
    if not texts:
        msg = f"{shown}: found no file of a keep set, expected one for each scenario"
        raise InputError(msg, hint=HINT, command=ACCEPT)
    return parse_folder(texts, source=shown)


def find_files(path: Path, *, shown: str = "") -> tuple[str, ...]:
    """Return a folder's files, relative and sorted; none where nothing is.

    Raises InputError for anything but a folder, and for a keep set in one file next to it.
    """
    shown = shown or str(path)
    found = kind_at(path)
    if not path.name:
        msg = f"{shown}: found the root folder, expected a separate folder for the keep set"
        raise InputError(msg)
    whole = path.with_name(path.name + _SUFFIX)
    if found == "":
        raise _refuse_whole(shown)
    if found == MISSING:
        if whole.is_file():
            raise _refuse_whole(shown + _SUFFIX)
        return ()
    if found != FOLDER:
        msg = f"{shown}: found {found}, expected a folder with a file for each scenario"
        raise InputError(msg, hint=HINT)
    names = sorted(each.relative_to(path).as_posix() for each in path.rglob(f"*{_SUFFIX}"))
    if len(names) > MOST_FILES:
        msg = f"{shown}: found {len(names)} files, expected at most {MOST_FILES}"
        raise InputError(msg, hint=HINT)
    for name in names:
        if not _FILE.fullmatch(name):
            expected = "only MODEL/SCENARIO@CLASS.json and NAME@CLASS.json"
            msg = f"{shown}: found {name[:200]!r}, expected {expected}"
            raise InputError(msg, hint="remove it")
    return tuple(names)


def _refuse_whole(shown: str) -> InputError:
    msg = f"{shown}: found a keep set in one file, expected a folder with a file for each scenario"
    return InputError(msg, hint="remove it, and trace again", command=ACCEPT)


def _file_of(record: ScenarioRecord) -> str:
    name = f"{record.id}{_SUFFIX}"
    # An id may come from a file, and must not lead out of the folder.
    if not _FILE.fullmatch(name):
        msg = f"found the scenario {record.id[:80]!r}, expected MODEL/SCENARIO@CLASS or NAME@CLASS"
        raise InputError(msg, hint=HINT)
    return name


def _parse_file(name: str, text: str, source: str) -> KeepSet:
    part = parse_keep_set(text, source=f"{source}/{name}")
    expected = name.removesuffix(_SUFFIX)
    for record in part.scenarios:
        if record.id != expected:
            msg = f"{source}/{name}: found the scenario {record.id}, expected only {expected}"
            raise InputError(msg, hint=HINT, command=ACCEPT)
    if not part.scenarios:
        msg = f"{source}/{name}: found no scenario, expected {expected}"
        raise InputError(msg, hint=HINT, command=ACCEPT)
    return part
