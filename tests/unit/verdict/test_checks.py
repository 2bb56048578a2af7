"""The checks of one scenario and of one budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.load_and_run.telemetry import Conditions, Reading
from megtrim.verdict import next_step
from megtrim.verdict.checks import budget_checks, scenario_checks
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.model import BudgetRow, Check, OutputResult, ScenarioResult
from megtrim.verdict.statuses import BudgetStatus, CheckKind, CheckStatus, ScenarioStatus
from unit.verdict.examples import RESNET, budget, scenario, trapped

CALL = Invocation(config="trim/megtrim.yaml", out="../results", committed=True)


def of(scenario: ScenarioResult, *, expired: bool = False) -> dict[str, Check]:
    """Return a scenario's checks by kind."""
    checks = scenario_checks(
        scenario, invocation=CALL, file="megtrim.yaml", line=21, expired=expired
    )
    return {check.kind: check for check in checks}


def statuses(row: BudgetRow) -> dict[CheckKind, CheckStatus]:
    """Return the statuses of a budget's checks by kind."""
    checks = budget_checks(row, invocation=CALL, file="megtrim.yaml", line=34)
    return {check.kind: check.status for check in checks}


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


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"size": PASS, "growth": PASS}),
        ({"size_bytes": 2_883_585}, {"size": FAIL, "growth": PASS}),
        ({"growth_bytes": 16_385}, {"size": PASS, "growth": FAIL}),
        ({"size_bytes": 2_883_585, "growth_bytes": 16_385}, {"size": FAIL, "growth": FAIL}),
        ({"growth_max_bytes": None}, {"size": FAIL}),
        ({"max_bytes": None}, {"growth": FAIL}),
        ({"max_bytes": None, "growth_bytes": None}, {"growth": FAIL}),
        ({"growth_max_bytes": 0}, {"size": PASS, "growth": FAIL}),
        ({"growth_max_bytes": 0, "growth_bytes": 1}, {"size": PASS, "growth": FAIL}),
        (
            {"size_bytes": 2_883_584, "growth_bytes": 16_385},
            {"size": PASS, "growth": FAIL},
        ),
        (
            {"size_bytes": 2_883_585, "growth_bytes": 16_384},
            {"size": FAIL, "growth": PASS},
        ),
        (
            {"size_bytes": 2_883_585, "growth_bytes": 1, "growth_max_bytes": 0},
            {"size": FAIL, "growth": FAIL},
        ),
        (
            {"size_bytes": 2_883_585, "growth_bytes": None, "growth_max_bytes": 0},
            {"size": FAIL, "growth": SKIPPED},
        ),
    ],
)
def test_a_failed_budget_fails_what_broke_it(
    changes: dict[str, int | None], expected: dict[str, CheckStatus]
) -> None:
    """The budget's own word counts: a failed row always fails a check, a passed one none."""
    failed = bool(changes)
    row = budget(status=BudgetStatus.FAIL if failed else BudgetStatus.PASS, **changes)

    assert expected == statuses(row)


def test_a_waived_budget_passes_and_says_why() -> None:
    """Too large with a reason is a pass that shows its reason."""
    row = budget(size_bytes=2_884_608, waiver="new model, until the next release")

    (size, _) = budget_checks(row, invocation=CALL, file="megtrim.yaml", line=34)

    assert size.status is PASS
    assert (
        size.text == "2.8 MiB of 2.8 MiB, 1 KiB too many, waived: new model, until the next release"
    )
    assert (size.id, size.line) == ("size:load_and_run/reduced", 34)


def test_a_waiver_that_lapsed_is_named_where_it_is_missed() -> None:
    """With what to do about it; a budget that is kept without it says nothing."""
    lapsed = "the waiver of Ann lapsed on 2027-01-31: new model"
    row = budget(size_bytes=2_884_608, status=BudgetStatus.FAIL, lapsed=lapsed)

    (size, growth) = budget_checks(row, invocation=CALL, file="megtrim.yaml", line=34)
    (kept, _) = budget_checks(budget(lapsed=lapsed), invocation=CALL, file="megtrim.yaml", line=34)

    assert size.status is FAIL
    assert size.text == f"2.8 MiB of 2.8 MiB, 1 KiB too many; {lapsed}"
    assert size.hint == (
        "make it smaller, raise the budget, or have the owner of the waiver renew it"
    )
    assert size.reproduce == "megtrim size --config trim/megtrim.yaml --out ../results --committed"
    assert (growth.status, growth.hint, growth.reproduce) == (PASS, "", "")
    assert lapsed not in kept.text


def test_growth_without_a_baseline_is_skipped() -> None:
    """The first run has nothing to compare with, and says so."""
    checks = budget_checks(
        budget(growth_bytes=None, baseline=""), invocation=CALL, file="megtrim.yaml", line=34
    )

    assert [check.status for check in checks] == [PASS, SKIPPED]
    assert checks[1].text == "no baseline to compare with"


def test_a_skipped_budget_skips_both_and_one_without_limits_still_shows_the_size() -> None:
    """Nothing that was not judged looks judged."""
    skipped = budget(status=BudgetStatus.SKIPPED)
    unlimited = budget(max_bytes=None, growth_max_bytes=None)

    assert statuses(skipped) == {"size": SKIPPED, "growth": SKIPPED}
    (check,) = budget_checks(unlimited, invocation=CALL, file="megtrim.yaml", line=1)
    assert check.text == "2.5 MiB, no limit"


def test_growth_is_shown_with_its_sign_and_its_origin() -> None:
    """A person sees how much, since when, and what is allowed."""
    (_, grown) = budget_checks(
        budget(growth_bytes=-2048), invocation=CALL, file="megtrim.yaml", line=1
    )

    assert grown.text == "-2 KiB since main at 2981d11, 16 KiB allowed"
    assert (grown.hint, grown.reproduce) == ("", "")


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [(99, "1 B left"), (100, "0 B left"), (101, "1 B too many")],
)
def test_what_is_left_is_shown_to_the_byte(size_bytes: int, expected: str) -> None:
    """The limit itself is allowed."""
    (size, _) = budget_checks(
        budget(size_bytes=size_bytes, max_bytes=100), invocation=CALL, file="megtrim.yaml", line=1
    )

    assert size.text == f"{size_bytes} B of 100 B, {expected}"


def test_no_growth_allowed_is_shown_as_nothing() -> None:
    """Zero is a limit like any other."""
    (_, grown) = budget_checks(
        budget(growth_bytes=0, growth_max_bytes=0, baseline=""),
        invocation=CALL,
        file="megtrim.yaml",
        line=1,
    )

    assert (grown.status, grown.text) == (PASS, "0 B, 0 B allowed")
