"""YAML as plain data with the line of every key: the only reader of the format.

Pure: bytes in, a :class:`Document` out. What is not text, not YAML or not a mapping is one
:class:`~megtrim.config.yaml.problems.ConfigError` with its line.
"""

from __future__ import annotations

import copy
import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, TypeVar

import yaml

from megtrim.config.yaml.messages import syntax_problem
from megtrim.config.yaml.nodes import EMPTY, MAPPING_EXPECTED, Node, NodeReader, refusal
from megtrim.config.yaml.problems import ConfigError, KeyPath, Problem
from megtrim.input_files import expect_merged
from megtrim.strict_json import show_path

LARGEST_FILE_BYTES = 1024 * 1024

Items = Sequence[tuple[int, Any]]
"""The new items of a list, each with the index of the one that it was or is made of."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A mapping, the lines of its keys, and the keys that it holds twice."""

    file: str
    data: dict[str, object]
    lines: Mapping[KeyPath, int]
    repeated: tuple[Problem, ...]
    sha256: str
    """Of the bytes of the file, or of all files."""
    files: Mapping[KeyPath, str] = field(default_factory=dict)
    """Items that are files of their own, with their names relative to the folder of this one."""
    written: Mapping[KeyPath, KeyPath] = field(default_factory=dict)
    """Of what stands elsewhere in its file, such as scenarios that were written as one with a list
    of threads: where that is."""

    def file_of(self, path: KeyPath) -> str:
        """Return the file that a key is in, as messages name it."""
        item = nearest_item(self.files, path)
        return self.file if item is None else self.name_of(self.files[item])

    def name_of(self, name: str) -> str:
        """Return the name of a file that is given relative to the folder of this one."""
        return posixpath.normpath(PurePath(self.file).parent / name)

    def with_items(self, lists: Mapping[KeyPath, Items]) -> Document:
        """Return the document with other items in some lists, none of which is in another.

        Lines, files and places in the file follow the items.
        """
        if not lists:
            return self
        data = copy.deepcopy(self.data)
        written: dict[KeyPath, KeyPath] = {}
        for at, items in lists.items():
            _value_at(data, at)[:] = [value for _, value in items]
            for new, (old, _) in enumerate(items):
                written[*at, new] = written_path(self.written, (*at, old))
        return replace(
            self,
            data=data,
            lines=_follow(self.lines, lists),
            files=_follow(self.files, lists),
            written=_follow(self.written, lists) | written,
        )

    def problem(self, path: KeyPath, found: str, expected: str, suggestion: str = "") -> Problem:
        """Return a problem of the value at ``path``."""
        return Problem(
            file=self.file_of(path),
            line=nearest_line(self.lines, path),
            key=show_path(written_path(self.written, path)),
            found=found,
            expected=expected,
            suggestion=suggestion,
        )


def nearest_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """Return the line of a key, or of the nearest section around it that has one."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


def nearest_item(files: Mapping[KeyPath, object], path: KeyPath) -> KeyPath | None:
    """Return the item with a file of its own that a key is in; None: the key is in the main one."""
    while path and path not in files:
        path = path[:-1]
    return path or None


def written_path(written: Mapping[KeyPath, KeyPath], path: KeyPath) -> KeyPath:
    """Return the path that a key has in its file, before lists are read and a toolchain chosen."""
    item = nearest_item(written, path)
    return path if item is None else (*written[item], *path[len(item) :])


def _value_at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _follow(
    values: Mapping[KeyPath, _Value], lists: Mapping[KeyPath, Items]
) -> dict[KeyPath, _Value]:
    """Return what is known by path with the paths that items have in their new lists."""
    lengths = {len(at) for at in lists}
    found: dict[KeyPath, _Value] = {}
    of_item: dict[KeyPath, list[tuple[KeyPath, _Value]]] = {}
    for path, value in values.items():
        inside = next((n for n in lengths if len(path) > n and path[:n] in lists), None)
        if inside is None:
            found[path] = value
        else:
            of_item.setdefault(path[: inside + 1], []).append((path[inside + 1 :], value))
    for at, items in lists.items():
        for new, (old, _) in enumerate(items):
            found |= {(*at, new, *rest): value for rest, value in of_item.get((*at, old), ())}
    return found


def parse_document(raw: bytes, *, file: str) -> Document:
    """Read one YAML mapping; ``file`` is what messages call it."""
    if len(raw) > LARGEST_FILE_BYTES:
        raise refusal(file, 0, "a file of more than 1 MiB", "a configuration, which is short")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{raw[error.start]:02x}, which is not UTF-8"
        raise refusal(file, line, found, "text in UTF-8") from None
    expect_merged(text, shown=file)
    reader = NodeReader(file, yaml.parse(text, Loader=yaml.SafeLoader))
    try:
        root = reader.document()
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # An impossible escape such as "\UFFFFFFFF" leaves the parser as a ValueError.
        raise ConfigError([syntax_problem(error, text, file)]) from None
    lines: dict[KeyPath, int] = {(): root.line}
    data = _plain(root, (), lines)
    if data is None:
        raise refusal(file, root.line, EMPTY, MAPPING_EXPECTED)
    if not isinstance(data, dict):
        found = "a list" if isinstance(data, list) else "text without keys"
        raise refusal(file, root.line, found, MAPPING_EXPECTED)
    return Document(
        file=file,
        data=data,
        lines=lines,
        repeated=tuple(reader.repeated),
        sha256=hashlib.sha256(raw).hexdigest(),
    )


def _plain(node: Node, path: KeyPath, lines: dict[KeyPath, int]) -> object:
    """Return a node without its lines, and collect them by path."""
    if isinstance(node.value, list):
        for index, item in enumerate(node.value):
            lines[(*path, index)] = item.line
        return [_plain(item, (*path, index), lines) for index, item in enumerate(node.value)]
    if isinstance(node.value, dict):
        for key, (line, _) in node.value.items():
            lines[(*path, key)] = line
        return {key: _plain(item, (*path, key), lines) for key, (_, item) in node.value.items()}
    return node.value
