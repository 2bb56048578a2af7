"""Adds an item to a list of a YAML file, and leaves every other byte. Pure.

Only lists that are written with one dash a line can grow so; for others the lines are returned in
the error, to be added by hand.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import yaml

from megtrim.config.document import parse_document
from megtrim.config.problems import KeyPath
from megtrim.util.errors import InputError
from megtrim.util.strict_json import show_path

_WIDEST = 1000


def append_item(raw: bytes, path: KeyPath, item: Mapping[str, object], *, file: str) -> bytes:
    """Return the document with ``item`` at the end of the list at ``path``.

    Raises InputError where that cannot be done without touching other lines.
    """
    document = parse_document(raw, file=file)
    text = raw.decode()
    place = _find(yaml.compose(text, Loader=yaml.SafeLoader), path)
    if not isinstance(place, yaml.SequenceNode) or place.flow_style or not place.value:
        raise _make_error(file, path, item)
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    last = _last_line(place)
    if not lines[last].endswith("\n"):
        lines[last] += newline
    indent = " " * place.start_mark.column
    added = [f"{indent}{line}{newline}" for line in render_item(item).splitlines()]
    edited = "".join((*lines[: last + 1], *added, *lines[last + 1 :])).encode()
    expected: Any = copy.deepcopy(document.data)
    grown = expected
    for key in path:
        grown = grown[key]
    grown.append(dict(item))
    if _read(edited, file) != expected:
        # An anchor that is used elsewhere, for example.
        raise _make_error(file, path, item)
    return edited


def _read(raw: bytes, file: str) -> object:
    try:
        return parse_document(raw, file=file).data
    except InputError:
        return None


def render_item(item: Mapping[str, object]) -> str:
    return _render([item])


def render_document(item: Mapping[str, object]) -> str:
    return _render(item)


def _render(value: object) -> str:
    plain = json.loads(json.dumps(value))  # without anchors, which equal parts would have
    return yaml.safe_dump(
        plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDEST
    )


def _find(node: yaml.Node | None, path: KeyPath) -> yaml.Node | None:
    for key in path:
        if isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
        else:
            return None
    return node


def _last_line(node: yaml.Node) -> int:
    """Return the last line of a value; that of a block ends before what follows it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    end = node.end_mark
    return int(end.line - 1 if end.column == 0 and end.line > node.start_mark.line else end.line)


def _make_error(file: str, path: KeyPath, item: Mapping[str, object]) -> InputError:
    msg = f"{file}: {show_path(path)} is not a list with one dash a line that can be added to"
    return InputError(msg, hint=f"add this by hand:\n{render_item(item)}")
