from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.chain.graph import (
    VERDICT,
    tasks,
    trace_task,
    verify_task,
)
from megtrim.chain.session import Session
from megtrim.checks.invocation import Invocation
from megtrim.checks.statuses import Contradiction, ScenarioStatus
from megtrim.config.scenarios import all_scenarios
from megtrim.load_and_run.parity import OutputResult
from megtrim.proof.scenario_results import LastProof, scenario_result
from megtrim.regions.trace import TraceFailure, TraceProblem
from megtrim.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from megtrim.verdict import stage as verdict
from unit.build.engines.support import TOOLCHAIN
from unit.trim.stages.built import built, finish
from unit.trim.stages.results import OUTCOME
from unit.trim.stages.support import changed, only_scenario, open_session


@pytest.fixture
def now(tmp_path: Path) -> Session:
    return changed(open_session(tmp_path)[0], committed=True)


LAST = LastProof(days=3, same=True)
STALE = TraceFailure(TraceProblem.STALE, "m/s@any: the model changed", hint="trace it again")


@pytest.mark.parametrize(
    ("failed", "failure", "status"),
    [
        ("verify", STALE, ScenarioStatus.TRACE),
        ("verify", ProductFailure("it crashed"), ScenarioStatus.ENGINE_ERROR),
        ("verify", InfrastructureFailure("no phone"), ScenarioStatus.INFRASTRUCTURE),
        ("profile", ProductFailure("it crashed"), ScenarioStatus.TRACE),
        ("profile", InfrastructureFailure("no phone"), ScenarioStatus.INFRASTRUCTURE),
    ],
)
def test_what_failed_says_how_a_scenario_ended(
    now: Session, failed: str, failure: MegtrimError, status: ScenarioStatus
) -> None:
    task = {"verify": verify_task, "profile": trace_task}[failed](only_scenario(now))
    now.results.failed[task] = failure

    result = scenario_result(only_scenario(now), now, 7, None)

    assert (result.status, result.regions) == (status, 7)
    assert result.text == failure.message.splitlines()[0]


def test_the_command_to_see_it_again_verifies_the_scenario(now: Session) -> None:
    """A probe has one thread, no cache, the first device, and compares no outputs."""
    asked = Invocation(config="a b.yaml", out="o", device="qemu", committed=True)

    result = scenario_result(only_scenario(now), changed(now, invocation=asked), 7, None)

    assert result.reproduce == (
        "megtrim verify --config 'a b.yaml' --out o --committed --device qemu "
        "--scenario m/s@any --again"
    )


def test_a_stale_trace_says_nothing_of_an_old_proof(now: Session) -> None:
    now.results.failed[verify_task(only_scenario(now))] = STALE

    result = scenario_result(only_scenario(now), now, 7, LAST)

    assert result.text == "m/s@any: the model changed (stale trace)"


def test_a_dead_device_is_shown_with_the_last_proof(now: Session) -> None:
    now.results.failed[verify_task(only_scenario(now))] = InfrastructureFailure("no phone")

    result = scenario_result(only_scenario(now), now, 7, LAST)

    assert result.text == "unverified, last proof 3 days old: no phone"


def test_attempts_are_shown(tmp_path: Path) -> None:
    here = built(tmp_path)
    every = {task.id: task for task in tasks(here.request.config, committed=False)}
    scenario = next(iter(all_scenarios(here.request.config)))
    engine = SimpleNamespace(digest="d", commit="", dirty=(), generation=20220507)
    here = changed(
        here, engine=cast(Any, SimpleNamespace(identity=lambda: engine)), toolchain=TOOLCHAIN
    )
    keys = []
    for reported in (("one: link lost", "two: it did not boot"), ("two: it did not boot",)):
        failure = InfrastructureFailure("it did not boot", attempts=reported)
        here.results.failed[verify_task(scenario)] = failure
        result = scenario_result(scenario, here, 7, None)
        assert (result.text, result.attempts) == ("it did not boot", reported)
        keys.append(verdict.inputs(every[VERDICT], here))

    assert keys[0] != keys[1]


DIFFERS = OutputResult(name="o", size_bytes=4, equal=False, largest_difference=0.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"unexplained": True}, "its status is pass, and it is unexplained"),
        ({"outputs": ()}, "its status is pass, and it holds no output"),
        ({"outputs": (DIFFERS,)}, "its status is pass, and output o differs"),
        ({"missing_regions": ("kern<1>",)}, "and it misses 1 region"),
        ({"crash": "ended by signal 5"}, "and its program crashed"),
    ],
)
def test_a_verification_that_says_two_things_is_refused(
    now: Session, change: dict[str, Any], said: str
) -> None:
    task = verify_task(only_scenario(now))
    finish(now, task, {})
    assert scenario_result(only_scenario(now), now, 7, None).status is ScenarioStatus.PASS

    finish(now, f"{task}-changed", {}, outcome=replace(OUTCOME, **change))
    now.results.done[task] = now.results.done.pop(f"{task}-changed")
    with pytest.raises(Contradiction) as caught:
        scenario_result(only_scenario(now), now, 7, None)
    assert caught.value.message.endswith(said)
    assert caught.value.hint == "verify it again: megtrim verify --again"


def test_a_proof_does_not_excuse_the_product(now: Session) -> None:
    now.results.failed[verify_task(only_scenario(now))] = ProductFailure("it crashed")

    assert scenario_result(only_scenario(now), now, 7, LAST).text == "it crashed"
