"""The lines of a keep set that list the kept operators, data types and modes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from megtrim.models.operators import MAX_HASH, Needed, OperatorNeeds
from megtrim.regions.grammar import is_identifier
from megtrim.regions.json_lines import Entries, LineReader

OPERATOR_KINDS = ("operator", "dtype", "elemwise_mode", "hash")
_ALL, _LISTED = "all", "listed"
_HASH = re.compile(r"[0-9]{1,20}")


def which(needs: OperatorNeeds | None) -> str:
    """Return the value of ``operators``: ``all`` are kept, or those ``listed``."""
    return _ALL if needs is None else _LISTED


def dump_operators(needs: OperatorNeeds | None) -> Iterator[tuple[str, object]]:
    """Yield the entries of the listed ones."""
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
