"""The checks of one scenario and of one limit of a budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.load_and_run.telemetry import Conditions, Reading
from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.verdict import next_step
from megtrim.verdict.checks import budget_check, scenario_checks
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.model import Check, OutputResult, ScenarioResult
from megtrim.verdict.statuses import CheckKind, CheckStatus, ScenarioStatus
from unit.verdict.examples import RESNET, budget, growth, scenario, trapped

CALL = Invocation(config="trim/megtrim.yaml", out="../results", committed=True)


def of(scenario: ScenarioResult, *, expired: bool = False) -> dict[str, Check]:
    """Return a scenario's checks by kind."""
    checks = scenario_checks(
        scenario, invocation=CALL, file="megtrim.yaml", line=21, expired=expired
    )
    return {check.kind: check for check in checks}


PASS, FAIL, SKIPPED = CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.SKIPPED


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
    """Whatever keeps a scenario from being verified, past its expiry it is a failure."""
    checks = of(scenario(RESNET, status=status, text="last proof 20 days old"), expired=True)

    assert checks["coverage"].status is FAIL
    assert checks["coverage"].text == "last proof 20 days old"
    assert checks["coverage"].reproduce == CALL.again("stage verdict")
    assert "device" not in checks


def test_a_passed_scenario_is_not_failed_by_an_old_proof() -> None:
    """What has just passed needs no older proof."""
    checks = of(scenario(RESNET), expired=True)

    assert {kind: check.status for kind, check in checks.items()} == {"trap": PASS, "parity": PASS}


def test_a_trap_names_model_arguments_regions_and_how_to_see_it_again() -> None:
    """A failed check can be read alone."""
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
    assert check.hint == next_step.for_scenario(CheckKind.TRAP, CALL)


THROTTLED = Conditions(before=Reading(cpu_c=40.0), after=Reading(cpu_c=71.5, thermal_status=2))


def test_a_crash_and_its_conditions_stand_before_the_log() -> None:
    """In the detail of the check that the scenario ended at."""
    crashed = replace(trapped(), crash="signal 5\n  #00 pc 0\n", conditions=THROTTLED)

    checks = of(crashed)

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
    """A passed scenario stays passed: it is its time that is not valid."""
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
    """Equal outputs are no news."""
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


def test_a_passed_check_has_no_detail_and_the_time_counts_once() -> None:
    """The sum of the times of a scenario's checks is its time."""
    checks = of(scenario(RESNET, time_s=1.25))

    assert [check.detail for check in checks.values()] == ["", ""]
    assert [check.hint for check in checks.values()] == ["", ""]
    assert sum(check.time_s for check in checks.values()) == 1.25
    assert of(trapped())["parity"].time_s == 0.0


LAPSED = "the waiver of Ann lapsed on 2027-01-31: new model"
RENEW = "make it smaller, raise the budget, or have the owner of the waiver renew it"


@pytest.mark.parametrize(
    ("row", "status", "hint"),
    [
        (budget(), PASS, ""),
        (budget(used_bytes=2_884_608, waiver="new model"), PASS, ""),
        (growth(used_bytes=None, status=BudgetStatus.SKIPPED), SKIPPED, ""),
        (budget(used_bytes=2_884_608, status=BudgetStatus.FAIL, lapsed=LAPSED), FAIL, RENEW),
        (
            growth(used_bytes=16_385, status=BudgetStatus.FAIL, owner="Ann"),
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
    """In its own words, with what to do where it failed."""
    check = budget_check(row, invocation=CALL, file="megtrim.yaml", line=34)

    assert (check.id, check.status, check.text, check.line) == (row.check_id, status, row.text, 34)
    assert check.hint == hint
    again = "megtrim size --config trim/megtrim.yaml --out ../results --committed"
    assert check.reproduce == (again if status is FAIL else "")
