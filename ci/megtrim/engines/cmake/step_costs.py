"""What each object of a build cost in earlier builds of the same engine, as Ninja recorded it.

A variant has the same objects as another one, so the log of one serves the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from megtrim.engines.cmake import build_records
from megtrim.engines.cmake.driver import WorkTree
from megtrim.engines.cmake.rebuild_forecast import COMMANDS, LOG, commands, name_object

_FROM_CACHE = 0.2
"""An object that took less than this share of what it should came out of a compiler cache."""


def read_costs(tree: WorkTree, guess: Callable[[str], float | None]) -> Mapping[str, float]:
    """Return the seconds of each object by its name for Ninja; empty: not known.

    ``guess`` returns the cost of one that was not built here.
    """
    if not (tree.build / COMMANDS).is_file():
        return {}
    former: dict[Path, float] = {}
    for log, build in _list_logs(tree):
        text = log.read_text(encoding="utf-8", errors="replace")
        for file, seconds in build_records.parse_durations(text, build).items():
            own = tree.build / file.relative_to(build) if file.is_relative_to(build) else file
            former[own] = max(seconds, former.get(own, 0.0))
    costs: dict[str, float | None] = {}
    for file in build_records.units(commands(tree), tree.build):
        name = name_object(file, tree)
        guessed, measured = guess(name), former.get(file)
        cached = measured is None or measured < _FROM_CACHE * (guessed or 0.0)
        costs[name] = guessed if cached else measured
    known = [each for each in costs.values() if each is not None]
    mean = sum(known) / len(known) if known else 0.0
    return {name: mean if each is None else each for name, each in costs.items()} if mean else {}


def _list_logs(tree: WorkTree) -> Iterator[tuple[Path, Path]]:
    """Yield the logs of the variants that are built next to this one, and their folders."""
    inside = tree.build.relative_to(tree.root)
    kind = tree.root.name.rpartition("-")[0]
    for root in sorted(tree.root.parent.glob(f"{kind}-*")):
        log = root / inside / LOG
        if log.is_file():
            yield log, root / inside
