"""Parses CMake's language as far as needed to find a tree's options. Pure text.

The text is untrusted: any text is parsed in linear time, and whatever is not CMake yields nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_SIMPLE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*"?|[()]|(?:[^\s()#"\\]++|\\.?)+', re.DOTALL)
_BRACKET = re.compile(r"\[(=*)\[")
_SPACE = re.compile(r"\s++")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_REFERENCE = re.compile(r"\$(?:CACHE)?\{([A-Za-z_][A-Za-z0-9_]{0,199})\}")

_OPENING = frozenset({"if", "foreach", "while", "function", "macro", "block"})
_CLOSING = frozenset({f"end{name}" for name in _OPENING})
_ASKING = frozenset({"if", "elseif", "while"})
_FINDING = frozenset({"find_program", "find_path", "find_file", "find_library"})


@dataclass(frozen=True, slots=True)
class CMakeCommand:
    """One command: its name in lower case, its arguments, its first line."""

    name: str
    arguments: tuple[str, ...]
    """Without quotes."""
    line: int


@dataclass(slots=True)
class CMakeVariables:
    """The variables of one file that a user may set."""

    declared: dict[str, int] = field(default_factory=dict)
    """Cache entries and the line of the first declaration."""
    read: set[str] = field(default_factory=set)
    """Variables whose value is read."""
    overwritten: set[str] = field(default_factory=set)
    """Variables that the file sets, overriding the user's value."""
    packages: set[str] = field(default_factory=set)
    """Packages that the file looks for."""

    @property
    def effective(self) -> set[str]:
        """Variables that have an effect if the user sets them, declared or not."""
        return self.read - self.overwritten


def names(text: str) -> CMakeVariables:
    """Return the variables of a CMake file."""
    found = CMakeVariables()
    depth = 0
    for call in calls(text):
        depth = max(0, depth + (call.name in _OPENING) - (call.name in _CLOSING))
        for argument in call.arguments:
            found.read.update(_REFERENCE.findall(argument))
        if call.name in _ASKING:
            found.read.update(word for word in call.arguments if _NAME.fullmatch(word))
        if call.name == "find_package" and call.arguments:
            found.packages.add(call.arguments[0])
        for name in _iter_cache_entries(call):
            found.declared.setdefault(name, call.line)
        if call.name == "set" and depth == 0 and call.arguments:
            found.overwritten.add(call.arguments[0])
    return found


def _iter_cache_entries(call: CMakeCommand) -> Iterator[str]:
    """Yield the cache entries that a command makes."""
    first = call.arguments[:1]
    match call.name:
        case "option" | "cmake_dependent_option":
            candidates = first
        case "set":
            candidates = first if "CACHE" in call.arguments[1:] else ()
        case name if name in _FINDING:
            candidates = first
        case name if name.startswith("check_"):
            candidates = call.arguments[1:]
        case _:
            candidates = ()
    yield from (name for name in candidates if _NAME.fullmatch(name))


def calls(text: str) -> Iterator[CMakeCommand]:
    """Yield the commands of a CMake file in order, without a truncated last one."""
    before, arguments, depth, begun, line, at = "", list[str](), 0, 0, 1, 0
    for start, word in _words(text):
        line += text.count("\n", at, start)
        at = start
        if word == "(":
            depth += 1
            if depth == 1:
                arguments, begun = [], line
        elif word == ")":
            depth -= 1
            if depth == 0 and _NAME.fullmatch(before):
                yield CMakeCommand(before.lower(), tuple(arguments), begun)
            if depth <= 0:
                before, depth = "", 0  # skip a parenthesis that closes nothing
        elif depth:
            arguments.append(word[1:].removesuffix('"') if word.startswith('"') else word)
        else:
            before = word


def _words(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of words, quoted texts, parentheses, and whole bracket arguments."""
    at = 0
    while at < len(text):
        space = _SPACE.match(text, at)
        if space:
            at = space.end()
            continue
        comment = text[at] == "#"
        bracket = _BRACKET.match(text, at + comment)
        if bracket:
            end = text.find(f"]{bracket[1]}]", bracket.end())
            if end < 0:
                return
            if not comment:
                yield at, text[bracket.end() : end]
            at = end + len(bracket[1]) + 2
        elif comment:
            at = text.find("\n", at)
            if at < 0:
                return
        else:
            simple = _SIMPLE.match(text, at)
            if simple is None:  # impossible: every other character begins a word
                return
            yield at, simple[0]
            at = simple.end()
