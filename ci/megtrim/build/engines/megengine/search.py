"""Finds checkouts of MegEngine near a folder, by the files that only they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from megtrim.build.engines.megengine.generations import GENERATIONS

_LEVELS = 3
"""Folders, from the given one upwards, whose subfolders are looked at."""
_VENDORED = ("third_party", "3rdparty", "external", "deps")
"""Subfolders in which projects keep what they are built from."""


def is_checkout(folder: Path) -> bool:
    """Return whether a folder has the files of one of the engine's generations."""
    return any(all((folder / sign).is_file() for sign in each.signs) for each in GENERATIONS)


def find_checkouts(folder: Path) -> tuple[Path, ...]:
    """Return the nearest checkouts: the one that ``folder`` is in, else those in or next to it.

    More than one, if they are equally near.
    """
    upwards = (folder, *folder.parents)
    around = next((each for each in upwards if is_checkout(each)), None)
    if around is not None:
        return (around,)
    for each in upwards[:_LEVELS]:
        found = tuple(sorted(inner for inner in _list_subfolders(each) if is_checkout(inner)))
        if found:
            return found
    return ()


def _list_subfolders(folder: Path) -> Iterator[Path]:
    for each in (folder, *(folder / name for name in _VENDORED)):
        with suppress(OSError):  # one that may not be read holds no checkout for us
            yield from (inner for inner in each.iterdir() if inner.is_dir())
