"""YAML's events as nodes with lines: the strict part of reading, which refuses bombs.

Pure. No tags, bounded depth, bounded aliases, plain text as keys. Numbers are what they look
like (decimal), only ``true`` and ``false`` are booleans, and dates stay text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from megtrim.config.yaml.problems import ConfigError, KeyPath, Problem
from megtrim.strict_json import show_path

DEEPEST = 24
MOST_VALUES = 20_000
"""Values that a document may hold; an alias counts as all the values that it refers to."""

EMPTY = "an empty file"
MAPPING_EXPECTED = "a mapping: version, engine, models"

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


@dataclass(slots=True)
class Node:
    """A value of the file. ``size`` counts the values in it, itself included."""

    line: int
    value: object
    """A scalar, a list of nodes, or a mapping's :data:`Entries`."""
    size: int = 1


Entries = dict[str, tuple[int, Node]]
"""Key: (line of the key, value)."""


def refusal(file: str, line: int, found: str, expected: str) -> ConfigError:
    """Return the error of a file that cannot be read any further."""
    return ConfigError([Problem(file=file, line=line, key="", found=found, expected=expected)])


@dataclass(slots=True)
class NodeReader:
    """Builds the nodes of one document. Recursion is safe because the depth is bounded."""

    file: str
    events: Iterator[yaml.Event]
    repeated: list[Problem] = field(default_factory=list)
    """Keys that a mapping holds twice."""
    anchors: dict[str, Node] = field(default_factory=dict)
    values: int = 0

    def document(self) -> Node:
        """Return the only document's node."""
        next(self.events)
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise refusal(self.file, 1, EMPTY, MAPPING_EXPECTED)
        node = self._node(next(self.events), ())
        next(self.events)
        end = next(self.events)
        if not isinstance(end, yaml.StreamEndEvent):
            raise refusal(self.file, _line(end), "a second document ('---')", "one document")
        return node

    def _node(self, event: yaml.Event, path: KeyPath) -> Node:
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor), line)
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        if event.tag is not None:
            raise refusal(self.file, line, f"the tag {event.tag[:60]!r}", "values without tags")
        if len(path) > DEEPEST:
            raise refusal(self.file, line, "lists or mappings nested too deep", "fewer levels")
        before = self.values
        self._count(1, line)
        node = Node(line, None)
        if isinstance(event, yaml.ScalarEvent):
            node.value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node.value = self._sequence(path)
        else:
            node.value = self._mapping(path)
        node.size = self.values - before
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _count(self, values: int, line: int) -> None:
        self.values += values
        if self.values > MOST_VALUES:
            found = f"more than {MOST_VALUES} values, aliases counted"
            raise refusal(self.file, line, found, "a configuration, which is short")

    def _alias(self, name: str, line: int) -> Node:
        node = self.anchors.get(name)
        if node is None:
            raise refusal(self.file, line, f"the alias *{name[:40]}", f"&{name[:40]} before it")
        self._count(node.size, line)
        return node

    def _text(self, event: yaml.ScalarEvent) -> str:
        text: str = event.value
        if _CONTROL.search(text):
            found = f"a control character in {text[:40]!r}"
            raise refusal(self.file, _line(event), found, "plain text")
        return text

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        text = self._text(event)
        if event.style is not None:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def _sequence(self, path: KeyPath) -> list[Node]:
        items: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: KeyPath) -> Entries:
        entries: Entries = {}
        merged: Entries = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            line = _line(event)
            if not isinstance(event, yaml.ScalarEvent) or event.tag is not None:
                raise refusal(self.file, line, "a key that is not plain text", "key: value")
            key = self._text(event)
            value = self._node(next(self.events), (*path, key))
            if key == "<<" and event.style is None:
                merged = self._merge(value, line) | merged
            elif key in entries:
                self._repeat((*path, key), line, entries[key][0])
            else:
                entries[key] = (line, value)
        return merged | entries

    def _repeat(self, path: KeyPath, line: int, first: int) -> None:
        found = f"this key a second time (the first is on line {first})"
        key = show_path(path)
        self.repeated.append(
            Problem(file=self.file, line=line, key=key, found=found, expected="each key once")
        )

    def _merge(self, value: Node, line: int) -> Entries:
        """Return the entries that ``<<`` adds: of several mappings, the first one counts."""
        sources = value.value if isinstance(value.value, list) else [value]
        merged: Entries = {}
        for source in sources:
            if not isinstance(source.value, dict):
                found = "'<<' with something else than a mapping"
                raise refusal(self.file, line, found, "'<<: *alias' of a mapping")
            merged = source.value | merged
        return merged


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return mark.line + 1 if mark else 0
