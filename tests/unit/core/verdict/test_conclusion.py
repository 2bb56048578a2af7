"""The conclusion, its words, and the stage."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.chain.graph import PLAIN, PROFILE, VERDICT, tasks
from megtrim.core.checks.check import ScenarioOutcome
from megtrim.core.checks.statuses import (
    CheckKind,
    CheckStatus,
    Contradiction,
    ScenarioStatus,
    UnverifiedPolicy,
    VerdictKind,
    decide,
    expect_consistent,
)
from megtrim.core.size.rows import BudgetRow
from megtrim.core.trim.results import Rebuild, RegionsUse
from megtrim.core.verdict import stage as verdict
from megtrim.core.verdict.conclusion import (
    conclude,
    expect_budget_check,
    expect_scenario_checks,
    read_conclusion,
)
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.core.verdict.wording import describe_rebuild, growth_of, list_urgent, regions_of
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.render.formatting import group_digits, kept_of_held, percent, seconds
from megtrim.libs.util.errors import (
    InfrastructureFailure,
    InputError,
    MegtrimError,
    ProductFailure,
)
from unit.core.trim.stages import support as stages
from unit.core.verdict.examples import (
    budget,
    compared,
    facts,
    failing,
    hostile,
    passing,
    unverified,
)
from unit.core.verdict.test_model import changed

SOURCE = "v.json"


@pytest.mark.parametrize("make", [passing, failing, hostile, unverified])
def test_it_is_the_conclusion_of_the_whole_verdict(make: Callable[[], Verdict]) -> None:
    expected = None if make().performance else conclude(make())

    assert read_conclusion(to_json(make()), source=SOURCE) == expected


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("version", 1, "version: found 1, expected 3"),
        ("version", ..., "found no verdict"),
        ("verdict", "good", "'good' is not a valid VerdictKind"),
        ("verdict", "fail", "verdict: found fail, expected what its checks add up to: pass"),
        ("headline", 5, "found no verdict"),
        ("checks", {}, "found no verdict"),
        ("checks.0.line", 0, "checks: found a line below 1, expected 1 or more"),
        ("checks.0.status", "passed", "'passed' is not a valid CheckStatus"),
        ("checks.1.id", "build:plain", "checks: found id 'build:plain' twice"),
        ("scenarios.2.status", "ok", "'ok' is not a valid ScenarioStatus"),
        ("scenarios.2.status", "trap", "its status is trap, and none of its checks failed"),
        ("scenarios.0.outputs.0.equal", False, "its status is pass, and output"),
        ("scenarios.0.outputs.0", [], "found no verdict"),
        ("budgets.0.limit", 1, "exceeded: true, and its check is pass"),
        ("budgets.0.limit", "2 MiB", "found no verdict"),
        ("budgets.0.status", "fail", "its status is fail, exceeded: false"),
        ("unverified", None, "None is not a valid UnverifiedPolicy"),
        ("artifacts.0.sizes", [5], "found no verdict"),
        ("artifacts.0.sizes.2.size_bytes", "2 MiB", "found no verdict (size_bytes '2 MiB')"),
        ("performance", ..., "found no verdict"),
    ],
)
def test_a_wrong_value_is_refused(path: str, value: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_conclusion(changed(path, value), source=SOURCE)

    assert caught.value.message.startswith("v.json:1: ")
    assert said in caught.value.message
    assert caught.value.hint.endswith("make the verdict again")


@given(st.sampled_from(sorted(json.loads(to_json(passing())))), st.integers() | st.text())
def test_what_the_whole_reader_takes_it_takes_alike(key: str, value: object) -> None:
    text = changed(key, value)
    try:
        verdict = parse_verdict(text, source=SOURCE)
    except InputError:
        return

    assert read_conclusion(text, source=SOURCE) == conclude(verdict)


PASS = CheckStatus.PASS
FAIL = CheckStatus.FAIL
SKIPPED = CheckStatus.SKIPPED
BOTH = {CheckKind.TRAP: PASS, CheckKind.PARITY: PASS}
TRAPPED = {CheckKind.TRAP: FAIL, CheckKind.PARITY: SKIPPED}
UNKNOWN = {CheckKind.TRAP: SKIPPED, CheckKind.PARITY: SKIPPED}


@pytest.mark.parametrize(
    ("status", "checks", "said"),
    [
        (ScenarioStatus.PASS, BOTH, ""),
        (ScenarioStatus.TRAP, TRAPPED, ""),
        (ScenarioStatus.ENGINE_ERROR, {**UNKNOWN, CheckKind.ENGINE: FAIL}, ""),
        (ScenarioStatus.INFRASTRUCTURE, {**UNKNOWN, CheckKind.DEVICE: PASS}, ""),
        (ScenarioStatus.UNVERIFIED, {**UNKNOWN, CheckKind.COVERAGE: FAIL}, ""),
        (ScenarioStatus.TRAP, BOTH, "its status is trap, and none of its checks failed"),
        (ScenarioStatus.PARITY, UNKNOWN, "its status is parity, and none of its checks failed"),
        (ScenarioStatus.UNVERIFIED, BOTH, "its status is unverified, and its trap check passed"),
        (ScenarioStatus.TRAP, {CheckKind.TRAP: FAIL}, "it has no check of kind parity"),
        (ScenarioStatus.PASS, {}, "it has no check of kind trap"),
    ],
)
def test_a_scenario_that_ended_worse_than_its_checks_is_refused(
    status: ScenarioStatus, checks: dict[CheckKind, CheckStatus], said: str
) -> None:
    if not said:
        expect_scenario_checks("m/s@c", status, checks)
        return
    with pytest.raises(Contradiction) as caught:
        expect_scenario_checks("m/s@c", status, checks)

    assert caught.value.message == f"scenario m/s@c: {said}"


OVER = 2_883_585
"""One byte more than the budget allows."""


@pytest.mark.parametrize(
    ("row", "found", "agrees"),
    [
        (budget(), PASS, True),
        (budget(status=CheckStatus.SKIPPED), SKIPPED, True),
        (budget(used=OVER, status=CheckStatus.FAIL), FAIL, True),
        (budget(used=OVER, waiver="new model"), PASS, True),
        (budget(status=CheckStatus.FAIL), PASS, False),
        (budget(used=OVER), PASS, False),
        (budget(used=OVER), FAIL, False),
        (budget(), None, False),
    ],
)
def test_a_budget_that_ended_worse_than_its_check_is_refused(
    row: BudgetRow, found: CheckStatus | None, agrees: bool
) -> None:
    if agrees:
        expect_budget_check(row, found)
        return
    with pytest.raises(Contradiction, match="budget size:load_and_run/reduced: its status is "):
        expect_budget_check(row, found)


UNVERIFIED = CheckStatus.UNVERIFIED
INCONCLUSIVE = CheckStatus.INCONCLUSIVE
INFRASTRUCTURE = CheckStatus.INFRASTRUCTURE


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([PASS], VerdictKind.PASS),
        ([PASS, SKIPPED], VerdictKind.PASS),
        ([], VerdictKind.INCONCLUSIVE),
        ([SKIPPED], VerdictKind.INCONCLUSIVE),
        ([PASS, INCONCLUSIVE], VerdictKind.INCONCLUSIVE),
        ([PASS, INCONCLUSIVE, UNVERIFIED], VerdictKind.UNVERIFIED),
        ([PASS, INFRASTRUCTURE], VerdictKind.UNVERIFIED),
        ([UNVERIFIED], VerdictKind.UNVERIFIED),
        ([PASS, FAIL], VerdictKind.FAIL),
        ([FAIL, UNVERIFIED, INFRASTRUCTURE, INCONCLUSIVE, SKIPPED], VerdictKind.FAIL),
    ],
)
def test_the_worst_status_decides(statuses: list[CheckStatus], expected: VerdictKind) -> None:
    assert expected is decide(statuses)
    assert expected is decide(reversed(statuses))


GOOD = OutputResult(name="o", size_bytes=4, equal=True, largest_difference=0.0)
BAD = OutputResult(name="o", size_bytes=4, equal=False, largest_difference=0.5)
EMPTY = OutputResult(name="o", size_bytes=0, equal=True, largest_difference=0.0)
ODD = OutputResult(name="o", size_bytes=4, equal=True, largest_difference=None)
OPEN_STATUSES = {ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED}


def expect(
    status: ScenarioStatus,
    *outputs: OutputResult,
    missing: tuple[str, ...] = (),
    crash: str = "",
    compared: bool = True,
) -> None:
    outcome = ScenarioOutcome(
        status=status, text="", time_s=0.0, outputs=outputs, missing_regions=missing, crash=crash
    )
    expect_consistent("m/s@any", outcome, compared=compared)


def test_a_pass_holds_equal_outputs_alone() -> None:
    """At least one, unless nothing was to be compared."""
    expect(ScenarioStatus.PASS, GOOD)
    expect(ScenarioStatus.PASS, compared=False)
    for outputs in ((), (BAD,), (EMPTY,), (ODD,), (GOOD, GOOD), (GOOD, BAD)):
        with pytest.raises(Contradiction, match=r"^m/s@any: its status is pass, and "):
            expect(ScenarioStatus.PASS, *outputs)


@pytest.mark.parametrize("status", [ScenarioStatus.PASS, *sorted(OPEN_STATUSES)])
def test_only_a_failure_holds_signs_of_one(status: ScenarioStatus) -> None:
    for both in (True, False):
        with pytest.raises(Contradiction, match="output o differs"):
            expect(status, BAD, compared=both)
        with pytest.raises(Contradiction, match="it misses 1 region"):
            expect(status, GOOD, missing=("kern<1>",), compared=both)
        with pytest.raises(Contradiction, match="its program crashed"):
            expect(status, GOOD, crash="ended by signal 5", compared=both)


@pytest.mark.parametrize(
    "status", sorted(set(ScenarioStatus) - OPEN_STATUSES - {ScenarioStatus.PASS})
)
def test_a_failure_stays_one(status: ScenarioStatus) -> None:
    expect(status)
    expect(status, BAD, GOOD, missing=("kern<1>",), crash="ended by signal 5")


@pytest.mark.parametrize(
    ("time_s", "expected"),
    [
        (0.0, "0.00 s"),
        (0.754, "0.75 s"),
        (9.99, "9.99 s"),
        (10.0, "10 s"),
        (59.4, "59 s"),
        (60.0, "1 min 0 s"),
        (61.2, "1 min 1 s"),
        (1620.5, "27 min 0 s"),
    ],
)
def test_times(time_s: float, expected: str) -> None:
    assert seconds(time_s) == expected


def test_numbers_in_words() -> None:
    assert (group_digits(39_300_016), percent(0.0672)) == ("39,300,016", "6.7%")
    assert (kept_of_held(1_149, 1_900), kept_of_held(1_149, 0)) == ("1,149 of 1,900", "1,149")
    sizes = compared().artifacts[0].sizes
    assert [growth_of(size) for size in sizes] == ["0 B", "", "-2 KiB"]
    assert describe_rebuild(Rebuild(compiled=2, units=1180)) == "2 of 1,180 files"


def test_what_needs_a_person_comes_the_worst_first() -> None:
    assert list_urgent(passing()) == ()
    assert [check.kind for check in list_urgent(failing())] == ["trap", "parity", "size", "growth"]
    assert [check.kind for check in list_urgent(unverified(expired=True))] == ["coverage", "device"]
    assert [check.kind for check in list_urgent(unverified())] == ["device", "coverage"]
    assert [check.kind for check in list_urgent(join(facts(scenarios=())))] == ["coverage"]


@pytest.mark.parametrize(
    ("held", "kept", "expected"),
    [
        (900, 149, ["", "900 of 900", "149 of 900"]),
        (900, 0, ["", "900 of 900", "900 of 900"]),
        (0, 1_490, ["", "", "1,490"]),
        (0, 0, ["", "", ""]),
    ],
)
def test_regions_of_each_variant(held: int, kept: int, expected: list[str]) -> None:
    verdict = join(facts(regions=RegionsUse(held=held, kept=kept, by_tag=())))

    assert [regions_of(size, verdict) for size in verdict.artifacts[0].sizes] == expected


@pytest.mark.parametrize(("committed", "subjects"), [(True, []), (False, ["build/profile"])])
def test_only_stages_of_the_plan_are_checked(
    tmp_path: Path, committed: bool, subjects: list[str]
) -> None:
    """A profile build that was made for a trap and failed is not one of them."""
    here = stages.changed(stages.open_session(tmp_path)[0], committed=committed)
    here.results.failed[PROFILE] = ProductFailure("it does not compile")
    every = {task.id: task for task in tasks(here.request.config, committed=committed)}

    assert [check.subject for check in verdict._stage_checks(every[VERDICT], here)] == subjects


@pytest.mark.parametrize(
    ("failure", "policy"),
    [
        (InfrastructureFailure("stopped: the disk is full"), UnverifiedPolicy.FAIL),
        (ProductFailure("it does not compile"), UnverifiedPolicy.WARN),
    ],
)
def test_a_build_that_the_machine_did_not_make_is_never_green(
    tmp_path: Path, failure: MegtrimError, policy: UnverifiedPolicy
) -> None:
    """A missing device leaves the check green by default; without a program nothing is known."""
    here = stages.open_session(tmp_path)[0]
    here.results.failed[PLAIN] = failure
    every = {task.id: task for task in tasks(here.request.config)}
    checks = verdict._stage_checks(every[VERDICT], here)

    assert verdict._choose_policy(UnverifiedPolicy.WARN, checks) is policy
