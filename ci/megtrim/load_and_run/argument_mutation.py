"""Changes one of a scenario's flags, and renders the arguments for the program.

Flags are compared by their meaning: ``--iter=3`` is ``--iter 3``. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from megtrim.load_and_run.arguments import Flag
from megtrim.load_and_run.dialects import Dialect

_OFF = ("false", "0", "no", "n", "f")
"""Values with which gflags turns a switch off."""


def render_flags(flags: Sequence[Flag], dialect: Dialect) -> tuple[str, ...]:
    """Return the arguments of these flags."""
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
    """Return the flags except those of these names, turned on or off."""
    gone = {*names, *(f"no{name}" for name in names)}
    return tuple(flag for flag in flags if flag.name not in gone)


def set_flag(flags: Sequence[Flag], name: str, value: str | None) -> tuple[Flag, ...]:
    """Return the flags with one set to ``value`` after the others; None turns a switch on."""
    return (*without(flags, name), Flag(name, value))


def is_on(flags: Iterable[Flag], name: str, dialect: Dialect) -> bool:
    """Return whether a switch is on: its last occurrence counts."""
    on = False
    for flag in flags:
        if flag.name == name:
            on = flag.value is None or flag.value.lower() not in _OFF
        elif flag.name == f"no{name}" and not dialect.literal:
            on = False
    return on
