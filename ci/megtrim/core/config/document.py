"""YAML as plain data with the line of every key: the only reader of the format.

No tags, bounded depth, bounded aliases, plain text as keys. Numbers are what they look like
(decimal), only ``true`` and ``false`` are booleans, and dates stay text.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import yaml

from megtrim.core.config.problems import ConfigError, KeyPath, Problem
from megtrim.libs.util.input_files import expect_merged
from megtrim.libs.util.strict_json import show_path
from megtrim.libs.util.value import Value

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
        "a ':' where there cannot be a key",
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
        "a '-' where there cannot be a list",
        "'- ' at the start of its own line",
    ),
    (r"found undefined alias '([^']{1,40})", "the alias *{0}", "&{0} before it"),
    (r"second occurrence", "an anchor (&) with the name of another", "a name of its own"),
    (r"but found another document", "a second document ('---')", "one document"),
)
"""What PyYAML says, and in words for people who edit megtrim.yaml: what was found and expected."""


class SourceMark(Value):
    """Where something is written."""

    file: str
    """Relative to the folder of megtrim.yaml; empty: megtrim.yaml itself."""
    line: int
    path: KeyPath


class MarkedDict(dict[str, Any]):
    def __init__(self, values: Mapping[str, object], marks: Mapping[str, SourceMark]) -> None:
        super().__init__(values)
        self.marks = dict(marks)

    def replace(
        self, values: Mapping[str, object], marks: Mapping[str, SourceMark] | None = None
    ) -> MarkedDict:
        return MarkedDict({**self, **values}, {**self.marks, **(marks or {})})

    def replace_items(self, key: str, make: Callable[[Any], Iterable[object]]) -> MarkedDict:
        """Return it with what ``make`` makes of each item of a list, in that item's place."""
        items = self.get(key)
        return self.replace({key: items.remake(make)}) if isinstance(items, MarkedList) else self


class MarkedList(list[Any]):
    def __init__(self, values: Iterable[object], marks: Iterable[SourceMark]) -> None:
        super().__init__(values)
        self.marks = list(marks)

    def remake(self, make: Callable[[Any], Iterable[object]]) -> MarkedList:
        made = [(new, m) for old, m in zip(self, self.marks, strict=True) for new in make(old)]
        return MarkedList((new for new, _ in made), (mark for _, mark in made))


class Document(Value):
    file: str
    data: MarkedDict
    root: SourceMark
    repeated: tuple[Problem, ...]
    sha256: str
    """Of the bytes of the file, or of all files."""
    patterns: tuple[str, ...] = ()
    """Of the files that hold models and scenarios."""

    def value(self, path: KeyPath) -> object:
        value: Any = self.data
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return None
        return value

    def find_mark(self, path: KeyPath) -> SourceMark:
        mark, written = self._walk(path)
        return replace(mark, path=(*mark.path, *path[written:]))

    def nearest(self, path: KeyPath) -> KeyPath:
        return path[: self._walk(path)[1]]

    def _walk(self, path: KeyPath) -> tuple[SourceMark, int]:
        value: Any = self.data
        mark = self.root
        for at, part in enumerate(path):
            marks = getattr(value, "marks", {})
            known = marks if isinstance(marks, dict) else range(len(marks))
            if part not in known:
                return mark, at
            mark = marks[part]
            value = value[part]
        return mark, len(path)

    def file_of(self, path: KeyPath) -> str:
        return self.show_file(self.find_mark(path).file)

    def show_file(self, name: str) -> str:
        return posixpath.normpath(PurePath(self.file).parent / name) if name else self.file

    def problem(self, path: KeyPath, found: str, expected: str, suggestion: str = "") -> Problem:
        mark = self.find_mark(path)
        return Problem(
            file=self.show_file(mark.file),
            line=mark.line,
            key=show_path(mark.path),
            found=found,
            expected=expected,
            suggestion=suggestion,
        )


class _Refusal(Exception):
    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(line, found, expected)
        self.line = line
        self.found = found
        self.expected = expected


def parse_document(raw: bytes, *, file: str, place: SourceMark | None = None) -> Document:
    """Read one YAML mapping; ``file`` is what messages call it, ``place`` where it is an item."""
    try:
        return _parse(raw, file, place or SourceMark(file="", line=0, path=()))
    except _Refusal as error:
        problem = Problem(
            file=file, line=error.line, key="", found=error.found, expected=error.expected
        )
        raise ConfigError([problem]) from None


def _parse(raw: bytes, file: str, place: SourceMark) -> Document:
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
    reader = _Reader(file, place)
    data = reader.read(root, ())
    if data is None:
        raise _Refusal(_line(root), "an empty file", _MAPPING_EXPECTED)
    if not isinstance(data, MarkedDict):
        found = "a list" if isinstance(data, list) else "text without keys"
        raise _Refusal(_line(root), found, _MAPPING_EXPECTED)
    return Document(
        file=file,
        data=data,
        root=reader.mark(root, ()),
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
        raise _Refusal(
            line, "a character that does not belong in a text file", "plain text"
        ) from None


class _Reader:
    def __init__(self, file: str, place: SourceMark) -> None:
        self.repeated: dict[yaml.Node, Problem] = {}
        self._file = file
        self._place = place
        self._values = 0

    def mark(self, node: yaml.Node, path: KeyPath) -> SourceMark:
        start = self._place.path
        return replace(self._place, line=_line(node), path=(*start, *path))

    def read(self, node: yaml.Node, path: KeyPath) -> object:
        """Return the value of a node. An alias is read as often as it stands there."""
        self._count(node, path)
        if isinstance(node, yaml.SequenceNode):
            items = list(enumerate(node.value))
            values = [self.read(item, (*path, index)) for index, item in items]
            marks = [self.mark(item, (*path, index)) for index, item in items]
            return MarkedList(values, marks)
        if isinstance(node, yaml.MappingNode):
            entries = self._entries(node, path)
            by_key = {key: self.read(value, (*path, key)) for key, (_, value) in entries.items()}
            key_marks = {key: self.mark(name, (*path, key)) for key, (name, _) in entries.items()}
            return MarkedDict(by_key, key_marks)
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

    def _entries(self, mapping: yaml.Node, path: KeyPath) -> dict[str, tuple[yaml.Node, yaml.Node]]:
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
