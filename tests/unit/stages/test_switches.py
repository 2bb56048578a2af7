"""What each switch buys: the builds that are made for it, the table, and what is refused before.

The engine and its builder are stand-ins: a program is as large as its options say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build_spec import (
    Variant,
)
from megtrim.pipeline.building import variants
from megtrim.pipeline.result_content import content_of
from megtrim.pipeline.session import Session
from megtrim.pipeline.summary.keepset_usage import trim_choice
from megtrim.pipeline.summary.sizes import switch_sizes
from megtrim.plan.graph import HEADER, SWITCHES, Stage, tasks, tasks_up_to
from megtrim.stages import runner, switches
from unit.stages.support import changed
from unit.stages.switch_builds import Builder, made


def run(ready: Session) -> list[tuple[str, int | None, int | None, str]]:
    """Run the stage's own tasks and the reduced build; return the table."""
    config = ready.request.config
    wanted = [
        task
        for task in tasks_up_to(Stage.SWITCHES, tasks(config))
        if task.stage in (Stage.REDUCE, Stage.SWITCHES)
    ]
    runner.run(wanted, ready)
    return [
        (row.build, row.size_bytes, row.saved_bytes, row.note)
        for row in switch_sizes(ready.results)
    ]


def test_the_table(tmp_path: Path) -> None:
    """Each switch against all on, though one costs bytes; the last is the reduced build."""
    builder = Builder()
    ready = made(tmp_path, "{measure: [exceptions, rtti, logging]}", builder=builder)

    table = run(ready)

    assert table == [
        ("all-on", 1000, 0, ""),
        ("rtti-off", 900, 100, ""),
        ("logging-off", 1024, -24, ""),
        ("exceptions-off", 700, 300, ""),
        ("all-off", 300, 700, ""),
    ]
    tree = "sample-host-aarch64-switches"
    assert sorted(builder.built) == [
        ("sample-host-aarch64-reduced", "MGE_WITH_MINIMUM_SIZE=ON"),
        (tree, ""),
        (tree, "MGE_ENABLE_EXCEPTIONS=OFF"),
        (tree, "MGE_ENABLE_LOGGING=OFF"),
        (tree, "MGE_ENABLE_RTTI=OFF"),
    ]
    first = switch_sizes(ready.results)
    assert [row.off for row in first][-1] == ("rtti", "logging", "exceptions")
    assert [row.saved_share for row in first] == [0.0, 0.1, -0.024, 0.3, 0.7]
    assert {row.artifact for row in first} == {"load_and_run"}


def test_nothing_is_built_twice(tmp_path: Path) -> None:
    """A second run finds all of it."""
    builder = Builder()
    ready = made(tmp_path, "{measure: [rtti]}", builder=builder)
    run(ready)
    count = len(builder.built)
    again = changed(ready, done={HEADER: ready.results.done[HEADER]})

    assert run(again) == run(ready)
    assert len(builder.built) == count == 3


def test_what_an_engine_never_has_is_not_built(tmp_path: Path) -> None:
    """MegEngine's Release build for Arm has no RTTI, whatever is said."""
    builder = Builder()
    ready = made(tmp_path, "{measure: [rtti]}", kind="megengine", builder=builder)

    assert run(ready) == [
        ("all-on", 1000, 0, ""),
        ("rtti-off", None, None, "always off in this engine's Release build for aarch64"),
        ("all-off", 300, 700, ""),
    ]
    assert len(builder.built) == 2


@pytest.mark.parametrize(
    ("failing", "sizes", "saved"),
    [
        ("MGE_ENABLE_LOGGING=OFF", [1000, None, 300], [0, None, 700]),
        ("MGE_WITH_MINIMUM_SIZE=OFF", [None, None, 300], [None, None, None]),
    ],
)
def test_a_build_that_fails_is_shown_in_the_table(
    tmp_path: Path, failing: str, sizes: list[int | None], saved: list[int | None]
) -> None:
    """It fails nothing: whether the engine compiles so was the question."""
    ready = made(tmp_path, "{measure: [logging]}", builder=Builder(failing))

    table = run(ready)

    assert [row[1] for row in table] == sizes
    assert [row[2] for row in table] == saved
    assert table[1][3] == "not built: log.cpp:3: error: unused"
    assert ready.results.failed == {}


def test_without_measure_there_is_no_table(tmp_path: Path) -> None:
    """A verdict then says nothing of switches."""
    ready = made(tmp_path, "{minimum_size: false, switches: {logging: false}}")

    assert tasks_up_to(Stage.SWITCHES, tasks(ready.request.config)) == ()
    assert switch_sizes(ready.results) == ()
    assert trim_choice(ready).switched_off == ("logging",)


def test_what_is_off_next_to_the_minimum_size(tmp_path: Path) -> None:
    """Only that: the minimum size has a word of its own."""
    ready = made(tmp_path, "{switches: {rtti: false, flatbuffers: false}}")

    assert trim_choice(ready).switched_off == ("flatbuffers",)


def test_the_switches_are_in_the_reduced_build_alone(tmp_path: Path) -> None:
    """Plain is what people have; profile must tell everything. engine.cmake has the last word."""
    ready = made(tmp_path, "{minimum_size: false, switches: {logging: false, rtti: false}}")

    def options(variant: Variant) -> dict[str, str]:
        header = {} if variant is Variant.PLAIN else {"midout.h": "regions"}
        return dict(variants.make_spec(ready, variant, header).options)

    assert options(Variant.REDUCED) == options(Variant.PLAIN) | {
        "MGE_ENABLE_RTTI": "OFF",
        "MGE_ENABLE_LOGGING": "OFF",
    }
    assert options(Variant.PLAIN)["MGE_WITH_MINIMUM_SIZE"] == "OFF"


def test_a_table_depends_on_its_builds(tmp_path: Path) -> None:
    """Another build of one of them is another table."""
    ready = made(tmp_path, "{measure: [rtti]}")
    run(ready)
    task = next(each for each in tasks(ready.request.config) if each.id == SWITCHES)

    builds = ("switches/all-on", "switches/rtti-off", "reduce/reduced")
    assert switches.inputs(task, ready) == {
        "artifacts": "load_and_run",
        **{need: content_of(ready.results.done[need]) for need in builds},
    }
