"""Lists with a file for each item: a pattern such as ``megtrim/models/*.yaml`` in their place.

``models`` and a model's ``scenarios`` may be such a pattern, relative to megtrim.yaml. Each file
that it finds is one item, as it would be in the list. So two branches that each add a model or a
scenario change no common line. Paths in these files are relative to megtrim.yaml, too.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from megtrim.config.value_types import MOST_ITEMS
from megtrim.config.yaml.document import LARGEST_FILE_BYTES, Document, parse_document
from megtrim.config.yaml.problems import KeyPath
from megtrim.input_files import read_bytes


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
    section[key] = [item.document.data for item in items]
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
    except (ValueError, NotImplementedError):  # an empty, impossible or absolute pattern
        return []
    return sorted(name for name in found if not PurePath(name).name.startswith("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    name: str
    document: Document


def _read(document: Document, name: str, folder: Path) -> _Item:
    shown = document.name_of(name)
    raw = read_bytes(
        folder / name, most_bytes=LARGEST_FILE_BYTES, expected="a part of megtrim.yaml", shown=shown
    )
    return _Item(name=name, document=parse_document(raw, file=shown))
