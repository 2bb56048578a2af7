"""Which builds tell what a switch buys, and when a trim makes them."""

from __future__ import annotations

from typing import Any

import pytest

from megtrim.plan.graph import Stage, Task, tasks, tasks_up_to
from megtrim.plan.switches import list_measured_builds
from unit.plan.support import config, model

RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS = "rtti", "logging", "exceptions", "flatbuffers"


def of(*names: str, **trim: Any) -> tuple[Task, ...]:
    return tasks(config(model("m"), trim={"measure": list(names), **trim}))


def switch_tasks(every: tuple[Task, ...]) -> dict[str, tuple[str, ...]]:
    return {task.id: task.needs for task in every if task.stage is Stage.SWITCHES}


@pytest.mark.parametrize(
    ("names", "builds"),
    [
        ((), []),
        ((LOGGING,), [(), (LOGGING,), (RTTI, LOGGING, EXCEPTIONS)]),
        (
            (EXCEPTIONS, RTTI),
            [(), (RTTI,), (EXCEPTIONS,), (RTTI, LOGGING, EXCEPTIONS)],
        ),
        ((FLATBUFFERS,), [(), (FLATBUFFERS,), (RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS)]),
    ],
)
def test_all_on_each_off_alone_and_all_off(
    names: tuple[str, ...], builds: list[tuple[str, ...]]
) -> None:
    """In one order, whatever the file's; FlatBuffers go only where someone asks about them."""
    found = list_measured_builds(config(model("m"), trim={"measure": list(names)}))

    assert [each.off for each in found] == builds
    if names:
        assert [each.name for each in found][:: len(found) - 1] == ["all-on", "all-off"]


def test_nothing_is_measured_unasked() -> None:
    """A trim is as it was."""
    assert switch_tasks(of()) == {}


def test_the_reduced_build_is_not_made_twice() -> None:
    """With minimum_size it is the one with all off; else that is a build of its own."""
    builds = ("switches/all-on", "switches/rtti-off", "switches/all-off")
    header = ("header/keepset",)

    assert switch_tasks(of(RTTI)) == {
        "switches/all-on": header,
        "switches/rtti-off": header,
        "switches/table": ("switches/all-on", "switches/rtti-off", "reduce/reduced"),
    }
    assert switch_tasks(of(RTTI, minimum_size=False)) == {
        "switches/rtti-off": header,
        "switches/all-off": header,
        "switches/table": ("reduce/reduced", "switches/rtti-off", "switches/all-off"),
    }
    only_rtti = switch_tasks(of(RTTI, minimum_size=False, switches={"rtti": False}))
    assert only_rtti["switches/table"] == (builds[0], "reduce/reduced", builds[2])
    without = switch_tasks(of(RTTI, switches={"flatbuffers": False}))
    assert without["switches/table"] == builds


def test_the_verdict_speaks_of_switches_but_no_gate_waits_for_them() -> None:
    """A trim by the committed keep set leaves them out, unless they are what is asked for."""
    settings = config(model("m"), trim={"measure": [RTTI]})
    traced, committed = tasks(settings), tasks(settings, committed=True)

    assert any(task.stage is Stage.SWITCHES for task in tasks_up_to(Stage.REPORT, traced))
    assert not any(task.stage is Stage.SWITCHES for task in tasks_up_to(Stage.REPORT, committed))
    assert [task.id for task in tasks_up_to(Stage.SWITCHES, committed)] == [
        *("header/keepset", "reduce/reduced", "switches/all-on", "switches/rtti-off"),
        "switches/table",
    ]
