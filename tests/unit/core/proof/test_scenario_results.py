from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.chain.graph import REDUCED, VERDICT, tasks, trace_task, verify_task
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import Contradiction, ScenarioStatus
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.keep.trace import TraceFailure, TraceProblem
from megtrim.core.proof.results import VerifyResult
from megtrim.core.proof.scenario_results import (
    LastProof,
    ahead,
    find_expired,
    last_proofs,
    scenario_result,
)
from megtrim.core.trim.builds import applications
from megtrim.core.verdict import stage as verdict
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from unit.core.trim.stages.built import built, finish
from unit.core.trim.stages.results import OUTCOME, sample
from unit.core.trim.stages.support import changed, only_scenario, open_session
from unit.places.compile.projects.support import TOOLCHAIN


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


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (STALE, "m/s@any: the model changed (stale trace)"),
        (ProductFailure("it crashed"), "it crashed"),
        (InfrastructureFailure("no phone"), "unverified, last proof 3 days old: no phone"),
    ],
)
def test_a_dead_device_alone_is_shown_with_the_last_proof(
    now: Session, failure: MegtrimError, text: str
) -> None:
    now.results.failed[verify_task(only_scenario(now))] = failure

    assert scenario_result(only_scenario(now), now, 7, LAST).text == text


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
        ({"unexplained": True}, "its status is pass, but it is unexplained"),
        ({"outputs": ()}, "its status is pass, and it has no output"),
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


DAY_S = 86_400.0
ID = "m/s@any"


def prove(session: Session, *, reduced: str, day: str = "2027-01-28", status: str = "pass") -> None:
    outcome = replace(OUTCOME, status=ScenarioStatus(status))
    result = sample(VerifyResult, day=date.fromisoformat(day), outcome=outcome)
    session.services.store.ensure(
        "verify", ID, {"reduced": reduced}, lambda _: result, VerifyResult
    )


@pytest.fixture
def chain(tmp_path: Path) -> Session:
    return built(tmp_path, today=date(2027, 1, 31))


def program(session: Session) -> str:
    return session.done[REDUCED].files["bin/load_and_run"]


def test_without_a_message_from_earlier_there_is_no_proof(chain: Session) -> None:
    assert last_proofs(chain) == {"m/s@any": None, "m/s@big": None, "m/t@any": None}


@pytest.mark.parametrize(
    ("changes", "proof"),
    [
        ({}, LastProof(days=3, same=True)),
        ({"status": "trap"}, None),
        # Of tomorrow: it is of today.
        ({"day": "2027-02-01"}, LastProof(days=0, same=True)),
        ({"day": "2027-02-02"}, LastProof(days=-2, same=True)),
    ],
)
def test_a_proof_of_this_program(
    chain: Session, changes: dict[str, str], proof: LastProof | None
) -> None:
    prove(chain, reduced=program(chain), **changes)

    assert last_proofs(chain)[ID] == proof


@pytest.mark.parametrize("there", [True, False])
def test_a_proof_of_an_earlier_program_counts(chain: Session, there: bool) -> None:
    """Code that changes every day would else never be held to a device."""
    prove(chain, reduced="earlier")
    if not there:
        del chain.results.done[REDUCED]

    assert last_proofs(chain)[ID] == LastProof(days=3, same=False)


def test_a_program_with_another_library_next_to_it_is_another(
    chain: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(chain, reduced=program(chain))
    companion = {"reduced": program(chain), "reduced libengine.so": "b" * 64}
    monkeypatch.setattr(applications, "digests", lambda *_: companion)

    assert last_proofs(chain)[ID] == LastProof(days=3, same=False)


def test_a_result_now_needs_no_proof(chain: Session) -> None:
    scenario = next(each for each in all_scenarios(chain.request.config) if each.id == ID)
    prove(chain, reduced=program(chain))
    previous = chain.services.store.previous("verify", VerifyResult, ID)
    assert previous is not None
    chain.results.done[verify_task(scenario)] = previous

    assert ID not in last_proofs(chain)


@pytest.mark.parametrize(
    ("proof", "reported", "old"),
    [
        (LastProof(days=0, same=True), "last proof 0 days old", False),
        (LastProof(days=1, same=True), "last proof 1 day old", False),
        (LastProof(days=14, same=True), "last proof 14 days old", False),
        (LastProof(days=15, same=True), "last proof 15 days old, allowed are 14 days", True),
        (LastProof(days=-2, same=True), "last proof of a day to come, allowed are 14 days", True),
        (LastProof(days=3, same=False), "last proof 3 days old, of another program", False),
    ],
)
def test_a_proof_is_shown_with_its_age(proof: LastProof, reported: str, old: bool) -> None:
    allowed: Any = 14 * DAY_S

    assert proof.describe_age(allowed) == reported
    assert find_expired({ID: proof, "never": None}, allowed_s=allowed) == ({ID} if old else set())


@pytest.mark.parametrize(
    ("day", "reported"),
    [
        ("2027-02-01", []),
        ("2027-02-02", ["this is the verdict of 2027-01-31, of what was verified on 2027-02-02"]),
    ],
)
def test_a_day_before_what_was_verified_is_shown(
    chain: Session, day: str, reported: list[str]
) -> None:
    prove(chain, reduced=program(chain), day=day)
    folder = chain.services.store.previous("verify", VerifyResult, ID)
    assert folder is not None
    chain.results.done[f"verify/{ID}"] = folder

    assert list(ahead(chain)) == reported
