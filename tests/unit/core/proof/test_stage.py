from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.chain.graph import PLAIN, PROFILE, REDUCED, Stage, Task
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.evidence.binding import binding
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.keep.region import Region
from megtrim.core.keep.trace import Trace
from megtrim.core.proof import stage as verify
from megtrim.core.proof.results import VerificationOutcome, VerifyResult
from megtrim.core.proof.verification import VerificationCase, prove
from megtrim.core.trim.runs.scenario_runs import record_of, scenario_of
from megtrim.libs.util.errors import InfrastructureFailure
from unit.core.trim.stages.built import PROGRAMS, built
from unit.core.trim.stages.fake_device import GOOD, TRAPS, FakeDevice, Fickle
from unit.core.trim.stages.support import changed

Make = Callable[[str], StageFolder | None]


def opened(folder: Path, reduced: str, *, profile: bool) -> tuple[Session, Task]:
    (folder / "first").mkdir()
    first = built(folder / "first")
    scenario = next(all_scenarios(first.request.config))
    trace = Trace(regions=(Region("kern", (1,)),), sha256="b" * 64)
    record = record_of(scenario, first, trace)
    keep = KeepSet(generation=20220507, scenarios=(record,), operators=None)
    programs = {PLAIN: GOOD, REDUCED: reduced} | ({PROFILE: PROGRAMS[PROFILE]} if profile else {})
    (folder / "second").mkdir()
    made = built(folder / "second", programs=programs, keep=dump_keep_set(keep))
    task = Task(stage=Stage.VERIFY, name=scenario.id, needs=(), scenario=scenario)
    return made, task


def work(session: Session, task: Task, folder: Path) -> tuple[VerifyResult, list[str]]:
    to = folder / "work"
    to.mkdir()
    found = verify.work(task, session, to)
    assert isinstance(found, VerifyResult)
    return found, sorted(path.name for path in to.iterdir())


def test_a_result_says_what_it_is_bound_to(tmp_path: Path) -> None:
    """A good end asks for no profile build."""

    def make(task_id: str) -> StageFolder | None:
        raise AssertionError(task_id)

    session, task = opened(tmp_path, GOOD, profile=False)
    found, left = work(changed(session, make=make), task, tmp_path)
    device = session.services.devices["any"]

    assert found.binding == binding(verify.named_inputs(scenario_of(task), session))
    assert (found.scenario, found.day) == ("m/s@any", date(2027, 1, 31))
    assert found.device == DeviceIdentity(name="here", kind="fake", facts={"model": "Pixel 6"})
    assert (found.outcome.status, found.exit_code) == ("pass", 0)
    assert left == ["plain", "plain.log", "reduced", "reduced.log"]
    assert isinstance(device, FakeDevice)
    assert len(device.runs) == 2
    named = verify.inputs(task, session)

    assert {"plain", "reduced", "keep set", "tolerance", "model", "device kind"} <= named.keys()
    assert not any("profile" in label for label in named)


def within(task: Task, **tolerances: float) -> Task:
    scenario = scenario_of(task)
    settings = scenario.settings.model_copy(update=tolerances)
    return replace(task, scenario=replace(scenario, settings=settings))


def test_both_tolerances_and_the_version_bind_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, task = opened(tmp_path, GOOD, profile=False)

    def bound(asked: Task) -> str:
        return binding(verify.named_inputs(scenario_of(asked), session))

    bindings = {
        bound(task),
        bound(within(task, tolerance=0.5)),
        bound(within(task, relative_tolerance=0.5)),
        bound(within(task, tolerance=0.5, relative_tolerance=0.5)),
    }
    assert len(bindings) == 4
    assert bound(within(task, tolerance=0.0)) == bound(task)
    monkeypatch.setattr(verify, "code_digest", lambda: "another")
    assert bound(task) not in bindings


@pytest.mark.parametrize(
    ("tolerances", "status"),
    [
        ({}, "parity"),
        ({"tolerance": 0.25}, "pass"),
        ({"tolerance": 0.2}, "parity"),
        ({"relative_tolerance": 0.125}, "pass"),
        ({"relative_tolerance": 0.12}, "parity"),
    ],
)
def test_a_scenario_is_held_to_its_own_tolerances(
    tmp_path: Path, tolerances: dict[str, float], status: str
) -> None:
    session, task = opened(tmp_path, "output o 1 2.25 3\n", profile=False)

    assert work(session, within(task, **tolerances), tmp_path)[0].outcome.status == status


def test_a_bad_end_asks_for_the_profile_build(tmp_path: Path) -> None:
    session, task = opened(tmp_path, TRAPS, profile=True)
    profile = session.done.pop(PROFILE)
    asked: list[str] = []

    def make(task_id: str) -> StageFolder | None:
        asked.append(task_id)
        return profile

    found, left = work(changed(session, make=make), task, tmp_path)

    assert asked == [PROFILE]
    assert (found.outcome.status, found.outcome.missing_regions) == ("trap", ("kern<7>",))
    assert "profile.log" in left


@pytest.mark.parametrize("make", [None, lambda _: None])
def test_a_bad_end_without_a_profile_build_is_shown(tmp_path: Path, make: Make | None) -> None:
    session, task = opened(tmp_path, TRAPS, profile=False)
    found, _ = work(changed(session, make=make), task, tmp_path)

    assert (found.outcome.status, found.outcome.missing_regions) == ("trap", ())
    assert found.outcome.text.startswith("it trapped; no profile build is at hand")


@pytest.mark.parametrize("committed", [True, False])
def test_who_explains_knows_whose_keep_set_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    trials: list[VerificationCase] = []

    def seen(trial: VerificationCase, *rest: Any) -> VerificationOutcome:
        trials.append(trial)
        return prove(trial, *rest)

    monkeypatch.setattr(verify, "prove", seen)
    session, task = opened(tmp_path, GOOD, profile=False)
    work(changed(session, committed=committed), task, tmp_path)

    assert [trial.committed for trial in trials] == [committed]


LOSE = "lose the phone\n"
KILLED = "exit 137\n"


@pytest.mark.parametrize(
    ("plays", "status"),
    [
        # It did not trap again when it was run again to be explained.
        ([GOOD, TRAPS, GOOD, GOOD], "trap"),
        # Nor could it be run again at all.
        ([GOOD, TRAPS, LOSE], "trap"),
        # Running it again showed more.
        ([GOOD, TRAPS, GOOD, TRAPS, PROGRAMS[PROFILE]], "trap"),
        ([GOOD, "exit 139\n", GOOD, GOOD], "engine-error"),
    ],
)
def test_an_end_that_was_seen_is_not_run_away(
    tmp_path: Path, plays: list[str], status: str
) -> None:
    """Where the profile build is made late, all is run again, and may end otherwise."""
    session, task = opened(tmp_path, TRAPS, profile=True)
    profile = session.done.pop(PROFILE)
    device = Fickle(plays=plays)
    session = changed(session, make=lambda _: profile, devices={"any": device})
    found, _ = work(session, task, tmp_path)

    assert (found.outcome.status, found.exit_code, device.plays) == (status, 1, [])


@pytest.mark.parametrize(
    ("retries", "plays", "status", "text"),
    [
        # A trap stays seen where the device fails while it is explained.
        (1, [GOOD, TRAPS, LOSE, GOOD, GOOD], "trap", ""),
        (1, [GOOD, TRAPS, LOSE, LOSE], "trap", ""),
        # Another bad end than a trap may have been the machine's.
        (1, [GOOD, "exit 139\n", LOSE, GOOD, GOOD], "pass", ""),
        # A program that was killed is run again.
        (0, [KILLED, GOOD, GOOD], "pass", ""),
        (0, [GOOD, KILLED, GOOD, GOOD], "pass", ""),
        (0, ["exit 143\n", GOOD, GOOD], "pass", ""),
        # A reduced program that alone is always killed fails.
        *(
            (0, [GOOD, *[ends, GOOD] * 3], "engine-error", "did not send, in each of 3 runs; the")
            for ends in (KILLED, "exit 143\n")
        ),
        # The profile build is the largest, and the first that a low-memory killer takes.
        (0, [GOOD, TRAPS, KILLED], "trap", "what it needs is not known: pixel-6: load_and_run was"),
    ],
)
def test_a_device_may_fail_on_the_way(
    tmp_path: Path, retries: int, plays: list[str], status: str, text: str
) -> None:
    session, task = opened(tmp_path, TRAPS, profile=True)
    device = Fickle(retries=retries, plays=plays) if retries else Fickle(plays=plays)
    found, _ = work(changed(session, devices={"any": device}), task, tmp_path)

    assert (found.outcome.status, found.exit_code) == (status, int(status != "pass"))
    assert text in found.outcome.text
    assert (found.device.name, device.plays) == ("pixel-6", [])


BY_KILLER = r"SIGKILL.*megtrim did not send"


@pytest.mark.parametrize(
    ("plays", "said"),
    [
        # Before anything bad was seen.
        ([GOOD, LOSE, LOSE], "gone"),
        # A machine that kills the plain program says nothing of trimming.
        ([KILLED, KILLED], BY_KILLER),
        ([GOOD, KILLED, KILLED, GOOD, KILLED, KILLED], BY_KILLER),
        (
            [GOOD, KILLED, GOOD, KILLED, KILLED, GOOD, KILLED, GOOD, KILLED, "exit 1\n"],
            BY_KILLER,
        ),
        ([KILLED, GOOD, KILLED, KILLED], BY_KILLER),
    ],
)
def test_a_device_that_fails_is_a_failure(tmp_path: Path, plays: list[str], said: str) -> None:
    session, task = opened(tmp_path, TRAPS, profile=True)
    device = Fickle(retries=int("gone" in said), plays=plays)

    with pytest.raises(InfrastructureFailure, match=said) as caught:
        work(changed(session, devices={"any": device}), task, tmp_path)
    assert len(caught.value.attempts) == 2
    assert device.plays == []
