"""``--fitting``, the engine's own search for flags: what it chose, by its log. Pure."""

from __future__ import annotations

import re

from megtrim.load_and_run.arguments import Flag

FITTING = "fitting"
"""The flag, and the name of its choice among the contestants."""
_CHOICE = re.compile(r"^the best options:\n((?:--[^\n]*\n?)+)", re.MULTILINE)
_OPTION = re.compile(r'--(?P<name>[a-z][a-z0-9_]{0,60})=(?P<value>[A-Za-z0-9_."-]{0,60})', re.ASCII)
_MOST_OPTIONS = 40


def parse_choice(log: str) -> tuple[Flag, ...] | None:
    """Return the flags that it calls the best; None if the log does not name any."""
    found = _CHOICE.search(log)
    if found is None:
        return None
    lines = found[1].split("\n")[:-1] if found[1].endswith("\n") else found[1].split("\n")
    options = [_OPTION.fullmatch(line) for line in lines]
    if len(options) > _MOST_OPTIONS or None in options:
        return None
    return tuple(
        Flag(option["name"], option["value"].strip('"')) for option in options if option is not None
    )
