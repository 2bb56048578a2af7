"""YAML as plain data with the line of every key: the only reader of the format.

Pure: bytes in, a :class:`Document` out. What is not text, not YAML or not a mapping is one
:class:`~megtrim.config.problems.ConfigError` with its line. No tags, bounded depth, bounded
aliases, plain text as keys. Numbers are what they look like (decimal), only ``true`` and ``false``
are booleans, and dates stay text.
"""

from __future__ import annotations

import copy
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import PurePath
from typing import Any, TypeVar

import yaml

from megtrim.config.problems import ConfigError, KeyPath, Problem
from megtrim.util.input_files import expect_merged
from megtrim.util.strict_json import show_path
from megtrim.util.value import Value

Section = Mapping[str, object]
Placed = tuple[KeyPath, object]


def items(data: Section, key: str, path: KeyPath = ()) -> Iterator[Placed]:
    """Yield what the list at ``key`` holds, each with its path; nothing if it is not a list."""
    value = data.get(key)
    for index, item in enumerate(value if isinstance(value, list) else []):
        yield (*path, key, index), item


def sections(data: Section, key: str, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Section]]:
    for item_path, item in items(data, key, path):
        if isinstance(item, dict):
            yield item_path, item


def scenario_names(data: Section) -> list[str]:
    return [
        f"{model.get('name')}/{scenario.get('name')}"
        for path, model in sections(data, "models")
        for _, scenario in sections(model, "scenarios", path)
    ]


def class_names(data: Section) -> list[str]:
    return [str(each.get("name")) for _, each in sections(data, "classes")]


LARGEST_FILE_BYTES = 1024 * 1024
DEEPEST = 24
MOST_VALUES = 20_000
"""Values that a document may hold; an alias counts as all the values that it refers to."""

_MAPPING_EXPECTED = "a mapping: version, engine, models"
_MERGE = "<<"
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?[0-9]{1,18}\.[0-9]{0,18}([eE][-+]?[0-9]{1,2})?")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_WORDS: Mapping[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "false": False,
}
_SYNTAX = (
    (r"found character '\\t'", "a tab", "spaces, which YAML indents with"),
    (
        r"found character '(.+)' that cannot start",
        "text that starts with {0}",
        "quotes around such text",
    ),
    (
        r"mapping values are not allowed",
        "a ':' where no key can stand",
        "one 'key: value' in a line, and quotes around text with ': ' in it",
    ),
    (r"could not find expected ':'", "a line that is not 'key: value'", "'key: value'"),
    (
        r"expected <block end>",
        "a line that is not at the column of its neighbours",
        "entries of one list or mapping at the same column",
    ),
    (
        r"expected '<document start>'",
        "text after the end of the mapping",
        "every key at the same column",
    ),
    (r"expected ',' or '(.)'", "a list or mapping that is not closed", "',' or '{0}'"),
    (r"unexpected end of stream", "a quote that is not closed", "the same quote at the end"),
    (r"found unknown escape character", "an unknown escape in double quotes", "single quotes"),
    (
        r"sequence entries are not allowed",
        "a '-' where no list can stand",
        "'- ' at the start of its own line",
    ),
    (r"found undefined alias '([^']{1,40})", "the alias *{0}", "&{0} before it"),
    (r"second occurrence", "an anchor (&) with the name of another", "a name of its own"),
    (r"but found another document", "a second document ('---')", "one document"),
)
"""What PyYAML says, and in words for people who edit megtrim.yaml: what was found and expected."""

Items = Sequence[tuple[int, Any]]
"""The new items of a list, each with the index of the one that it was or is made of."""

_Value = TypeVar("_Value")


class Document(Value):
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

    def value(self, path: KeyPath) -> object:
        """Return what is written at a path; None if nothing is."""
        value: Any = self.data
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return None
        return value

    def nearest(self, path: KeyPath) -> KeyPath:
        """Return a path, or that of what is around it if nothing is written there."""
        while path not in self.lines:
            path = path[:-1]
        return path

    def problem(self, path: KeyPath, found: str, expected: str, suggestion: str = "") -> Problem:
        return Problem(
            file=self.file_of(path),
            line=self.lines[self.nearest(path)],
            key=show_path(written_path(self.written, path)),
            found=found,
            expected=expected,
            suggestion=suggestion,
        )


def nearest_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
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


class _Refusal(Exception):
    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(line, found, expected)
        self.line, self.found, self.expected = line, found, expected


def parse_document(raw: bytes, *, file: str) -> Document:
    try:
        return _parse(raw, file)
    except _Refusal as error:
        problem = Problem(
            file=file, line=error.line, key="", found=error.found, expected=error.expected
        )
        raise ConfigError([problem]) from None


def _parse(raw: bytes, file: str) -> Document:
    if len(raw) > LARGEST_FILE_BYTES:
        raise _Refusal(0, "a file of more than 1 MiB", "a configuration, which is short")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{raw[error.start]:02x}, which is not UTF-8"
        raise _Refusal(line, found, "text in UTF-8") from None
    expect_merged(text, shown=file)
    root = _compose(text)
    if root is None:
        raise _Refusal(1, "an empty file", _MAPPING_EXPECTED)
    reader = _Reader(file)
    data = reader.read(root, ())
    if data is None:
        raise _Refusal(_line(root), "an empty file", _MAPPING_EXPECTED)
    if not isinstance(data, dict):
        found = "a list" if isinstance(data, list) else "text without keys"
        raise _Refusal(_line(root), found, _MAPPING_EXPECTED)
    return Document(
        file=file,
        data=data,
        lines={(): _line(root), **reader.lines},
        repeated=tuple(reader.repeated.values()),
        sha256=hashlib.sha256(raw).hexdigest(),
    )


class _Loader(yaml.BaseLoader):
    """Composes nodes, and stops at what would be large or deep, or carries a tag."""

    depth = 0
    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        parser: Any = self  # whose methods have no types
        event: yaml.Event = parser.peek_event()
        line = _line(event)
        if (tag := getattr(event, "tag", None)) is not None:
            raise _Refusal(line, f"the tag {tag[:60]!r}", "values without tags")
        self.nodes += 1
        _expect_few(self.nodes // 2, line)  # keys are nodes, too
        if self.depth > DEEPEST:
            raise _Refusal(line, "lists or mappings nested too deep", "fewer levels")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _compose(text: str) -> yaml.Node | None:
    try:
        return _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or ""
        for pattern, found, expected in _SYNTAX:
            if match := re.search(pattern, problem):
                words = found.format(*match.groups()), expected.format(*match.groups())
                break
        else:
            words = f"something that is not YAML ({problem[:100]})", "YAML"
        raise _Refusal(mark.line + 1 if mark else 0, *words) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # An impossible escape such as "\UFFFFFFFF" leaves the parser as a ValueError.
        position = error.position if isinstance(error, yaml.reader.ReaderError) else None
        line = 0 if position is None else text.count("\n", 0, position) + 1
        raise _Refusal(line, "a character that no text file holds", "plain text") from None


class _Reader:
    """Turns nodes into plain data, and collects the lines of keys and items by path."""

    def __init__(self, file: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.repeated: dict[yaml.Node, Problem] = {}
        self._file = file
        self._values = 0

    def read(self, node: yaml.Node, path: KeyPath) -> object:
        """Return the value of a node. An alias is read as often as it stands there."""
        self._count(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            entries = self._entries(node, path)
            self.lines |= {(*path, key): _line(name) for key, (name, _) in entries.items()}
            return {key: self.read(value, (*path, key)) for key, (_, value) in entries.items()}
        return _read_scalar(node)

    def _note_repeated(self, name: yaml.Node, path: KeyPath, first: int) -> None:
        problem = Problem(
            file=self._file,
            line=_line(name),
            key=show_path(path),
            found=f"this key a second time (the first is on line {first})",
            expected="each key once",
        )
        self.repeated.setdefault(name, problem)  # an alias reads it again

    def _count(self, node: yaml.Node, path: KeyPath) -> None:
        self._values += 1
        _expect_few(self._values, _line(node))
        if len(path) > DEEPEST:  # an alias of what is around it has no end
            raise _Refusal(_line(node), "lists or mappings nested too deep", "fewer levels")

    def _item(self, node: yaml.Node, path: KeyPath) -> object:
        self.lines[path] = _line(node)
        return self.read(node, path)

    def _entries(self, mapping: yaml.Node, path: KeyPath) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the nodes of a mapping's keys and values; its own win over merged ones."""
        entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for name, value in mapping.value:
            if not isinstance(name, yaml.ScalarNode):
                raise _Refusal(_line(name), "a key that is not plain text", "key: value")
            key = _read_text(name)
            if key == _MERGE and name.style is None:
                for source in _list_merged(name, value):
                    self._count(source, (*path, key))
                    merged = self._entries(source, (*path, key)) | merged
            elif key in entries:
                self._note_repeated(name, (*path, key), _line(entries[key][0]))
            else:
                entries[key] = (name, value)
        return merged | entries


def _list_merged(name: yaml.Node, value: yaml.Node) -> Iterator[yaml.Node]:
    sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
    for source in sources:
        if not isinstance(source, yaml.MappingNode):
            found = "'<<' with something else than a mapping"
            raise _Refusal(_line(name), found, "'<<: *alias' of a mapping")
        yield source


def _expect_few(values: int, line: int) -> None:
    if values > MOST_VALUES:
        found = f"more than {MOST_VALUES} values, aliases counted"
        raise _Refusal(line, found, "a configuration, which is short")


def _read_scalar(node: yaml.Node) -> object:
    text = _read_text(node)
    if not isinstance(node, yaml.ScalarNode) or node.style is not None:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _read_text(node: yaml.Node) -> str:
    text = str(node.value)
    if _CONTROL.search(text):
        raise _Refusal(_line(node), f"a control character in {text[:40]!r}", "plain text")
    return text


def _line(place: yaml.Node | yaml.Event) -> int:
    mark = place.start_mark
    return mark.line + 1 if mark else 0
