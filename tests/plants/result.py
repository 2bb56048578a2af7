from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

WANTED = 0.97
"""The share of plants that tests must kill."""


class Fate(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    MISFIT = "does not apply"
    VOID = "void"
    """Nothing can be said: its tests fail without it, do not end, or do not even start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    name: str
    fate: Fate
    text: str
    """The test that killed it; the defect that survived; else what is wrong with the plant."""


def passes(results: Sequence[Result]) -> bool:
    counts = Counter(each.fate for each in results)
    tried = counts[Fate.KILLED] + counts[Fate.SURVIVED]
    return tried == len(results) and counts[Fate.KILLED] >= WANTED * len(results)


def summarize(results: Sequence[Result]) -> Iterator[str]:
    for each in results:
        if each.fate is not Fate.KILLED:
            yield describe(each)
    counts = Counter(each.fate for each in results)
    share = counts[Fate.KILLED] / len(results) if results else 0.0
    sums = ", ".join(f"{fate}: {counts[fate]}" for fate in Fate if counts[fate])
    yield f"plants: {len(results)}, {sums}; {share:.1%} killed, expected {WANTED:.0%}"


def describe(result: Result) -> str:
    joint = " by " if result.fate is Fate.KILLED else ": "
    return f"{result.name}: {result.fate}{joint}{result.text}"


def encode(results: Sequence[Result]) -> dict[str, object]:
    rows = [{"name": each.name, "fate": each.fate.value, "text": each.text} for each in results]
    return {"version": 1, "passes": passes(results), "plants": rows}
