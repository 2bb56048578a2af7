"""A plant: one small defect that someone could make, as a replacement of one piece of text.

Plants lie in ``rooms/ROOM.toml``, one table for each:

    [the-name-of-the-plant]
    defect = "What is wrong with the code then, in one sentence."
    file = "ci/megtrim/ROOM/MODULE.py"
    old = "text that stands there exactly once"
    new = "text that takes its place"
    tests = ["tests/unit/ROOM/test_MODULE.py::test_that_should_notice"]
"""

import importlib.util
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = Path(__file__).resolve().parent / "rooms"


class Misfit(Exception):
    """Why a plant cannot be planted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """One defect. Paths are relative to the top folder; ``tests`` are what pytest takes."""

    name: str
    """``ROOM/NAME``."""
    defect: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def load_plants(folder: Path = ROOMS) -> tuple[Plant, ...]:
    plants = [
        Plant(name=f"{path.stem}/{name}", tests=tuple(row.pop("tests")), **row)
        for path in folder.glob("*.toml")
        for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items()
    ]
    return tuple(sorted(plants, key=lambda plant: plant.name))


def select(plants: Sequence[Plant], names: Sequence[str]) -> tuple[Plant, ...]:
    """Return the plants of these rooms or names, all of them without any.

    Raises KeyError with a name that no plant has.
    """
    for name in names:
        if not any(_is_called(plant, name) for plant in plants):
            raise KeyError(name)
    return tuple(
        plant for plant in plants if not names or any(_is_called(plant, each) for each in names)
    )


def _is_called(plant: Plant, name: str) -> bool:
    return name in (plant.name, plant.name.partition("/")[0])


@contextmanager
def planted(plant: Plant, tree: Path) -> Iterator[None]:
    """Have the defect in the tree until the block is left. Raises Misfit, and changes nothing."""
    path = tree / plant.file
    sound = path.read_bytes() if path.is_file() else b""
    wrong = replace_once(plant, sound.decode())
    try:
        _write(path, wrong.encode())
        yield
    finally:
        _write(path, sound)


def replace_once(plant: Plant, text: str) -> str:
    """Return the text of a plant's file with the defect. Raises Misfit where it does not apply."""
    count = text.count(plant.old)
    if count != 1:
        msg = f"{plant.file}: found the old text {count} times, expected it once"
        raise Misfit(msg)
    if plant.old == plant.new:
        msg = f"{plant.file}: the new text is the old one"
        raise Misfit(msg)
    wrong = text.replace(plant.old, plant.new)
    if plant.file.endswith(".py"):
        try:
            compile(wrong, plant.file, "exec", dont_inherit=True)
        except SyntaxError as error:
            msg = f"{plant.file}: no Python any more: line {error.lineno}: {error.msg}"
            raise Misfit(msg) from None
    return wrong


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    # Python takes compiled code to be current by size and whole seconds.
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
