"""Contests of a bundle: command lines name nothing but the files of their run directory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from megtrim.build_spec import Variant
from megtrim.evidence.bundle import Bundle, JobPurpose, dump_bundle, parse_bundle
from megtrim.experiments.contest import ContestBudget, PerformanceStatus, Side
from megtrim.util.errors import InputError
from unit.evidence.support import (
    HOSTILE_DIGESTS,
    HOSTILE_NAMES,
    SCENARIO,
    Change,
    bundle,
    bundle_contest,
    changed,
    contest,
    contestant,
    device,
    put,
    time_bundle,
    unheld_contest,
)

TEXT = dump_bundle(replace(time_bundle(), keep_set="5" * 64))
CONTEST = ("times", "contests", 0)
COMMAND = (*CONTEST, "contest", "rival", "commands", 0)


def refused(change: Change) -> str:
    """Return what is said of a bundle after a change."""
    with pytest.raises(InputError) as caught:
        parse_bundle(changed(TEXT, change), source="bundle.json")
    return caught.value.message


@pytest.mark.parametrize(
    "whole",
    [
        time_bundle(),
        time_bundle(bundle_contest(contest=contest(rival=None))),
        time_bundle(
            bundle_contest(
                id=f"{SCENARIO}#trimming",
                rival=Variant.REDUCED,
                contest=contest(budget=ContestBudget(rounds=40, limit_s=600.0), seed=2**31),
            )
        ),
    ],
)
def test_a_bundle_that_asks_for_times_comes_back_as_it_went(whole: Bundle) -> None:
    """With every step of every contestant."""
    assert parse_bundle(dump_bundle(whole), source="x") == whole


@pytest.mark.parametrize("name", [each for each in HOSTILE_NAMES if each])
def test_a_contest_is_called_by_names(name: str) -> None:
    """Its id and those of its contestants stand in reports and histories."""
    for place, value in (("id", f"{SCENARIO}#{name}"), ("id", name), ("class", name)):
        assert "expected" in refused(put(*CONTEST, place, value=value))
    assert "expected a name" in refused(put(*CONTEST, "contest", "rival", "name", value=name))


@pytest.mark.parametrize("digest", HOSTILE_DIGESTS)
def test_a_contest_is_bound_by_a_digest(digest: str) -> None:
    """Evidence of it must say the same."""
    said = refused(put(*CONTEST, "binding", value=digest))

    assert said.endswith("expected a sha256 of 64 hex digits")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "program: found '', expected b-program"),
        (["sh"], "program: found 'sh', expected b-program"),
        (["a-program", "model.mge"], "found 'a-program', expected b-program"),
        (["b-program"], "model: found '', expected model.mge or b-dumped.mge"),
        (["b-program", "/etc/passwd"], "found '/etc/passwd', expected model.mge or b-dumped.mge"),
        (["b-program", "a-dumped.mge"], "expected model.mge or b-dumped.mge"),
        (["b-program", "model.mge", "--flagfile=/etc/x"], "--flagfile is not allowed"),
        (["b-program", "model.mge", "--fromenv", "HOME"], "--fromenv is not allowed"),
        (["b-program", "model.mge", "--input", "data:/etc/passwd"], "--input is not allowed"),
        (["b-program", "model.mge", "--input", "data:input0.npy;x:y"], "--input is not allowed"),
        (["b-program", "model.mge", "--input"], "--input is not allowed"),
        (["b-program", "model.mge", "--bin-out-dump", "/tmp"], "--bin_out_dump is not allowed"),
        (
            ["b-program", "model.mge", "--fast-run-algo-policy", "a-algo.cache"],
            "--fast_run_algo_policy is not allowed",
        ),
        (["b-program", "model.mge", "a\x1b[31m"], "one line of at most 4096 characters"),
        (["b-program", "model.mge", "x" * 4097], "one line of at most 4096 characters"),
        (["b-program", "model.mge", *["--cpu"] * 10_000], "expected at most 10000"),
    ],
)
def test_a_command_names_no_other_files(argv: list[str], said: str) -> None:
    """A flag that reads a file of the runner would bring it back as an output."""
    assert said in refused(put(*COMMAND, "argv", value=argv))


@pytest.mark.parametrize(
    "more",
    [
        ("--fast-run",),
        ("--fast-run-algo-policy", "b-algo.cache"),
        ("--layout-transform-dump", "b-dumped.mge"),
        ("--input", "data:input0.npy", "--cpu"),
    ],
)
def test_a_command_names_its_own_files(more: tuple[str, ...]) -> None:
    """A search is what some experiments measure; they leave and read files of their own."""
    rival = contestant(Side.RIVAL, "nchw88")
    step = replace(rival.commands[0], argv=("b-program", "b-dumped.mge", *more))
    asked = bundle_contest(contest=contest(rival=replace(rival, commands=(step,))))

    assert parse_bundle(dump_bundle(time_bundle(asked)), source="x").contests == (asked,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put(*CONTEST, "scenario", value="m/s@any"), "expected resnet18-s/default@any"),
        (put(*CONTEST, "id", value=SCENARIO), "expected MODEL/SCENARIO@any#NAME"),
        (put(*CONTEST, "id", value=f"{SCENARIO}#"), "found '', expected a name of letters"),
        (put(*CONTEST, "id", value=f"{SCENARIO}#a#b"), "found 'a#b', expected a name of letters"),
        (put(*CONTEST, "class", value="big"), "expected MODEL/SCENARIO@big"),
        (put(*CONTEST, "rival", value="shell"), "contests[0].rival: found 'shell'"),
        (put(*CONTEST, "rival", value="profile"), "expected a program of the bundle"),
        (put(*CONTEST, "contest", value=None), "found '', expected a contest, or why there is"),
        (put(*CONTEST, "unheld", value="skipped"), "expected a contest, or why there is none"),
        (put(*CONTEST, "unheld", value="measured"), "expected a contest, or why there is none"),
        (put(*CONTEST, "reason", value="no GPU"), "expected a contest, or why there is none"),
        (put(*CONTEST, "reason", value="a\nb"), "reason: found 'a\\nb', expected one line"),
        (put(*CONTEST, "artifact", value="../x"), "artifact: found '../x', expected a name"),
        (put(*CONTEST, "sizes", value=[["plain", 1]] * 2), "sizes: found 'plain', expected each"),
        (put(*CONTEST, "sizes", value=[["plain", -1]]), "sizes[0][1]: found -1, expected 0 or"),
        (put(*CONTEST, "contest", "rival", "name", value="baseline"), "both sides of a contest"),
        (put(*CONTEST, "contest", "threads", value=0), "threads: found 0, expected 1 to 256"),
        (put(*CONTEST, "contest", "timeout_s", value=0), "expected a time that megtrim.yaml can"),
        (
            put(*CONTEST, "contest", "timeout_s", value=10**12),
            "expected a time that megtrim.yaml can",
        ),
        (
            put(*CONTEST, "contest", "budget", "limit_s", value=10**12),
            "expected a time that megtrim.yaml can",
        ),
        (put(*CONTEST, "contest", "budget", "limit_s", value=0), "found a budget of 0.0 s"),
        (put(*CONTEST, "contest", "budget", "rounds", value=7), "found 7 rounds"),
        (put(*CONTEST, "contest", "budget", "rounds", value=10**9), "found 1000000000 rounds"),
        (put(*CONTEST, "contest", "criterion", "threshold", value=0), "no criterion"),
        (put(*CONTEST, "contest", "criterion", "threshold", value=1), "no criterion"),
        (put(*CONTEST, "contest", "seed", value=-1), "seed: found -1, expected 0 or more"),
        (
            put(*CONTEST, "contest", "tolerance", "relative", value=1),
            "expected one that a difference exceeds",
        ),
        (put(*COMMAND, "iterations", value=0), "iterations: found 0, expected 1 to 100000"),
        (put(*COMMAND, "iterations", value=100_001), "found 100001, expected 1 to 100000"),
        (put(*COMMAND, "step", "warmups", value=1001), "warmups: found 1001, expected at most"),
        (put(*COMMAND, "step", "measured", value=False), "the last step is measured"),
        (put(*CONTEST, "contest", "rival", "commands", value=[]), "the last step is measured"),
        (put("times", "contests", value=[{}]), "contests[0].id: found nothing, expected this key"),
        (put("times", "engine", value="x"), "times: engine: found 'x', expected a sha256"),
        (put("times", "criterion", "floor_ms", value=-1), "floor_ms: found -1, expected 0 or more"),
        (put("times", "inconclusive", value="pass"), "found 'pass', expected one of fail or warn"),
        (put("times", value=None), "times: found 'time', expected contests"),
        (put("scenarios", value=[]), "expected a scenario of the bundle"),
        (put("purpose", value="verify"), "expected contests if it is to time, else none"),
        (put("programs", value=[["reduced", "4" * 64]]), "['reduced'], expected plain"),
    ],
)
def test_every_value_is_held_to_its_shape(change: Change, said: str) -> None:
    """One clear message, with the place."""
    found = refused(change)
    assert said in found, found


def test_times_are_counted() -> None:
    """What a device brings must fit into one document."""
    rival = contestant(Side.RIVAL, "nchw88")
    long = replace(rival, commands=(replace(rival.commands[0], iterations=3000),))
    with pytest.raises(ValueError, match="times: found 1205600, expected at most 1000000"):
        bundle_contest(contest=contest(rival=long, budget=ContestBudget(rounds=400)))


def test_a_contest_comes_once() -> None:
    """Two of one id would be two rows of one name."""
    with pytest.raises(ValueError, match="nchw88', expected each name once"):
        time_bundle(bundle_contest(), bundle_contest())


@pytest.mark.parametrize("changes", [{"runner": False}, {"cpu_class": "big"}])
def test_times_of_a_class_without_a_runner_are_refused(changes: dict[str, Any]) -> None:
    """Nothing that came of it would count."""
    with pytest.raises(ValueError, match="expected a device on a runner"):
        time_bundle(devices=(device(**changes),))


SKIPPED = PerformanceStatus.SKIPPED
UNHELD = (
    unheld_contest(SKIPPED, "not run here: needs a GPU", id=f"{SCENARIO}#nchw4"),
    unheld_contest(PerformanceStatus.FAILED, "no program", id=f"{SCENARIO}#trimming-reduced"),
    unheld_contest(
        *(PerformanceStatus.INFRASTRUCTURE, "no disk"),
        id="m/s@big#nchw88",
        scenario="m/s@big",
        cpu_class="big",
    ),
)


def test_devices_are_not_asked_for_what_cannot_be_held() -> None:
    """It is in the bundle with the reason, for the report."""
    whole = time_bundle(*UNHELD, bundle_contest())
    none = time_bundle(*UNHELD, scenarios=(), programs=())

    assert parse_bundle(dump_bundle(whole), source="x") == whole
    assert whole.of_class("any") == (bundle_contest(),)
    assert (none.contests, none.of_class("any")) == ((), ())
    assert [each.subject for each in UNHELD] == ["nchw4", "trimming-reduced", "nchw88"]
    with pytest.raises(TypeError, match="nchw4 is not held"):
        _ = UNHELD[0].held
    with pytest.raises(ValueError, match="expected a contest, or why there is none"):
        unheld_contest(PerformanceStatus.MEASURED, "measured elsewhere")


def test_a_job_gets_the_contests_of_its_class() -> None:
    """They are what is split among jobs; with any other purpose, scenarios are."""
    assert time_bundle().of_class("any") == (bundle_contest(),)
    assert time_bundle().of_class("big") == ()
    assert bundle().of_class("any") == bundle().scenarios
    assert time_bundle().scenario(SCENARIO).id == SCENARIO
    assert bundle_contest().variants == {Side.REFERENCE: "plain", Side.RIVAL: "plain"}
    assert time_bundle().purpose is JobPurpose.TIME
