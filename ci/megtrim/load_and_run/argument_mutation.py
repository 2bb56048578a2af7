"""A scenario's flags with one of them changed, spelled for the program again.

Flags are compared by what they mean: ``--iter=3`` is ``--iter 3``. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from megtrim.load_and_run.arguments import Flag
from megtrim.load_and_run.dialects import Dialect

_OFF = ("false", "0", "no", "n", "f")
"""How gflags spells a switch that is off."""


def render_flags(given: Sequence[Flag], dialect: Dialect) -> tuple[str, ...]:
    """Return the arguments of these flags."""
    words: list[str] = []
    for flag in given:
        shown = "--" + flag.name.replace("_", "-")
        if flag.value is None:
            words.append(shown)
        elif dialect.is_switch(flag.name):
            words.append(f"{shown}={flag.value}")
        else:
            words += [shown, flag.value]
    return tuple(words)


def without(given: Iterable[Flag], *names: str) -> tuple[Flag, ...]:
    """Return the flags but those of these names, whether they are turned on or off."""
    gone = {*names, *(f"no{name}" for name in names)}
    return tuple(flag for flag in given if flag.name not in gone)


def set_flag(given: Sequence[Flag], name: str, value: str | None) -> tuple[Flag, ...]:
    """Return the flags with one set to ``value``, or on where it takes none, behind the others."""
    return (*without(given, name), Flag(name, value))


def is_on(given: Iterable[Flag], name: str, dialect: Dialect) -> bool:
    """Tell whether a switch is on: the last word on it counts."""
    on = False
    for flag in given:
        if flag.name == name:
            on = flag.value is None or flag.value.lower() not in _OFF
        elif flag.name == f"no{name}" and not dialect.literal:
            on = False
    return on
