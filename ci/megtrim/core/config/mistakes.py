"""A mistake in megtrim.yaml, as a check finds it, and what several checks ask of names."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from megtrim.core.config.document import Document
from megtrim.core.config.problems import KeyPath, closest, listing, show


class Mistake(NamedTuple):
    path: KeyPath
    found: str
    expected: str
    suggestion: str = ""


Mistakes = Iterator[Mistake]
Names = Iterable[tuple[KeyPath, str]]


def names_of(key: str, entries: Sequence[object]) -> Names:
    return [((key, i, "name"), getattr(each, "name", "")) for i, each in enumerate(entries)]


def find_repeated(document: Document, names: Names, expected: str = "each name once") -> Mistakes:
    first: dict[str, KeyPath] = {}
    for path, name in names:
        if name in first:
            there = document.file_of(first[name])
            other = "" if there == document.file_of(path) else f" of {there}"
            line = document.find_mark(first[name]).line
            found = f"{show(name)} a second time (the first is on line {line}{other})"
            yield Mistake(path, found, expected)
        first.setdefault(name, path)


def find_unknown(
    names: Names, known: Iterable[str], *, expected: str = "", none: str = "no such key"
) -> Mistakes:
    choices = list(dict.fromkeys(known))
    what = expected or (listing(choices) if choices else none)
    for path, name in names:
        if name not in choices:
            yield Mistake(path, show(name), what, closest(name, choices))
