from dataclasses import replace

import pytest

from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import Invocation, suggest_for_scenario
from megtrim.core.checks.statuses import (
    CheckKind,
    CheckStatus,
    ScenarioStatus,
    UnverifiedPolicy,
    VerdictKind,
    exit_code,
)
from megtrim.core.config.problems import Place
from megtrim.core.proof.results import STOPPED_BEFORE, ScenarioResult, scenario_checks
from megtrim.core.size.rows import BudgetRow, budget_checks
from megtrim.core.trim.results import RegionsUse
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.programs.telemetry import Conditions, Reading
from unit.core.verdict.examples import (
    MOBILENET,
    RESNET,
    TUNED,
    budget,
    by_committed,
    facts,
    failing,
    growth,
    passing,
    scenario,
    trapped,
    unverified,
)

GOOD = "load_and_run: 37.5 MiB → 2.5 MiB (6.7% of plain), 3 of 3 scenarios verified"
NO_REGIONS = RegionsUse(held=900, kept=0, by_tag=())
ONE_REGION = RegionsUse(held=0, kept=1, by_tag=())
PLAIN_ONLY = tuple(replace(item, sizes=item.sizes[:1]) for item in facts().artifacts)
OF_ONE = f"{GOOD.partition(',')[0]}, 1 of 3 scenarios verified, 149 of 900 regions kept"


@pytest.mark.parametrize(
    ("verdict", "headline"),
    [
        (passing(), f"{GOOD}, 149 of 900 regions kept"),
        (by_committed(), f"{GOOD}, 149 regions kept"),
        (join(facts(regions=ONE_REGION)), f"{GOOD}, 1 region kept"),
        (join(facts(regions=replace(ONE_REGION, held=2))), f"{GOOD}, 1 of 2 regions kept"),
        (
            join(facts(trim=replace(facts().trim, quick=True))),
            f"{GOOD}, 149 of 900 regions kept, the quick way, from the plain build alone",
        ),
        (
            failing(),
            (
                "4 checks failed, load_and_run: 37.5 MiB → 2.9 MiB (7.6% of plain), "
                "1 of 3 scenarios verified, 149 of 900 regions kept"
            ),
        ),
        (unverified(expired=True), f"1 check failed, {OF_ONE}"),
        (unverified(), OF_ONE),
        (join(facts(scenarios=(), artifacts=(), regions=NO_REGIONS)), "nothing was measured"),
        (join(facts(artifacts=PLAIN_ONLY, regions=NO_REGIONS)), "3 of 3 scenarios verified"),
        (
            join(facts(scenarios=(scenario(RESNET),), artifacts=(), regions=NO_REGIONS)),
            "1 of 1 scenario verified",
        ),
    ],
)
def test_the_headline_has_failures_sizes_scenarios_and_regions(
    verdict: Verdict, headline: str
) -> None:
    assert verdict.headline == headline


@pytest.mark.parametrize(
    ("verdict", "kind", "status", "unwanted"),
    [
        (passing(), VerdictKind.PASS, 0, 0),
        (failing(), VerdictKind.FAIL, 1, 1),
        (unverified(), VerdictKind.UNVERIFIED, 0, 3),
        (unverified(expired=True), VerdictKind.FAIL, 1, 1),
        (join(facts(scenarios=())), VerdictKind.INCONCLUSIVE, 0, 0),
    ],
)
def test_a_sleeping_phone_never_blocks_but_an_expired_proof_does(
    verdict: Verdict, kind: VerdictKind, status: int, unwanted: int
) -> None:
    assert (verdict.verdict, exit_code(verdict.verdict)) == (kind, status)
    assert exit_code(verdict.verdict, UnverifiedPolicy.FAIL) == unwanted


def test_checks_are_ordered_by_kind_then_subject_and_scenarios_by_id() -> None:
    verdict = passing()
    given = facts()
    turned = join(replace(given, scenarios=given.scenarios[::-1], checks=given.checks[::-1]))

    assert turned == verdict
    assert [item.id for item in verdict.scenarios] == [MOBILENET, RESNET, TUNED]
    scenarios = (MOBILENET, RESNET, TUNED)
    assert [check.id for check in verdict.checks] == [
        "build:plain",
        "build:profile",
        "build:reduced",
        *(f"{kind}:{scenario}" for kind in ("trap", "parity") for scenario in scenarios),
        "size:load_and_run/reduced",
        "growth:load_and_run/reduced",
    ]


def test_checks_point_to_where_their_subject_is_configured() -> None:
    own = Place(file="megtrim/models/resnet/default.yaml", line=2)
    places = {check.id: (check.file, check.line) for check in passing().checks}
    apart = {
        check.id: (check.file, check.line) for check in join(facts(places={RESNET: own})).checks
    }

    assert places[f"trap:{RESNET}"] == ("megtrim.yaml", 21)
    assert places["growth:load_and_run/reduced"] == ("megtrim.yaml", 34)
    assert apart[f"trap:{RESNET}"] == (own.file, 2)
    assert {check.line for check in join(facts(places={}, checks=())).checks} == {1}


def test_without_scenarios_nothing_is_proven() -> None:
    verdict = join(facts(scenarios=()))

    (check,) = [check for check in verdict.checks if check.id == "coverage:scenarios"]
    assert check.status is CheckStatus.INCONCLUSIVE
    assert check.hint == "add scenarios to the models in megtrim.yaml"
    assert "scenario" not in verdict.headline


@pytest.mark.parametrize("count", [0, 1])
def test_a_verdict_that_contradicts_its_checks_cannot_be_made(count: int) -> None:
    verdict = failing()
    with pytest.raises(ValueError, match="expected what its checks add up to: fail"):
        replace(verdict, verdict=VerdictKind.PASS)
    with pytest.raises(ValueError, match="twice, expected each id once"):
        replace(verdict, scenarios=(verdict.scenarios[count],) * 2)
    with pytest.raises(ValueError, match="line below 1"):
        replace(verdict, checks=(replace(verdict.checks[count], line=0), *verdict.checks[2:]))


CALL = Invocation(config="trim/megtrim.yaml", out="../results", committed=True)


def of(scenario: ScenarioResult, *, expired: bool = False) -> dict[str, Check]:
    checks = scenario_checks(
        scenario, invocation=CALL, file="megtrim.yaml", line=21, expired=expired
    )
    return {check.kind: check for check in checks}


@pytest.mark.parametrize(
    ("why", "hint"),
    [
        ("pixel-6 is off", "bring a device of its class back, and verify it there"),
        (STOPPED_BEFORE, "mend what failed before it, and trim again"),
    ],
)
def test_no_device_is_asked_for_where_a_stage_before_failed(why: str, hint: str) -> None:
    text = f"unverified, last proof 2 days old: {why}"
    made = scenario(RESNET, status=ScenarioStatus.UNVERIFIED, text=text)

    assert of(made)["coverage"].hint == hint


PASS = CheckStatus.PASS
FAIL = CheckStatus.FAIL
SKIPPED = CheckStatus.SKIPPED


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (ScenarioStatus.PASS, {"trap": PASS, "parity": PASS}),
        (ScenarioStatus.TRAP, {"trap": FAIL, "parity": SKIPPED}),
        (ScenarioStatus.PARITY, {"trap": PASS, "parity": FAIL}),
        (ScenarioStatus.ENGINE_ERROR, {"engine": FAIL, "trap": SKIPPED, "parity": SKIPPED}),
        (ScenarioStatus.TRACE, {"trace": FAIL, "trap": SKIPPED, "parity": SKIPPED}),
        (
            ScenarioStatus.INFRASTRUCTURE,
            {"device": CheckStatus.INFRASTRUCTURE, "trap": SKIPPED, "parity": SKIPPED},
        ),
        (
            ScenarioStatus.UNVERIFIED,
            {"coverage": CheckStatus.UNVERIFIED, "trap": SKIPPED, "parity": SKIPPED},
        ),
    ],
)
def test_every_scenario_has_a_trap_and_a_parity_check(
    status: ScenarioStatus, expected: dict[str, CheckStatus]
) -> None:
    """A damaged model is an engine error and no trap; what was not reached is skipped."""
    checks = of(scenario(RESNET, status=status))

    assert expected == {kind: check.status for kind, check in checks.items()}


@pytest.mark.parametrize("status", [ScenarioStatus.UNVERIFIED, ScenarioStatus.INFRASTRUCTURE])
def test_an_expired_proof_fails(status: ScenarioStatus) -> None:
    checks = of(scenario(RESNET, status=status, text="last proof 20 days old"), expired=True)

    assert checks["coverage"].status is FAIL
    assert checks["coverage"].text == "last proof 20 days old"
    assert checks["coverage"].reproduce == CALL.again("stage verdict")
    assert "device" not in checks


def test_a_trap_names_model_arguments_regions_and_how_to_see_it_again() -> None:
    check = of(trapped())["trap"]

    assert check.detail == (
        "model: resnet18-s\n"
        "arguments: --cpu --enable-nchw44\n"
        "device: qemu-arm64\n"
        "regions that are needed and were not kept: 2\n"
        "  megdnn_fallback_winograd<-1290123641, 0>\n"
        "  megdnn_gi_conv_f32<7, megdnn::ConvBiasForward>\n"
        "end of the log:\n"
        "Trace/breakpoint trap"
    )
    assert check.id == "trap:resnet18-s/tuned@armv82-dotprod"
    assert (check.file, check.line, check.time_s) == ("megtrim.yaml", 21, 1.25)
    assert check.reproduce == trapped().reproduce
    assert check.hint == suggest_for_scenario(CheckKind.TRAP, CALL)


THROTTLED = Conditions(before=Reading(cpu_c=40.0), after=Reading(cpu_c=71.5, thermal_status=2))


def test_a_crash_and_its_conditions_stand_before_the_log() -> None:
    checks = of(replace(trapped(), crash="signal 5\n  #00 pc 0\n", conditions=THROTTLED))

    assert checks["trap"].detail.endswith(
        "  megdnn_gi_conv_f32<7, megdnn::ConvBiasForward>\n"
        "measured before and after:\n"
        "  CPU: 40.0 °C → 71.5 °C\n"
        "  thermal status: unknown → 2 (moderate)\n"
        "  time not valid: throttled after the run: thermal status 2 (moderate)\n"
        "crash:\n"
        "  signal 5\n"
        "    #00 pc 0\n"
        "end of the log:\n"
        "Trace/breakpoint trap"
    )
    assert checks["trap"].text == trapped().text
    assert checks["parity"].detail == ""


def test_a_time_that_does_not_count_is_said_next_to_it() -> None:
    checks = of(scenario(RESNET, conditions=THROTTLED))
    cool = of(scenario(RESNET, conditions=replace(THROTTLED, after=Reading(cpu_c=41.0))))

    assert checks["trap"].status is PASS
    assert checks["trap"].text == (
        "ran to its end, no trap; "
        "time not valid: throttled after the run: thermal status 2 (moderate)"
    )
    assert checks["parity"].text == "outputs equal to the last bit (1 tensor, 40 bytes)"
    assert cool["trap"].text == "ran to its end, no trap"


def test_a_parity_break_names_the_outputs_that_differ_alone() -> None:
    outputs = (
        OutputResult(name="good", size_bytes=4, equal=True, largest_difference=0.0),
        OutputResult(name="near", size_bytes=8, equal=False, largest_difference=0.0125),
        OutputResult(name="gone", size_bytes=0, equal=False, largest_difference=None),
    )
    broken = scenario(RESNET, status=ScenarioStatus.PARITY, outputs=outputs, arguments=())

    lines = of(broken)["parity"].detail.splitlines()

    assert lines[1] == "arguments: none"
    assert lines[3:5] == [
        "output near: 8 bytes, largest difference 0.0125",
        "output gone: 0 bytes, not comparable",
    ]
    assert "good" not in "\n".join(lines)


def test_a_passed_scenario_is_not_failed_by_an_old_proof() -> None:
    """A passed check has no detail, and the time counts once."""
    checks = of(scenario(RESNET, time_s=1.25), expired=True)

    assert {kind: check.status for kind, check in checks.items()} == {"trap": PASS, "parity": PASS}
    assert [check.detail for check in checks.values()] == ["", ""]
    assert [check.hint for check in checks.values()] == ["", ""]
    assert sum(check.time_s for check in checks.values()) == 1.25
    assert of(trapped())["parity"].time_s == 0.0


LAPSED = "the waiver of Ann expired on 2027-01-31: new model"
RENEW = "make it smaller, raise the budget, or have the owner of the waiver renew it"


@pytest.mark.parametrize(
    ("row", "status", "hint"),
    [
        (budget(), PASS, ""),
        (budget(used=2_884_608, waiver="new model"), PASS, ""),
        (growth(used=None, status=CheckStatus.SKIPPED), SKIPPED, ""),
        (budget(used=2_884_608, status=CheckStatus.FAIL, lapsed=LAPSED), FAIL, RENEW),
        (
            growth(used=16_385, status=CheckStatus.FAIL, owner="Ann"),
            FAIL,
            (
                "make it smaller, raise the budget, or add a waiver with a reason; "
                "Ann owns this budget"
            ),
        ),
    ],
)
def test_a_limit_has_the_check_that_it_was_judged_by(
    row: BudgetRow, status: CheckStatus, hint: str
) -> None:
    start = Place(file="megtrim.yaml", line=34)
    (check,) = budget_checks((row,), invocation=CALL, places={}, start=start)

    assert (check.id, check.status, check.text, check.line) == (row.check_id, status, row.text, 34)
    assert check.hint == hint
    again = "megtrim size --config trim/megtrim.yaml --out ../results --committed"
    assert check.reproduce == (again if status is FAIL else "")
