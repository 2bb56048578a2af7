"""The keep set as a team commits it: a folder with a file for each scenario.

``MODEL/SCENARIO@CLASS.json`` is the keep set of that scenario alone, and all of them together are
the keep set. So two branches that each add scenarios change no common file, and any merge of git's
is the union of both. Pure, except that ``read_folder`` and ``find_files`` look at the folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from megtrim.models.operators import select_needs, unite_needs
from megtrim.regions.json_lines import MAX_TEXT
from megtrim.regions.keepset import (
    HINT,
    KeepSet,
    ScenarioRecord,
    build_keep_set,
    dump_keep_set,
    parse_keep_set,
)
from megtrim.regions.keepset_parts import model_of
from megtrim.util.errors import ACCEPT, InputError
from megtrim.util.input_files import FOLDER, MISSING, kind_at, read_text

MOST_FILES = 10_000
_SUFFIX = ".json"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_FILE = re.compile(rf"{_NAME}/{_NAME}@{_NAME}\.json")


def dump_folder(keep: KeepSet) -> dict[str, str]:
    return {_file_of(record): dump_keep_set(_select(keep, record)) for record in keep.scenarios}


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
    listed = [each for each in needs if each is not None]
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
        msg = f"{shown}: found the root folder, expected one of its own for the keep set"
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
            msg = f"{shown}: found {name[:200]!r}, expected MODEL/SCENARIO@CLASS.json alone"
            raise InputError(msg, hint="remove it")
    return tuple(names)


def _refuse_whole(shown: str) -> InputError:
    msg = f"{shown}: found a keep set in one file, expected a folder with a file for each scenario"
    return InputError(msg, hint="remove it, and trace again", command=ACCEPT)


def _select(keep: KeepSet, record: ScenarioRecord) -> KeepSet:
    model = model_of(record.id)
    needs = None if keep.operators is None else select_needs(keep.operators, model)
    return KeepSet(generation=keep.generation, scenarios=(record,), operators=needs)


def _file_of(record: ScenarioRecord) -> str:
    name = f"{record.id}{_SUFFIX}"
    # An id may come from a file, and must not lead out of the folder.
    if not _FILE.fullmatch(name):
        msg = f"found the scenario {record.id[:80]!r}, expected MODEL/SCENARIO@CLASS"
        raise InputError(msg, hint=HINT)
    return name


def _parse_file(name: str, text: str, source: str) -> KeepSet:
    part = parse_keep_set(text, source=f"{source}/{name}")
    expected = name.removesuffix(_SUFFIX)
    for record in part.scenarios:
        if record.id != expected:
            msg = f"{source}/{name}: found the scenario {record.id}, expected {expected} alone"
            raise InputError(msg, hint=HINT, command=ACCEPT)
    if not part.scenarios:
        msg = f"{source}/{name}: found no scenario, expected {expected}"
        raise InputError(msg, hint=HINT, command=ACCEPT)
    return part
