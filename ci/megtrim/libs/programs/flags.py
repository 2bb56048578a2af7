"""Flags of a program: which ones it knows, by its dialect, and how they are read and written. Pure.

Flags are parsed as the program itself parses them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

OF_PARSER = frozenset({"help", "helpfull", "helpshort", "version"})
"""Flags of gflags itself. Those that read flags from elsewhere are reserved."""
_OFF = ("0", "f", "false", "n", "no")
"""Values by which gflags turns a switch off."""
_LITERAL = re.compile(r"--[A-Za-z0-9][A-Za-z0-9-]*")
_CLOSE = 0.7
_LONGEST = 60


class Dialect(Value):
    name: str
    literal: bool
    """Whether a flag must be spelt exactly: two dashes, ``-`` in the name, no ``=``."""
    switches: frozenset[str]
    values: frozenset[str]
    """Flags whose value is the next argument, even if it looks like a flag."""
    optional: frozenset[str] = frozenset()
    """Those of ``values`` that do not take an argument which begins with two dashes."""
    dumps_warm_ups: bool = False
    """Whether outputs are dumped after each run, warm-ups included, instead of after the last."""
    closed: bool = True
    other_names: Mapping[str, str] = field(default_factory=dict)

    def knows(self, flag: str) -> bool:
        if self.is_switch(flag) or flag in self.values:
            return True
        return not self.closed and flag not in self.other_names

    def is_switch(self, flag: str) -> bool:
        """In gflags, ``noNAME`` turns one off."""
        turned = flag if self.literal else flag.removeprefix("no")
        return flag in self.switches or turned in self.switches

    def of_tree(self, switches: frozenset[str], values: frozenset[str]) -> Dialect:
        """These lists go first: sources show less clearly whether a flag takes a value."""
        found = switches | values
        plain = (found & self.switches) | (switches - self.values)
        # The program's sources do not name the flags of the parser.
        of_parser = frozenset() if self.literal else OF_PARSER
        return replace(self, switches=plain | of_parser, values=found - plain)


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag; its name has ``_`` instead of ``-``."""

    name: str
    value: str | None


def parse_flags(arguments: Sequence[str], *, dialect: Dialect, source: str) -> tuple[Flag, ...]:
    rest = list(reversed(arguments))
    found = []
    while rest:
        argument = rest.pop()
        name, equals, value = argument.lstrip("-").partition("=")
        dashes = len(argument) - len(argument.lstrip("-"))
        if dashes not in (1, 2) or not name:
            msg = f"{source}: found the argument {argument!r}, expected a flag such as --cpu"
            raise InputError(msg, hint="the key file names the model; values follow flags")
        if dialect.literal:
            _expect_literal(argument, dialect, source)
        found.append(_flag(plain_name(name), value if equals else None, rest, dialect, source))
    return tuple(found)


def _flag(name: str, value: str | None, rest: list[str], dialect: Dialect, source: str) -> Flag:
    if not dialect.knows(name):
        msg = f"{source}: the flag {spell_flag(name)} is unknown to this engine"
        raise InputError(msg, hint=_suggestion(name, dialect))
    if value is not None or dialect.is_switch(name):
        return Flag(name, value)
    if name in dialect.optional and (not rest or rest[-1].startswith("--")):
        return Flag(name, None)
    if not rest:
        msg = f"{source}: the flag {spell_flag(name)} has no value"
        raise InputError(msg, hint="write the value after it as a separate argument")
    return Flag(name, rest.pop())


def _expect_literal(argument: str, dialect: Dialect, source: str) -> None:
    if _LITERAL.fullmatch(argument):
        return
    name, equals, value = argument.lstrip("-").partition("=")
    spelled = spell_flag(plain_name(name)) + (f" and {value}, as two arguments" if equals else "")
    msg = f"{source}: found the argument {argument!r}, which {dialect.name} does not accept"
    raise InputError(msg, hint=f"write it as {spelled}")


def list_names(arguments: Iterable[str]) -> Iterator[str]:
    for argument in arguments:
        if argument.startswith("-"):
            yield plain_name(argument.lstrip("-").partition("=")[0])


def _suggestion(name: str, dialect: Dialect) -> str:
    other = dialect.other_names.get(name)
    if other is not None and dialect.knows(other):
        return f"this engine calls it {spell_flag(other)}"
    every = sorted(dialect.switches | dialect.values)
    close = difflib.get_close_matches(name[:_LONGEST], every, n=1, cutoff=_CLOSE)
    return (
        f"did you mean {spell_flag(close[0])}?" if close else f"it was looked for in {dialect.name}"
    )


def plain_name(name: str) -> str:
    return name.replace("-", "_")


def spell_flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def render_flags(flags: Sequence[Flag], dialect: Dialect) -> tuple[str, ...]:
    words: list[str] = []
    for flag in flags:
        shown = "--" + flag.name.replace("_", "-")
        if flag.value is None:
            words.append(shown)
        elif dialect.is_switch(flag.name):
            words.append(f"{shown}={flag.value}")
        else:
            words += [shown, flag.value]
    return tuple(words)


def without(flags: Iterable[Flag], *names: str) -> tuple[Flag, ...]:
    gone = {*names, *(f"no{name}" for name in names)}
    return tuple(flag for flag in flags if flag.name not in gone)


def set_flag(flags: Sequence[Flag], name: str, value: str | None) -> tuple[Flag, ...]:
    return (*without(flags, name), Flag(name, value))


def is_on(flags: Iterable[Flag], name: str, dialect: Dialect) -> bool:
    on = False
    for flag in flags:
        if flag.name == name:
            on = flag.value is None or flag.value.lower() not in _OFF
        elif flag.name == f"no{name}" and not dialect.literal:
            on = False
    return on
