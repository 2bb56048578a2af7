"""The tasks of a trim and what each needs. Pure: a value made from the configuration alone.

One stage is one verb of the command line and one folder of results; most stages have one
task, some one for each variant or scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from megtrim.config.model import Config
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.recipe import Variant


class Stage(StrEnum):
    """The stages; their order is :data:`ORDER`."""

    BUILD = "build"
    PROFILE = "profile"
    HEADER = "header"
    REDUCE = "reduce"
    VERIFY = "verify"
    SIZE = "size"
    VERDICT = "verdict"
    REPORT = "report"


ORDER: tuple[Stage, ...] = (
    Stage.BUILD,
    Stage.PROFILE,
    Stage.HEADER,
    Stage.REDUCE,
    Stage.VERIFY,
    Stage.SIZE,
    Stage.VERDICT,
    Stage.REPORT,
)

SEARCH_SUFFIX = "#search"
"""Ends the name of the profile task that records a scenario's algorithm cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One unit of work: done once for equal inputs."""

    stage: Stage
    name: str
    needs: tuple[str, ...]
    """Ids of tasks whose results enter; all stand earlier in the plan."""
    wants: tuple[str, ...] = ()
    """Ids of tasks whose results enter if there are any: a verdict also speaks of failures."""
    scenario: Scenario | None = None

    @property
    def id(self) -> str:
        return f"{self.stage}/{self.name}"


PLAIN = f"{Stage.BUILD}/{Variant.PLAIN}"
PROFILE = f"{Stage.BUILD}/{Variant.PROFILE}"
HEADER = f"{Stage.HEADER}/keepset"
REDUCED = f"{Stage.REDUCE}/{Variant.REDUCED}"
SIZE = f"{Stage.SIZE}/artifacts"
VERDICT = f"{Stage.VERDICT}/verdict"


def trace_task(scenario: Scenario) -> str:
    """Return the id of the task that traces the scenario."""
    return f"{Stage.PROFILE}/{scenario.id}"


def search_task(scenario: Scenario) -> str:
    """Return the id of the task that records the scenario's algorithm cache."""
    return f"{Stage.PROFILE}/{scenario.id}{SEARCH_SUFFIX}"


def verify_task(scenario: Scenario) -> str:
    """Return the id of the task that runs the scenario on the reduced build."""
    return f"{Stage.VERIFY}/{scenario.id}"


def tasks(config: Config) -> tuple[Task, ...]:
    """Return all tasks of a trim in an order in which they can run."""
    every = tuple(all_scenarios(config))
    return (
        Task(stage=Stage.BUILD, name=Variant.PLAIN, needs=()),
        Task(stage=Stage.BUILD, name=Variant.PROFILE, needs=()),
        *(task for scenario in every for task in _profile(scenario)),
        Task(stage=Stage.HEADER, name="keepset", needs=tuple(trace_task(s) for s in every)),
        Task(stage=Stage.REDUCE, name=Variant.REDUCED, needs=(HEADER,)),
        *(_verify(scenario) for scenario in every),
        Task(stage=Stage.SIZE, name="artifacts", needs=(PLAIN, PROFILE, REDUCED)),
        _verdict(every),
        Task(stage=Stage.REPORT, name="report", needs=(VERDICT,)),
    )


def through(stage: Stage, all_tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the tasks that the stage's own tasks rest on, those included, in order."""
    wanted = {task.id for task in all_tasks if task.stage is stage}
    for task in reversed(all_tasks):
        if task.id in wanted:
            wanted |= {*task.needs, *task.wants}
    return tuple(task for task in all_tasks if task.id in wanted)


def _profile(scenario: Scenario) -> Iterator[Task]:
    search = (search_task(scenario),) if scenario.searches else ()
    if search:
        yield Task(
            stage=Stage.PROFILE,
            name=scenario.id + SEARCH_SUFFIX,
            needs=(PLAIN,),
            scenario=scenario,
        )
    yield Task(stage=Stage.PROFILE, name=scenario.id, needs=(PROFILE, *search), scenario=scenario)


def _verify(scenario: Scenario) -> Task:
    search = (search_task(scenario),) if scenario.searches else ()
    needs = (PLAIN, PROFILE, *search, HEADER, REDUCED)
    return Task(stage=Stage.VERIFY, name=scenario.id, needs=needs, scenario=scenario)


def _verdict(every: tuple[Scenario, ...]) -> Task:
    wants = (
        *(PLAIN, PROFILE),
        *(search_task(scenario) for scenario in every if scenario.searches),
        *(trace_task(scenario) for scenario in every),
        *(HEADER, REDUCED),
        *(verify_task(scenario) for scenario in every),
        SIZE,
    )
    return Task(stage=Stage.VERDICT, name="verdict", needs=(), wants=wants)
