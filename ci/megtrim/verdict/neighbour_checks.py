"""The check that follows from a budget of neighbours. Pure; part of the verdict room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from megtrim.verdict import next_step
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.model import Check
from megtrim.verdict.neighbours import Asked, NeighbourResult, unmet, working
from megtrim.verdict.statuses import CheckKind, CheckStatus
from megtrim.wording import count

_MOST_LINES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one budget requires of the neighbours of the scenarios that run its program."""

    artifact: str
    asked: Asked
    found: Mapping[str, Sequence[NeighbourResult]]
    """By scenario."""
    lost: Mapping[str, str]
    """Scenarios whose neighbours could not be run, and why."""
    file: str
    line: int
    invocation: Invocation


def demand_check(demand: Demand) -> Check:
    """Return the check: a neighbour that does not work counts more than one that is unknown."""
    broken = {each: unmet(demand.asked, rows) for each, rows in sorted(demand.found.items())}
    broken = {each: why for each, why in broken.items() if why}
    every = [row for _, rows in sorted(demand.found.items()) for row in rows]
    status, hint, text = CheckStatus.PASS, "", f"{working(every)}: as asked for"
    if broken:
        status, hint, text = (
            CheckStatus.FAIL,
            next_step.for_neighbours(demand.invocation),
            _first(broken),
        )
    elif demand.lost:
        status, hint, text = (
            CheckStatus.INFRASTRUCTURE,
            next_step.LOOK_AT_DEVICE,
            _first(demand.lost),
        )
    return Check(
        id=f"{CheckKind.NEIGHBOURS}:{demand.artifact}",
        kind=CheckKind.NEIGHBOURS,
        subject=demand.artifact,
        status=status,
        text=text,
        detail="\n".join(_lines(demand, every)) if status is not CheckStatus.PASS else "",
        hint=hint,
        time_s=sum(level.time_s for row in every for level in row.levels),
        file=demand.file,
        line=demand.line,
        reproduce=demand.invocation.again("verify", "--neighbours"),
    )


def _first(shortfalls: Mapping[str, str]) -> str:
    scenario, why = min(shortfalls.items())
    others = len(shortfalls) - 1
    more = f" (and {count(others, 'more scenario')})" if others else ""
    return f"{scenario}: {why}{more}"


def _lines(demand: Demand, rows: Sequence[NeighbourResult]) -> Iterator[str]:
    """Yield every neighbour that does not work, with what it needs, and all that are unknown."""
    for scenario, why in sorted(demand.lost.items()):
        yield f"{scenario}: {why}"
    broken = [row for row in rows if row.levels and not row.works]
    for row in broken[:_MOST_LINES]:
        last = row.levels[-1]
        yield f"{row.scenario} {row.name} ({row.what}): {last.outcome}: {last.text}"
        yield from (f"  {need}" for need in last.needs[:3])
    if broken[_MOST_LINES:]:
        yield f"and {len(broken) - _MOST_LINES} more"
