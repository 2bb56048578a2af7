"""The keep set: the regions of all scenarios, each with who needs it, and the models' operators.

``megtrim/keepset.json`` is the file that a team commits. It is JSON with one line for each
region and scenario, sorted, and every line of a list ends with a comma: a sentinel entry (the
empty name) closes it. So two branches that each add lines merge without a conflict, and the
result is still JSON. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from megtrim.errors import InputError, ProductFailure
from megtrim.midout.region import Region
from megtrim.models.operators import Needed, OperatorNeeds

VERSION = 1
GENERATIONS = (20190219, 20220507)
_MAX_BYTES = 64 * 1024 * 1024
_HINT = "it is made by `megtrim header --accept`; do not edit it by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRecord:
    """What one scenario brought, and what its trace is bound to."""

    id: str
    """``MODEL/SCENARIO@CLASS``."""
    model_sha256: str
    arguments: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]
    """Input name and sha256 of its file, sorted."""
    algo_cache_sha256: str | None
    threads: int
    trace_sha256: str
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSet:
    """Everything that a reduced build keeps."""

    generation: int
    scenarios: tuple[ScenarioRecord, ...]
    """By id. None of them: nothing was traced, and all regions are kept."""
    operators: OperatorNeeds | None
    """None: nothing is known of the models' operators, and all are kept."""

    def regions(self) -> dict[Region, tuple[str, ...]]:
        """Return every region, sorted, with the ids of the scenarios that need it."""
        needed: dict[Region, list[str]] = {}
        for scenario in self.scenarios:
            for region in scenario.regions:
                needed.setdefault(region, []).append(scenario.id)
        return {region: tuple(sorted(needed[region])) for region in sorted(needed)}


def build_keep_set(
    *,
    generation: int,
    scenarios: Iterable[ScenarioRecord],
    operators: OperatorNeeds | None,
) -> KeepSet:
    """Join scenarios and operators. Scenarios without any region are a named failure."""
    ordered = tuple(sorted(scenarios, key=lambda scenario: scenario.id))
    empty = next((scenario.id for scenario in ordered if not scenario.regions), None)
    if empty is not None:
        msg = f"{empty} brought no region: a keep set without it would trap at once"
        raise ProductFailure(msg, hint="look at the log of its profile run")
    return KeepSet(generation=generation, scenarios=ordered, operators=operators)


def missing(keep: KeepSet, regions: Iterable[Region]) -> tuple[Region, ...]:
    """Return those of ``regions`` that the keep set lacks, sorted."""
    return tuple(sorted(set(regions) - keep.regions().keys())) if keep.scenarios else ()


def shrunken(previous: KeepSet, current: KeepSet) -> tuple[tuple[str, tuple[Region, ...]], ...]:
    """Return scenarios that lost regions though nothing that they are bound to changed."""
    before = {record.id: record for record in previous.scenarios}
    lost = []
    for record in current.scenarios:
        old = before.get(record.id)
        if old is None or _bound(old) != _bound(record):
            continue
        gone = set(old.regions) - set(record.regions)
        if gone:
            lost.append((record.id, tuple(sorted(gone))))
    return tuple(lost)


def _bound(record: ScenarioRecord) -> tuple[object, ...]:
    inputs, cache = record.inputs, record.algo_cache_sha256
    return record.model_sha256, record.arguments, inputs, cache, record.threads


def dump_keep_set(keep: KeepSet) -> str:
    """Return the file's text; equal keep sets are equal bytes."""
    parts = [("version", str(VERSION)), ("generation", str(keep.generation))]
    parts.append(("scenarios", _table((r.id, _record(r)) for r in keep.scenarios)))
    needs = keep.operators
    if needs is None:
        parts.append(("operators", "null"))
    else:
        parts.append(("operators", _table(needs.operators)))
        parts.append(("dtypes", _table(needs.dtypes)))
        parts.append(("elemwise_modes", _table(needs.elemwise_modes)))
        parts.append(("hashes", _table((str(number), True) for number in needs.hashes)))
    regions = keep.regions()
    parts.append(("regions", _table((str(region), regions[region]) for region in regions)))
    return "{\n" + ",\n".join(f'"{key}": {text}' for key, text in parts) + "\n}\n"


def _record(record: ScenarioRecord) -> dict[str, Any]:
    return {
        "model": record.model_sha256,
        "arguments": record.arguments,
        "inputs": dict(record.inputs),
        "algo_cache": record.algo_cache_sha256,
        "threads": record.threads,
        "trace": record.trace_sha256,
    }


def _table(rows: Iterable[tuple[str, object]]) -> str:
    lines = [
        f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)},"
        for key, value in rows
    ]
    return "\n".join(["{", *lines, '"": null', "}"])


def read_keep_set(path: Path) -> KeepSet:
    """Read the file at ``path``."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_MAX_BYTES + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        msg = f"{path}: cannot be read as text"
        raise InputError(msg, hint=_HINT) from None
    return parse_keep_set(text, source=str(path))


def parse_keep_set(text: str, *, source: str) -> KeepSet:
    """Read the file's text. Anything but its exact form is an InputError naming ``source``."""
    if len(text) > _MAX_BYTES:
        msg = f"{source}: too large for a keep set"
        raise InputError(msg, hint=_HINT)
    try:
        data = json.loads(text, object_pairs_hook=_pairs)
    except _Twice as twice:
        _refuse(text, source, str(twice), "found twice, expected once")
    except RecursionError:
        _refuse(text, source, "", "nested too deeply")
    except json.JSONDecodeError as error:
        msg = f"{source}:{error.lineno}: not JSON: {error.msg}"
        raise InputError(msg, hint=_HINT) from None
    return _Reader(text, source).keep_set(data)


class _Twice(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        # A merge can bring the sentinel twice; a region twice would lose somebody's needs.
        if key in found and key != "":
            raise _Twice(key)
        found[key] = value
    return found


def _refuse(text: str, source: str, key: str, what: str) -> NoReturn:
    quoted = json.dumps(key, ensure_ascii=False) + ":"
    at = text.rfind(quoted)
    line = text.count("\n", 0, at) + 1 if at >= 0 else 1
    msg = f"{source}:{line}: {quoted} {what}"
    raise InputError(msg, hint=_HINT)


class _Reader:
    """Turns checked JSON into values; every refusal names the line of the key it is about."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source

    def keep_set(self, data: object) -> KeepSet:
        top = self._mapping("", data)
        if top.get("version") != VERSION:
            self._no("version", f"expected version {VERSION}")
        generation = top.get("generation")
        if generation not in GENERATIONS:
            self._no("generation", f"expected one of {GENERATIONS}")
        known = {"version", "generation", "scenarios", "operators", "regions"}
        if top.get("operators") is not None:
            known |= {"dtypes", "elemwise_modes", "hashes"}
        for key in top.keys() ^ known:
            self._no(key, f"expected exactly the keys {', '.join(sorted(known))}")
        by_scenario = self._regions(top["regions"], self._rows("scenarios", top["scenarios"]))
        return KeepSet(
            generation=int(str(generation)),
            scenarios=tuple(
                self._record(id_, value, by_scenario[id_])
                for id_, value in sorted(self._rows("scenarios", top["scenarios"]).items())
            ),
            operators=self._needs(top) if top["operators"] is not None else None,
        )

    def _regions(
        self, data: object, scenarios: Mapping[str, object]
    ) -> dict[str, tuple[Region, ...]]:
        found: dict[str, list[Region]] = {id_: [] for id_ in scenarios}
        for text, ids in self._rows("regions", data).items():
            region = self._region(text)
            for id_ in self._names(text, ids):
                if id_ not in found:
                    self._no(text, f"names the scenario {id_!r}, which is not in the file")
                found[id_].append(region)
        return {id_: tuple(sorted(regions)) for id_, regions in found.items()}

    def _region(self, text: str) -> Region:
        try:
            region = Region.parse(text)
        except InputError as error:
            self._no(text, error.message)
        if str(region) != text:
            self._no(text, f"expected the spelling {region}")
        return region

    def _record(self, id_: str, data: object, regions: tuple[Region, ...]) -> ScenarioRecord:
        fields = self._mapping(id_, data)
        wanted = {"model", "arguments", "inputs", "algo_cache", "threads", "trace"}
        cache, threads = fields.get("algo_cache"), fields.get("threads")
        if fields.keys() != wanted or type(threads) is not int:
            self._no(id_, f"expected exactly the keys {', '.join(sorted(wanted))}")
        inputs = self._mapping(id_, fields["inputs"])
        return ScenarioRecord(
            id=id_,
            model_sha256=self._digest(id_, fields["model"]),
            arguments=self._names(id_, fields["arguments"]),
            inputs=tuple(sorted((name, self._digest(id_, sha)) for name, sha in inputs.items())),
            algo_cache_sha256=None if cache is None else self._digest(id_, cache),
            threads=threads,
            trace_sha256=self._digest(id_, fields["trace"]),
            regions=regions,
        )

    def _needs(self, top: Mapping[str, object]) -> OperatorNeeds:
        hashes = self._rows("hashes", top["hashes"])
        for key in hashes:
            if not key.isascii() or not key.isdigit() or int(key) >= 2**64:
                self._no(key, "expected a graph hash, a whole number of 64 bits")
        return OperatorNeeds(
            hashes=tuple(sorted(int(key) for key in hashes)),
            dtypes=self._needed("dtypes", top["dtypes"]),
            operators=self._needed("operators", top["operators"]),
            elemwise_modes=self._needed("elemwise_modes", top["elemwise_modes"]),
        )

    def _needed(self, key: str, data: object) -> Needed:
        rows = self._rows(key, data)
        for name in rows:
            # These names are written into a header that is compiled.
            if not name.isascii() or not name.isidentifier():
                self._no(name, "expected a C++ identifier")
        return tuple((name, self._names(name, models)) for name, models in sorted(rows.items()))

    def _rows(self, key: str, data: object) -> dict[str, object]:
        rows = dict(self._mapping(key, data))
        if "" not in rows or rows.pop("") is not None:
            self._no(key, 'expected the last line "": null')
        return rows

    def _names(self, key: str, data: object) -> tuple[str, ...]:
        if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
            self._no(key, "expected a list of texts")
        return tuple(data)

    def _digest(self, key: str, data: object) -> str:
        if not isinstance(data, str) or len(data) != 64 or not set(data) <= set("0123456789abcdef"):
            self._no(key, "expected a sha256 of 64 hex digits")
        return data

    def _mapping(self, key: str, data: object) -> Mapping[str, Any]:
        if not isinstance(data, dict):
            self._no(key, "expected an object")
        return data

    def _no(self, key: str, what: str) -> NoReturn:
        _refuse(self._text, self._source, key, what)
