"""The tasks of a trim and what each needs. Pure: a value made from the configuration alone.

One stage is one verb of the command line and one folder of results; most stages have one
task, some one for each variant or scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from megtrim.config.model import Config
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.config.switches import switched_off
from megtrim.plan.switches import Measured, measured
from megtrim.recipe import Variant


class Stage(StrEnum):
    """The stages; their order is :data:`ORDER`."""

    BUILD = "build"
    PROFILE = "profile"
    HEADER = "header"
    REDUCE = "reduce"
    VERIFY = "verify"
    SIZE = "size"
    SWITCHES = "switches"
    VERDICT = "verdict"
    REPORT = "report"


ORDER: tuple[Stage, ...] = (
    Stage.BUILD,
    Stage.PROFILE,
    Stage.HEADER,
    Stage.REDUCE,
    Stage.VERIFY,
    Stage.SIZE,
    Stage.SWITCHES,
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
SWITCHES = f"{Stage.SWITCHES}/table"
VERDICT = f"{Stage.VERDICT}/verdict"
REPORT = f"{Stage.REPORT}/report"


def trace_task(scenario: Scenario) -> str:
    """Return the id of the task that traces the scenario."""
    return f"{Stage.PROFILE}/{scenario.id}"


def search_task(scenario: Scenario) -> str:
    """Return the id of the task that records the scenario's algorithm cache."""
    return f"{Stage.PROFILE}/{scenario.id}{SEARCH_SUFFIX}"


def verify_task(scenario: Scenario) -> str:
    """Return the id of the task that runs the scenario on the reduced build."""
    return f"{Stage.VERIFY}/{scenario.id}"


def tasks(config: Config, *, committed: bool = False) -> tuple[Task, ...]:
    """Return all tasks of a trim in an order in which they can run.

    ``committed``: the keep set is the file that the team committed, so nothing is traced, and a
    profile build is made only where a budget weighs it. The verdict then waits for no switch to be
    weighed: that is a study for people, and takes several builds.
    """
    every = tuple(all_scenarios(config))
    profiled = not committed or weighs_profile(config)
    builds = (PLAIN, PROFILE) if profiled else (PLAIN,)
    traces = () if committed else tuple(task for each in every for task in _profile(each))
    header_needs = () if committed else tuple(trace_task(each) for each in every)
    before_verdict = (
        *(Task(stage=Stage.BUILD, name=build.partition("/")[2], needs=()) for build in builds),
        *traces,
        Task(stage=Stage.HEADER, name="keepset", needs=header_needs),
        Task(stage=Stage.REDUCE, name=Variant.REDUCED, needs=(HEADER,)),
        *(_verify(each) for each in every),
        Task(stage=Stage.SIZE, name="artifacts", needs=(*builds, REDUCED)),
    )
    switches = tuple(_switches(config))
    wanted = before_verdict if committed else (*before_verdict, *switches)
    wants = tuple(task.id for task in wanted)
    return (
        *before_verdict,
        *switches,
        Task(stage=Stage.VERDICT, name="verdict", needs=(), wants=wants),
        Task(stage=Stage.REPORT, name="report", needs=(VERDICT,)),
    )


def switch_task(build: Measured, config: Config) -> str:
    """Return the id of the task whose program tells what a switch buys.

    Where the reduced build itself has the same switches off, it is that one.
    """
    same = build.off == switched_off(config.trim)
    return REDUCED if same else f"{Stage.SWITCHES}/{build.name}"


def _switches(config: Config) -> Iterator[Task]:
    ids = {switch_task(build, config): build.name for build in measured(config)}
    for id_, name in ids.items():
        if id_ != REDUCED:
            yield Task(stage=Stage.SWITCHES, name=name, needs=(HEADER,))
    if ids:
        yield Task(stage=Stage.SWITCHES, name=SWITCHES.partition("/")[2], needs=tuple(ids))


def weighs_profile(config: Config) -> bool:
    """Say whether a budget is about the profile variant."""
    return any(budget.variant is Variant.PROFILE for budget in config.budgets)


def through(stage: Stage, all_tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the tasks that the stage's own tasks rest on, those included, in order."""
    return resting({task.id for task in all_tasks if task.stage is stage}, all_tasks)


def resting(ids: Iterable[str], all_tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the tasks of these ids and those that they rest on, in order."""
    wanted = set(ids)
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
    needs = (PLAIN, *search, HEADER, REDUCED)
    return Task(stage=Stage.VERIFY, name=scenario.id, needs=needs, scenario=scenario)
