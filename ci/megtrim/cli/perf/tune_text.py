"""What a search for flags found, as text and as facts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from megtrim.config.yaml.edit import render_item
from megtrim.perf.experiments.listing import describe_step
from megtrim.perf.experiments.table import BASELINE
from megtrim.perf.tuning.racing import STAGES, RaceStage, Standing
from megtrim.pipeline.tuning.flag_race import LastHeat, TuneResult
from megtrim.pipeline.tuning.tuned_scenario import TunedScenario
from megtrim.wording import count

_MOST_NAMED = 6


def describe_result(scenario: str, result: TuneResult, tuned: TunedScenario) -> str:
    """Return the path of a race, and its winner."""
    race = result.race
    every = (result.entered - len(result.not_started)) * STAGES[-1]
    share = f"{race.runs / every:.0%} of {every:,} for all in {STAGES[-1]} rounds"
    lines = [
        f"{scenario}: {result.entered} contestants",
        *(f"  did not start  {each.name}: {each.reason}" for each in result.not_started),
        *(line for stage in race.stages for line in _stage(stage)),
        f"  ended: {race.end}; {count(race.runs, 'process', 'processes')}, {share}",
        f"--fitting chose: {result.fitting}",
        f"{'winner' if result.is_compared else 'leader'}: {result.winner.name}",
        *(f"  step: {describe_step(step)}" for step in result.winner.steps),
        *(f"  {_heat(each)}" for each in result.heats),
    ]
    if result.winner.name == BASELINE:
        return "\n".join((*lines, "no flags are faster than none"))
    if not result.is_compared:
        return "\n".join(lines)
    in_yaml = (f"  {line}" for line in render_item(tuned.item).splitlines())
    return "\n".join((*lines, "in megtrim.yaml:", *in_yaml))


def list_facts(scenario: str, result: TuneResult, tuned: TunedScenario) -> dict[str, Any]:
    """Return the same as data for JSON."""
    return {
        "scenario": scenario,
        "winner": result.winner.name if result.is_compared else None,
        "entered": result.entered,
        "not_started": {each.name: each.reason for each in result.not_started},
        "fitting": result.fitting,
        "end": str(result.race.end),
        "runs": result.race.runs,
        "last_heat_runs": result.last_runs,
        "stages": [
            {
                "rounds": stage.rounds,
                "leader": stage.leader,
                "left": [_standing_facts(each) for each in stage.left],
                "remaining": [_standing_facts(each) for each in stage.remaining],
            }
            for stage in result.race.stages
        ],
        "last_heat": {
            each.against: None if each.seen is None else dataclasses.asdict(each.seen)
            for each in result.heats
        },
        "yaml": dict(tuned.item),
    }


def _standing_facts(standing: Standing) -> dict[str, Any]:
    known = math.isfinite(standing.ratio)
    return {
        "name": standing.contestant,
        "ratio": standing.ratio if known else None,
        "lower": standing.lower if known else None,
        "reason": standing.reason,
    }


def _stage(stage: RaceStage) -> Iterator[str]:
    counts = f"{len(stage.left)} left, {len(stage.remaining)} remain"
    yield f"  after {count(stage.rounds, 'round')}  {stage.leader} leads, {counts}"
    for each in stage.left[:_MOST_NAMED]:
        yield f"    {each.contestant}: {each.reason or _ratio(each)}"
    if len(stage.left) > _MOST_NAMED:
        yield f"    and {len(stage.left) - _MOST_NAMED} slower ones"


def _ratio(standing: Standing) -> str:
    return f"{standing.ratio:.3f} of the leader's time, surely above {standing.lower:.3f}"


def _heat(heat: LastHeat) -> str:
    seen = heat.seen
    if seen is None:
        return f"against {heat.against}: too few processes counted"
    interval = f"{seen.ratio:.3f} of its time ({seen.lower:.3f} to {seen.upper:.3f})"
    return f"against {heat.against}: {interval}, {seen.pairs} pairs; different: {seen.different}"
