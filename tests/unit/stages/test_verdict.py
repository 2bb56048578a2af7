"""The verdict stage: how scenarios that have no result are told, and what it rests on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.errors import InfrastructureFailure, MegtrimError, ProductFailure
from megtrim.midout.keepset import dump_keep_set
from megtrim.midout.trace import TraceFailure, TraceProblem
from megtrim.pipeline.results import FunctionCount
from megtrim.pipeline.session import Session
from megtrim.pipeline.summary import keepset_usage
from megtrim.pipeline.summary.last_proof import LastProof
from megtrim.pipeline.summary.scenario_results import scenario_result
from megtrim.plan.graph import (
    FUNCTIONS,
    HEADER,
    PROFILE,
    REDUCED,
    VERDICT,
    tasks,
    trace_task,
    verify_task,
)
from megtrim.stage_result import StageResult
from megtrim.stages import verdict
from megtrim.verdict.content import Contradiction, OutputResult
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.statuses import ScenarioStatus
from unit.engines.support import TOOLCHAIN
from unit.stages.built import built
from unit.stages.results import OUTCOME, sample, type_of
from unit.stages.support import changed, keep_set, open_session


@pytest.fixture
def now(tmp_path: Path) -> Session:
    """A session in committed mode."""
    return changed(open_session(tmp_path)[0], committed=True)


def only(session: Session) -> Scenario:
    [scenario] = all_scenarios(session.request.config)
    return scenario


def done(session: Session, task: str, files: dict[str, str], **changes: Any) -> None:
    """Let a task have left these files, and a result with these changes."""
    stage, _, name = task.partition("/")

    def produce(folder: Path) -> StageResult:
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        return sample(kind, **changes)

    kind = type_of(task)
    session.results.done[task] = session.services.store.ensure(stage, name, {}, produce, kind)[0]


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
    """A scenario that is not what was traced is a matter of its trace, whoever finds out."""
    task = {"verify": verify_task, "profile": trace_task}[failed](only(now))
    now.results.failed[task] = failure

    result = scenario_result(only(now), now, 7, None)

    assert (result.status, result.regions) == (status, 7)
    assert result.text == failure.message.splitlines()[0]


def test_the_command_to_see_it_again_verifies_the_scenario(now: Session) -> None:
    """A probe has one thread, no cache, the first device, and compares no outputs."""
    asked = Invocation(config="a b.yaml", out="o", device="qemu", committed=True)

    result = scenario_result(only(now), changed(now, invocation=asked), 7, None)

    assert result.reproduce == (
        "megtrim verify --config 'a b.yaml' --out o --committed --device qemu "
        "--scenario m/s@any --again"
    )


def test_a_stale_trace_says_nothing_of_an_old_proof(now: Session) -> None:
    """What was proved is another scenario."""
    now.results.failed[verify_task(only(now))] = STALE

    result = scenario_result(only(now), now, 7, LAST)

    assert result.text == "m/s@any: the model changed (stale trace)"


def test_a_dead_device_is_told_with_the_last_proof(now: Session) -> None:
    """Its age says how much is known all the same."""
    now.results.failed[verify_task(only(now))] = InfrastructureFailure("no phone")

    result = scenario_result(only(now), now, 7, LAST)

    assert result.text == "unverified, last proof 3 days old: no phone"


def test_attempts_are_told(tmp_path: Path) -> None:
    """Each machine that failed, in order; other attempts are another verdict."""
    here = built(tmp_path)
    every = {task.id: task for task in tasks(here.request.config, committed=False)}
    scenario = next(iter(all_scenarios(here.request.config)))
    engine = SimpleNamespace(digest="d", commit="", dirty=(), generation=20220507)
    here = changed(
        here, engine=cast(Any, SimpleNamespace(identity=lambda: engine)), toolchain=TOOLCHAIN
    )
    keys = []
    for told in (("one: link lost", "two: it did not boot"), ("two: it did not boot",)):
        failure = InfrastructureFailure("it did not boot", attempts=told)
        here.results.failed[verify_task(scenario)] = failure
        result = scenario_result(scenario, here, 7, None)
        assert (result.text, result.attempts) == ("it did not boot", told)
        keys.append(verdict.inputs(every[VERDICT], here))

    assert keys[0] != keys[1]


DIFFERS = OutputResult(name="o", size_bytes=4, equal=False, largest_difference=0.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"unexplained": True}, "its status is pass, and it is unexplained"),
        ({"outputs": ()}, "its status is pass, and it holds no output"),
        ({"outputs": (DIFFERS,)}, "its status is pass, and output o differs"),
        ({"missing_regions": ("kern<1>",)}, "and 1 regions that it needs are missing"),
        ({"crash": "ended by signal 5"}, "and its program crashed"),
    ],
)
def test_a_verification_that_says_two_things_is_refused(
    now: Session, change: dict[str, Any], said: str
) -> None:
    """Anybody may write to the folder of results; the hint says how it is made again."""
    task = verify_task(only(now))
    done(now, task, {})
    assert scenario_result(only(now), now, 7, None).status is ScenarioStatus.PASS

    done(now, f"{task}-changed", {}, outcome=replace(OUTCOME, **change))
    now.results.done[task] = now.results.done.pop(f"{task}-changed")
    with pytest.raises(Contradiction) as caught:
        scenario_result(only(now), now, 7, None)
    assert caught.value.message.endswith(said)
    assert caught.value.hint == "verify it again: megtrim verify --again"


def test_a_proof_does_not_excuse_the_product(now: Session) -> None:
    """Only where nothing is known does its age say something."""
    now.results.failed[verify_task(only(now))] = ProductFailure("it crashed")

    assert scenario_result(only(now), now, 7, LAST).text == "it crashed"


def test_regions_of_a_scenario_come_from_its_trace_or_the_committed_file(now: Session) -> None:
    """Whichever of them was used."""
    assert keepset_usage.traced_regions(now) == {}
    done(now, HEADER, {"keepset.json": dump_keep_set(keep_set(1, 2, 3))})
    assert keepset_usage.traced_regions(now) == {"m/s@any": 3}

    traced = changed(now, committed=False)
    assert keepset_usage.traced_regions(traced) == {}
    done(now, trace_task(only(now)), {}, regions=5)
    assert keepset_usage.traced_regions(traced) == {"m/s@any": 5}


class Texts:
    """An engine without names."""

    def texts(self) -> dict[str, str]:
        return {}


@pytest.mark.parametrize(
    ("committed", "held", "of_tags"),
    [(False, 4, [("kern", 2, 3), ("other", 0, 1)]), (True, 0, [("kern", 2, 0)])],
)
def test_a_profile_build_that_a_trap_made_is_not_counted(
    now: Session, committed: bool, held: int, of_tags: list[tuple[str, int, int]]
) -> None:
    """The next run does not make it, and its verdict must be the same."""
    here = changed(now, committed=committed, engine=cast(Any, Texts()))
    done(here, HEADER, {"keepset.json": dump_keep_set(keep_set(1, 2))})
    done(here, PROFILE, {"regions.txt": "kern<1>\nkern<2>\nkern<3>\nother<1>\n"})
    every = {task.id: task for task in tasks(here.request.config, committed=committed)}

    use = keepset_usage.regions_use(every[VERDICT], here)

    assert (use.held, use.kept) == (held, 2)
    assert [(each.tag, each.kept, each.held) for each in use.by_tag] == of_tags


@pytest.mark.parametrize(("committed", "subjects"), [(True, []), (False, ["build/profile"])])
def test_only_stages_of_the_plan_are_checked(
    now: Session, committed: bool, subjects: list[str]
) -> None:
    """A profile build that was made for a trap and failed is not one of them."""
    here = changed(now, committed=committed)
    here.results.failed[PROFILE] = ProductFailure("it does not compile")
    every = {task.id: task for task in tasks(here.request.config, committed=committed)}

    checks = verdict._stage_checks(every[VERDICT], here)

    assert [check.subject for check in checks] == subjects


def test_what_ran_and_what_stays_are_two_numbers(now: Session) -> None:
    """More stays than ran: what is kept by name, and what the platform needs."""
    done(now, FUNCTIONS, {}, functions=487)
    counts = {
        "a": FunctionCount(held=1_900, dropped=1_300),
        "b": FunctionCount(held=64, dropped=34),
    }
    done(now, REDUCED, {}, functions=counts)

    assert verdict._describe_result(FUNCTIONS, now.results) == "487 functions ran"
    assert verdict._describe_result(REDUCED, now.results) == (
        "linked without 1334 of 1964 functions; 630 stay: what ran, and what must stay whatever ran"
    )
    assert [(each.kept, each.held) for each in keepset_usage.functions_use(now.results)] == [
        (600, 1_900),
        (30, 64),
    ]
