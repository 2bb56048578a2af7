"""Reads .gitmodules: each submodule with its line, or an error with the line of what is odd. Pure.

The file is part of a proposed change. Only the form that git itself writes is read: no escapes, no
continued lines, no other sections. What could lead out of the tree, or start a program, is refused
here, whether or not it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from megtrim.util.errors import InputError
from megtrim.util.value import Value

FILE = ".gitmodules"
LARGEST_BYTES = 64 * 1024
MOST_SUBMODULES = 500
_SECTION = re.compile(r'\[submodule "([^"\\\x00-\x1f\x7f]{1,250})"\]')
_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,60})\s*=\s*(.*)")
_PATH = re.compile(r"[A-Za-z0-9._+@ -][A-Za-z0-9._+@ /-]{0,999}", re.ASCII)
_KEYS = ("path", "url", "branch", "shallow", "ignore", "update", "fetchrecursesubmodules")
_UPDATES = ("checkout", "rebase", "merge", "none")
_HINT = "write it as `git submodule add` does"


class Submodule(Value):
    """``place`` is FILE:LINE, for messages."""

    path: PurePosixPath
    url: str
    """As it is written: not checked, and possibly relative to the repository's own."""
    place: str


@dataclass(slots=True)
class _Section:
    name: str
    line: int
    values: dict[str, tuple[str, int]]


def parse_gitmodules(text: str, *, shown: str) -> tuple[Submodule, ...]:
    """Sorted by path. Raises InputError; ``shown`` is the file in messages."""
    sections = _sections(text, shown)
    names = [each.name for each in sections]
    if len(names) > MOST_SUBMODULES:
        msg = f"{shown}: found {len(names)} submodules, expected at most {MOST_SUBMODULES}"
        raise InputError(msg)
    found = [_submodule(each, shown) for each in sections]
    by_path = sorted(found, key=lambda each: each.path.parts)
    for first, second in pairwise(by_path):
        if second.path.is_relative_to(first.path):
            msg = f"{second.place}: found a path within the submodule of {first.place}"
            raise InputError(msg, hint="a submodule has a path of its own")
    return tuple(by_path)


def check_path(text: str) -> str:
    """What is wrong with the path of a submodule; empty for one that stays in its tree."""
    parts = text.split("/")
    if not _PATH.fullmatch(text) or any(not part.strip() for part in parts):
        return "characters that no plain path has"
    if any(part in (".", "..") for part in parts):
        return "a path that leads elsewhere"
    if any(part.lower() == ".git" for part in parts):
        return "a path into a repository's own files"
    if any(part.startswith("-") for part in parts):
        return "a part that begins like an option"
    return ""


def _sections(text: str, shown: str) -> list[_Section]:
    found: list[_Section] = []
    for number, line in _lines(text):
        section = _SECTION.fullmatch(line)
        if section is not None:
            found.append(_section(section[1], number, found, shown))
            continue
        pair = _PAIR.fullmatch(line)
        if pair is None or not found:
            expected = '[submodule "NAME"] or KEY = VALUE'
            raise _make_error(shown, number, line, expected)
        _add(found[-1], pair[1].lower(), pair[2].strip(), number, shown)
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith(("#", ";")):
            yield number, stripped


def _section(name: str, number: int, earlier: list[_Section], shown: str) -> _Section:
    # git keeps a repository below the name of its submodule.
    if name.startswith(("-", "/")) or ".." in name.split("/"):
        raise _make_error(shown, number, name, "a name that is no option and leads nowhere")
    if name in {each.name for each in earlier}:
        raise _make_error(shown, number, name, "each name once")
    return _Section(name, number, {})


def _add(section: _Section, key: str, value: str, number: int, shown: str) -> None:
    if key not in _KEYS:
        raise _make_error(shown, number, key, f"one of {', '.join(_KEYS)}")
    if key in section.values:
        raise _make_error(shown, number, key, "each key once")
    if any(char in value for char in '"\\#;') or not value.isprintable():
        raise _make_error(shown, number, value, "a plain value")
    if key == "update" and value not in _UPDATES:
        raise _make_error(shown, number, f"update = {value}", f"one of {', '.join(_UPDATES)}")
    section.values[key] = (value, number)


def _submodule(section: _Section, shown: str) -> Submodule:
    for key in ("path", "url"):
        if not section.values.get(key, ("", 0))[0]:
            raise _make_error(shown, section.line, f"no {key}", f"a {key} of each submodule")
    (path, line), (url, url_line) = section.values["path"], section.values["url"]
    flaw = check_path(path)
    if flaw:
        raise _make_error(shown, line, path, f"the path of a folder in the tree, not {flaw}")
    return Submodule(path=PurePosixPath(path), url=url, place=f"{shown}:{url_line}")


def _make_error(shown: str, number: int, found: str, expected: str) -> InputError:
    return InputError(f"{shown}:{number}: found {found[:80]!r}, expected {expected}", hint=_HINT)
