"""What is nearly free to keep: what a few bytes more would buy back.

What a function needs that was left out comes with it: other functions, which would be traps, and
data. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from megtrim.size.references.graph import Numbers
from megtrim.size.references.left_out import TrimmedGraph
from megtrim.size.references.reference_index import ReferenceIndex

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A function that could stay, and what it takes."""

    part: int
    size_bytes: int
    """Of the function and of all that it refers to, directly or not, and that went."""
    needed: tuple[int, ...]
    """These parts, the function first."""
    callers: tuple[int, ...]
    """Parts that stay and refer to it."""
    wanted_by: tuple[str, ...] = ()
    """What is known to need it: neighbours of scenarios, which ended in its trap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A function that something ended without."""

    name: str
    """Linkage name."""
    by: str


def find_additions(
    trimmed: TrimmedGraph, within_bytes: int, wishes: Iterable[Wish] = ()
) -> Iterator[Addition]:
    """Yield what could stay in addition, best first, within so many bytes altogether.

    What is known to be needed comes first, then what most parts that stay refer to, then the
    cheapest. Each takes what those before it do not take already. Only functions that something
    that stays refers to count: no other would run.
    """
    by_part: dict[int, list[str]] = {}
    for wish in wishes:
        for number in trimmed.base.find([wish.name]):
            by_part.setdefault(number, []).append(wish.by)
    index = ReferenceIndex(trimmed.base)
    candidates = []
    for number in np.flatnonzero(trimmed.emptied & trimmed.left_out).tolist():
        callers = [each for each in index.referrers(number) if trimmed.kept[each]]
        needed = index.closure([number], trimmed.kept, within_bytes) if callers else None
        if needed is not None:
            size_bytes = int(trimmed.base.sizes[needed].sum())
            rank = (-len(by_part.get(number, ())), -len(callers), size_bytes, number)
            candidates.append(Candidate((number, callers), rank, needed))
    for chosen in take_best(candidates, trimmed.base.sizes, within_bytes):
        number, callers = chosen.subject
        yield Addition(
            part=number,
            size_bytes=chosen.size_bytes,
            needed=chosen.needed,
            callers=tuple(callers),
            wanted_by=tuple(dict.fromkeys(by_part.get(number, ()))),
        )


class Candidate(NamedTuple, Generic[Subject]):
    """Something that could stay."""

    subject: Subject
    rank: tuple[Any, ...]
    """The least comes first."""
    needed: Sequence[int]
    """The parts that come with it."""
    own_bytes: int = 0
    """What it takes besides these."""


class Choice(NamedTuple, Generic[Subject]):
    """One that is chosen."""

    subject: Subject
    size_bytes: int
    needed: tuple[int, ...]
    """Without the parts that those before it brought."""


def take_best(
    candidates: Iterable[Candidate[Subject]], sizes: Numbers, within_bytes: int
) -> Iterator[Choice[Subject]]:
    """Yield the best candidates that take so many bytes altogether, each part being paid for once.

    One that others have brought as a whole is left out.
    """
    taken: set[int] = set()
    left_bytes = within_bytes
    for each in sorted(candidates, key=lambda candidate: candidate.rank):
        fresh = tuple(number for number in each.needed if number not in taken)
        size_bytes = each.own_bytes + int(sizes[list(fresh)].sum())
        if size_bytes > left_bytes or not (fresh or each.own_bytes):
            continue
        taken.update(fresh)
        left_bytes -= size_bytes
        yield Choice(each.subject, size_bytes, fresh)
