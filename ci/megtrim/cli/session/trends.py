"""What sizes are held against: a baseline, and the history whose trend reports show."""

from __future__ import annotations

from dataclasses import replace

from megtrim.build_spec import Origin, Variant
from megtrim.checks.invocation import Options
from megtrim.cli.environment import read_now
from megtrim.history.folder import read_folder
from megtrim.size.history import SIZE_FILES, SizeTrend, make_trends
from megtrim.util.console import Console

_SHOWN = (str(Variant.PLAIN), str(Variant.REDUCED))
MOST_POINTS = 200
"""The newest commits of a trend that reports get: a verdict must not grow with its history."""


def read_trends(options: Options, origin: Origin, console: Console) -> tuple[SizeTrend, ...]:
    """Return how the sizes of a configuration changed; nothing if the history has none.

    Outside of a repository its path there is not known: a history of one configuration is then its
    own. Quick trims have trends of their own. A damaged file is a warning, and costs itself alone.
    Raises InputError if there is no such folder.
    """
    folder, quick = options.history, options.quick
    if folder is None:
        return ()
    found = read_folder(folder, SIZE_FILES).until(read_now())
    for each in found.unreadable:
        console.warn(f"left out: {each.message}")
    config = origin.config if origin.commit else ""
    known = {each.config for each in found.entries}
    wanted = config or (next(iter(known)) if len(known) == 1 else "")
    entries = [each for each in found.entries if (each.config, each.quick) == (wanted, quick)]
    if not entries:
        of = f"quick trims of {config}" if quick else config or "this configuration"
        console.warn(f"{folder}: found no sizes of {of}, so reports show no trend")
    return tuple(
        replace(each, points=each.points[-MOST_POINTS:])
        for each in make_trends(entries)
        if each.variant in _SHOWN
    )
