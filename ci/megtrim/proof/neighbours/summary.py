"""From the results of the stage `neighbours` to what a verdict shows of them."""

from __future__ import annotations

from megtrim.chain.graph import neighbours_task
from megtrim.chain.session import Session
from megtrim.config.scenarios import all_scenarios
from megtrim.proof.neighbours.model import NeighbourResult, NeighboursResult


def neighbour_results(session: Session) -> tuple[NeighbourResult, ...]:
    done = session.results.done
    tasks = map(neighbours_task, all_scenarios(session.request.config))
    found = (done[task].result_as(NeighboursResult) for task in tasks if task in done)
    return tuple(row for each in found for row in each.neighbours)
