"""Neighbours of a scenario: how each ended on each level of trimming.

Pure; part of the verdict room. The behaviour of the plain build is what is expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from megtrim.chain.stage_result import StageResult
from megtrim.util.value import Value


class NeighbourOutcome(StrEnum):
    """How a neighbour ended on a trimmed build."""

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
    """One neighbour on one level of trimming."""

    level: str
    """``region`` or ``function``."""
    outcome: NeighbourOutcome
    works: bool
    """The same as plain; if an error is expected, any message counts."""
    text: str
    """One line: what was seen."""
    needs: tuple[str, ...] = ()
    """What was missing at a trap, as far as it could be named: regions, or a function."""
    time_s: float


class NeighbourResult(Value):
    """One neighbour of one scenario."""

    scenario: str
    """Its id: MODEL/SCENARIO@CLASS."""
    name: str
    kind: str
    """What differs from the scenario: iterations, threads, flags and so on."""
    what: str
    """One line: what differs."""
    text: str
    """One line: how the plain build ended."""
    levels: tuple[NeighbourLevel, ...]
    """The shipped one last; none if the plain build cannot run it, so that it does not apply."""

    @property
    def works(self) -> bool:
        """Whether it works on the shipped build."""
        return bool(self.levels) and self.levels[-1].works


def count_working(rows: Sequence[NeighbourResult]) -> str:
    """Return how many work on the shipped build, of those that apply: ``21 of 30``."""
    return f"{sum(row.works for row in rows)} of {sum(bool(row.levels) for row in rows)}"


def working(rows: Sequence[NeighbourResult]) -> str:
    return f"{count_working(rows)} neighbours work"


class NeighbourRunResult(StageResult):
    """Of the stage `neighbours`: one neighbour."""

    neighbour: NeighbourResult


class NeighboursResult(StageResult):
    """Of the stage `neighbours`: all neighbours of a scenario."""

    scenario: str
    neighbours: tuple[NeighbourResult, ...]
