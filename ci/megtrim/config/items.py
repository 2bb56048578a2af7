"""Lists with a file for each item: a pattern such as ``megtrim/models/*.yaml`` in their place.

``models`` and a model's ``scenarios`` may be such a pattern, relative to megtrim.yaml. Each file
that it finds is one item, as it would be in the list. So two branches that each add a model or a
scenario change no common line. Paths in these files are relative to megtrim.yaml, too.

Configurations in several folders share files by a pattern that begins with ``../``. Paths in those
files are relative to the folder that it climbs to, so that they mean the same for all of them.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from megtrim.config.document import LARGEST_FILE_BYTES, Document, parse_document, sections
from megtrim.config.problems import KeyPath
from megtrim.config.value_types import MOST_ITEMS, MOST_LISTED, MOST_THREADS, read_whole
from megtrim.util.input_files import read_bytes
from megtrim.util.value import Value

_KEY = "threads"


def expand_threads(document: Document) -> Document:
    """Return the document with a scenario for each number of threads, in the file's order.

    A list that holds anything else stays, and is reported with all other mistakes.
    """
    full: dict[KeyPath, list[tuple[int, Any]]] = {}
    for path, model in sections(document.data, "models"):
        scenarios = model.get("scenarios")
        if not isinstance(scenarios, list):
            continue
        each = [(old, one) for old, scenario in enumerate(scenarios) for one in _expand(scenario)]
        if [one for _, one in each] != scenarios:
            full[*path, "scenarios"] = each
    return document.with_items(full)


def _expand(scenario: Any) -> Iterator[Any]:
    numbers = _read_numbers(scenario)
    if not numbers:
        yield scenario
    for number in numbers:
        yield scenario | {"name": f"{scenario['name']}-threads-{number}", _KEY: number}


def _read_numbers(scenario: Any) -> list[int]:
    """Return the numbers of a list of threads; none if there is no list, or a wrong one."""
    listed = scenario.get(_KEY) if isinstance(scenario, dict) else None
    if not isinstance(listed, list) or not isinstance(scenario.get("name"), str):
        return []
    numbers = [read_whole(each, least=1, most=MOST_THREADS) for each in listed]
    known = [each for each in numbers if each is not None]
    fits = len(set(known)) == len(listed) <= MOST_LISTED
    return known if fits else []


_UP = ".."
_FILES = ("file", "algo_cache")
_LISTS_OF_FILES = ("strip_info", "also")


def read_items(document: Document, folder: Path) -> Document:
    """Return the document with the items of files in the place of patterns. Raises InputError."""
    data = copy.deepcopy(document.data)
    whole = _fill(replace(document, data=data), data, (), "models", folder)
    models = data.get("models")
    for index, model in enumerate(models if isinstance(models, list) else ()):
        if isinstance(model, dict):
            whole = _fill(whole, model, ("models", index), "scenarios", folder)
    return whole


def _fill(
    document: Document, section: dict[str, Any], path: KeyPath, key: str, folder: Path
) -> Document:
    pattern = section.get(key)
    names = _glob(folder, pattern) if isinstance(pattern, str) else []
    if not 0 < len(names) <= MOST_ITEMS:
        return document  # a list, or a pattern that stays, and is reported with all other mistakes
    items = [_read(document, name, folder) for name in names]
    climbed = climb(str(pattern))
    section[key] = [_rebase(item.document.data, climbed) for item in items]
    lines, files, repeated = {**document.lines}, {**document.files}, [*document.repeated]
    for index, item in enumerate(items):
        place = (*path, key, index)
        lines |= {(*place, *inner): line for inner, line in item.document.lines.items()}
        files[place] = item.name
        repeated += item.document.repeated
    digests = [document.sha256, *(item.document.sha256 for item in items)]
    return replace(
        document,
        lines=lines,
        files=files,
        repeated=tuple(repeated),
        sha256=hashlib.sha256(" ".join(digests).encode()).hexdigest(),
    )


def _glob(folder: Path, pattern: str) -> list[str]:
    try:
        found = [each.relative_to(folder).as_posix() for each in folder.glob(pattern)]
    except (ValueError, NotImplementedError, IndexError, OSError):
        # an empty, impossible or absolute pattern, or one with a part that no file can have
        return []
    return sorted(name for name in found if not PurePath(name).name.startswith("."))


def climb(pattern: str) -> PurePosixPath:
    """Return the leading ``..`` of a pattern, the folder that paths in its files begin at."""
    parts = PurePosixPath(pattern).parts
    ups = next((number for number, part in enumerate(parts) if part != _UP), len(parts))
    return PurePosixPath(*parts[:ups])


def _rebase(item: Mapping[str, Any], base: PurePosixPath) -> dict[str, Any]:
    """Return a model or a scenario with its paths as megtrim.yaml has to write them."""

    def rebase(value: object) -> object:
        if isinstance(value, list):
            return [rebase(each) for each in value]
        return str(base / value) if isinstance(value, str) and value.strip() else value

    if not base.parts:
        return {**item}
    own = {key: rebase(item[key]) for key in (*_FILES, *_LISTS_OF_FILES) if key in item}
    inputs, scenarios = item.get("inputs"), item.get("scenarios")
    if isinstance(inputs, dict):
        own["inputs"] = {name: rebase(value) for name, value in inputs.items()}
    if isinstance(scenarios, str):
        own["scenarios"] = rebase(scenarios)
    if isinstance(scenarios, list):
        own["scenarios"] = [
            _rebase(each, base) if isinstance(each, dict) else each for each in scenarios
        ]
    return {**item, **own}


class _Item(Value):
    name: str
    document: Document


def _read(document: Document, name: str, folder: Path) -> _Item:
    shown = document.name_of(name)
    raw = read_bytes(
        folder / name, most_bytes=LARGEST_FILE_BYTES, expected="a part of megtrim.yaml", shown=shown
    )
    return _Item(name=name, document=parse_document(raw, file=shown))
