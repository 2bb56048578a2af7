"""Neighbours of a scenario: how each ended on each level of trimming. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from megtrim.chain.stage_result import StageResult
from megtrim.util.value import Value


class NeighbourOutcome(StrEnum):
    SAME = "same"
    """The plain build's outputs; if an error is expected, its message and exit status."""
    REFUSED = "refused"
    """It printed an error message, but not the plain build's."""
    TRAPPED = "trapped"
    DIFFERS = "differs"
    CRASHED = "crashed"
    """Ended by another signal, or without a message."""
    HANGS = "hangs"


class NeighbourLevel(Value):
    level: str
    outcome: NeighbourOutcome
    works: bool
    """The same as plain; if an error is expected, any message counts."""
    text: str
    needs: tuple[str, ...] = ()
    """What was missing at a trap: regions, or a function."""
    time_s: float


class NeighbourResult(Value):
    scenario: str
    name: str
    kind: str
    what: str
    text: str
    """How the plain build ended."""
    levels: tuple[NeighbourLevel, ...]
    """The shipped one last; none if the plain build cannot run it: it does not apply."""

    @property
    def works(self) -> bool:
        return bool(self.levels) and self.levels[-1].works


def count_working(rows: Sequence[NeighbourResult]) -> str:
    """Return how many work on the shipped build, of those that apply: ``21 of 30``."""
    return f"{sum(row.works for row in rows)} of {sum(bool(row.levels) for row in rows)}"


def working(rows: Sequence[NeighbourResult]) -> str:
    return f"{count_working(rows)} neighbours work"


class NeighbourRunResult(StageResult):
    neighbour: NeighbourResult


class NeighboursResult(StageResult):
    scenario: str
    neighbours: tuple[NeighbourResult, ...]
