"""Who starts, and what a turn brings, played by a shell script on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.errors import ProductFailure
from megtrim.perf.samples import Sample
from megtrim.perf.schedule import Turn
from megtrim.perf.tuning.racing import Retired
from megtrim.pipeline.tuning.field_runs import open_runs
from unit.pipeline.tuning.scripted import find_machine, make_field


def turn_of(name: str) -> Turn:
    return Turn(round_number=0, position=0, contestant=name, cpus=(), padding_bytes=10)


def test_who_fails_or_computes_something_else_does_not_start(tmp_path: Path) -> None:
    """Each with its reason; a search that several share is made once."""
    said: list[str] = []
    with open_runs(make_field(tmp_path), find_machine(tmp_path), say=said.append) as runs:
        started = runs.start()
        reasons = {each.name: each.reason for each in runs.not_started}

    assert started == ["baseline", "cache", "cache-record", "weight-preprocess"]
    assert reasons["record"].startswith("output 0: largest difference 6")
    assert reasons["nchw88"] == "it ended with 1 (failed): no such layout"
    assert (tmp_path / "searches").read_text("utf-8") == "search\n"
    assert runs.fitting == "weight-preprocess"
    assert sum("does not start" in line for line in said) == 2


def test_a_turn_brings_the_times_of_its_log(tmp_path: Path) -> None:
    """And a program that fails later leaves the race."""
    with open_runs(make_field(tmp_path), find_machine(tmp_path), say=lambda _: None) as runs:
        runs.start()
        taken = runs.take(turn_of("weight-preprocess"))
        failed = runs.take(turn_of("nchw88"))
        made = runs.read_made("cache")

    assert isinstance(taken, Sample)
    assert taken.iterations_ms == (20.0,) * 10
    assert isinstance(failed, Retired)
    assert "no such layout" in failed.reason
    assert made == (None, b"searched\n")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\nexit 3\n", "baseline: it ended with 3"),
        ("#!/bin/sh\ntrue\n", "it dumped no output"),
    ],
)
def test_a_scenario_that_does_not_run_at_all(tmp_path: Path, script: str, said: str) -> None:
    """No flags help it: that is the product's failure."""
    field = make_field(tmp_path, script)
    with (
        open_runs(field, find_machine(tmp_path), say=lambda _: None) as runs,
        pytest.raises(ProductFailure, match=said),
    ):
        runs.start()
