"""Budgets: largest size, largest growth, and waivers that end."""

from __future__ import annotations

from datetime import date

import pytest

from megtrim.config.model import Budget, Waiver
from megtrim.errors import InputError
from megtrim.size.acknowledgement import Acknowledgement, Acknowledgements
from megtrim.size.budgets import (
    Baseline,
    BudgetLimit,
    BudgetResult,
    LimitKind,
    LimitStatus,
    Measured,
    check,
    ending,
    warn_early,
)
from megtrim.size.existing_parts import ExistingParts

TODAY = date(2027, 1, 31)
MIB = 1024 * 1024
LAR = ("load_and_run", "reduced")


def budget(**limits: object) -> Budget:
    return Budget.model_validate({"artifact": "load_and_run", **limits})


def waiver(size: str, expires: str, owner: str = "ann", name: str = "load_and_run") -> Waiver:
    return Waiver.model_validate(
        {"budget": name, "bytes": size, "reason": "new head", "owner": owner, "expires": expires}
    )


def measure(
    one: Budget,
    size_bytes: int,
    *,
    before_bytes: int | None = None,
    waivers: tuple[Waiver, ...] = (),
) -> BudgetResult:
    baseline = None if before_bytes is None else Baseline(source="main", sizes={LAR: before_bytes})
    (result,) = check([one], Measured(sizes={LAR: size_bytes}), baseline, waivers, TODAY)
    return result


def only(result: BudgetResult) -> BudgetLimit:
    (limit,) = result.limits
    return limit


@pytest.mark.parametrize("warn", ["90%", "1.8 MiB"])
def test_a_file_near_its_limit_is_announced(warn: str) -> None:
    """It passes; above the limit it fails, and no one needs a warning."""
    one = budget(max="2 MiB", warn=warn)
    results = [measure(one, int(size * MIB)) for size in (1.7, 1.9, 2.1)]
    early, near, above = map(warn_early, ([each] for each in results))

    assert (early, above) == ((), ())
    assert near == (
        (
            "load_and_run (1.9 MiB) is 102.4 KiB below its limit of 2 MiB; its budget warns from "
            "1.8 MiB"
        ),
    )
    assert [each.status for each in results] == [
        *(LimitStatus.PASS, LimitStatus.PASS, LimitStatus.FAIL),
    ]


def test_size_within_its_budget() -> None:
    """The largest size itself still passes."""
    result = measure(budget(max="2 MiB"), 2 * MIB)

    assert result == BudgetResult(
        budget="load_and_run",
        artifact="load_and_run",
        variant="reduced",
        size_bytes=2 * MIB,
        max_bytes=2 * MIB,
        growth_bytes=None,
        growth_max_bytes=None,
        baseline="",
        waiver="",
        lapsed="",
        status=LimitStatus.PASS,
        limits=(
            BudgetLimit(
                kind=LimitKind.SIZE,
                status=LimitStatus.PASS,
                text="2 MiB (2,097,152 bytes), allowed 2 MiB",
            ),
        ),
    )


def test_size_over_its_budget() -> None:
    """One byte more is too much; the message says by how much."""
    result = measure(budget(max="2 MiB"), 2 * MIB + 1)

    assert result.status is LimitStatus.FAIL
    assert only(result).text == ("2.0 MiB (2,097,153 bytes), 1 B over the allowed 2 MiB")
    assert only(result).hint


@pytest.mark.parametrize(
    ("growth", "status"),
    [(-5, LimitStatus.PASS), (0, LimitStatus.PASS), (16 * 1024, LimitStatus.PASS)],
)
def test_growth_within_its_budget(growth: int, status: LimitStatus) -> None:
    """Shrinking and growing up to the limit pass."""
    result = measure(budget(growth="16 KiB"), MIB + growth, before_bytes=MIB)

    assert result.status is status
    assert result.growth_bytes == growth
    assert result.growth_max_bytes == 16 * 1024
    assert result.baseline == "main"


@pytest.mark.parametrize(
    ("growth", "status"),
    [(0, LimitStatus.PASS), (10_486, LimitStatus.PASS), (10_487, LimitStatus.FAIL)],
)
def test_growth_may_be_a_share_of_the_former_size(growth: int, status: LimitStatus) -> None:
    """Of 1 MiB, one percent is 10,486 bytes."""
    result = measure(budget(growth="1%"), MIB + growth, before_bytes=MIB)

    assert (result.status, result.growth_max_bytes) == (status, 10_486)


def test_growth_over_its_budget() -> None:
    """Measured against the baseline, with its sign."""
    result = measure(budget(growth="16 KiB"), MIB + 16 * 1024 + 512, before_bytes=MIB)

    assert result.status is LimitStatus.FAIL
    assert only(result).kind is LimitKind.GROWTH
    assert only(result).text == ("+16.5 KiB (+16,896 bytes), 512 B over the allowed 16 KiB")


def test_growth_without_a_baseline_is_skipped_and_said() -> None:
    """Nothing is compared with nothing."""
    result = measure(budget(growth="16 KiB"), MIB)

    assert result.status is LimitStatus.SKIPPED
    assert result.growth_bytes is None
    assert result.baseline == ""
    assert only(result).status is LimitStatus.SKIPPED
    assert only(result).text == "growth was not checked: there is no baseline"


def test_baseline_without_the_artifact_is_said() -> None:
    """A new artifact has no predecessor."""
    baseline = Baseline(source="main", sizes={("load_and_run", "plain"): 5})

    (result,) = check([budget(growth="1 KiB")], Measured(sizes={LAR: 9}), baseline, (), TODAY)

    assert only(result).text == "growth was not checked: main does not list load_and_run"
    assert result.baseline == ""


def test_a_baseline_of_nothing_says_why() -> None:
    """Its source is the reason, so nothing is said of what it does not hold."""
    baseline = Baseline(source="no run of main left its sizes", sizes={})

    (result,) = check([budget(growth="1 KiB")], Measured(sizes={LAR: 9}), baseline, (), TODAY)

    assert only(result).text == "growth was not checked: no run of main left its sizes"
    assert (result.status, result.growth_bytes) == (LimitStatus.SKIPPED, None)


def test_growth_of_a_file() -> None:
    """Less where it shrank, nothing known where the baseline does not hold it."""
    baseline = Baseline(source="main", sizes={LAR: 100})

    assert [baseline.growth(*LAR, size) for size in (99, 100, 117)] == [-1, 0, 17]
    assert baseline.growth("load_and_run", "plain", 100) is None
    assert baseline.growth("lib", "reduced", 100) is None


def test_both_limits() -> None:
    """One broken limit fails the budget; one that was skipped does not pass for it."""
    both = budget(max="2 MiB", growth="1 KiB")

    grown = measure(both, MIB + 2048, before_bytes=MIB)
    first = measure(both, MIB)
    large = measure(both, 3 * MIB)

    assert [limit.status for limit in grown.limits] == [LimitStatus.PASS, LimitStatus.FAIL]
    assert grown.status is LimitStatus.FAIL
    assert [limit.status for limit in first.limits] == [LimitStatus.PASS, LimitStatus.SKIPPED]
    assert first.status is LimitStatus.PASS
    assert [limit.status for limit in large.limits] == [LimitStatus.FAIL, LimitStatus.SKIPPED]
    assert large.status is LimitStatus.FAIL


def test_waiver_raises_the_limit_by_its_bytes() -> None:
    """Up to and with its last day."""
    result = measure(budget(max="2 MiB"), 2 * MIB + 1024, waivers=(waiver("1 KiB", "2027-01-31"),))

    assert result.status is LimitStatus.PASS
    assert result.max_bytes == 2 * MIB
    assert result.waiver == "new head (ann, to 2027-01-31)"
    assert only(result).waived
    assert only(result).text == (
        "2.0 MiB (2,098,176 bytes), allowed 2 MiB and by waiver 2.0 MiB: "
        "new head (ann, to 2027-01-31)"
    )


def test_waiver_raises_the_growth_too() -> None:
    """It is leave for one budget, whatever limit it breaks."""
    result = measure(
        budget(growth="1 KiB"),
        MIB + 2048,
        before_bytes=MIB,
        waivers=(waiver("1 KiB", "2027-02-01"),),
    )

    assert result.status is LimitStatus.PASS


def test_waiver_that_is_not_enough() -> None:
    """The message counts from the raised limit."""
    result = measure(budget(max="2 MiB"), 2 * MIB + 1025, waivers=(waiver("1 KiB", "2027-02-01"),))

    assert result.status is LimitStatus.FAIL
    assert result.waiver == "new head (ann, to 2027-02-01)"
    assert only(result).text == (
        "2.0 MiB (2,098,177 bytes), 1 B over the allowed 2.0 MiB "
        "(waivers included: new head (ann, to 2027-02-01))"
    )


def test_expired_waiver_fails_and_says_so() -> None:
    """From the day after its last."""
    result = measure(budget(max="2 MiB"), 2 * MIB + 1024, waivers=(waiver("1 KiB", "2027-01-30"),))

    assert result.status is LimitStatus.FAIL
    assert result.waiver == ""
    assert only(result).text == (
        "2.0 MiB (2,098,176 bytes), 1 KiB over the allowed 2 MiB; "
        "the waiver of ann lapsed on 2027-01-30: new head"
    )


def test_waiver_on_its_last_day_has_not_expired() -> None:
    """Even where it is not enough."""
    result = measure(budget(max=MIB), MIB + 2048, waivers=(waiver("1 KiB", "2027-01-31"),))

    assert result.status is LimitStatus.FAIL
    assert "lapsed" not in only(result).text


def test_a_waiver_is_named_before_it_lapses() -> None:
    """From 14 days before its last day on, that day included; the soonest first."""
    days = ("2027-02-15", "2027-02-14", "2027-02-01", "2027-01-31", "2027-01-30")
    leave = tuple(waiver("1 KiB", day) for day in days)

    assert ending(leave, date(2027, 1, 31)) == (
        "the waiver of ann for load_and_run lapses after 2027-01-31, today: new head",
        "the waiver of ann for load_and_run lapses after 2027-02-01, in 1 day: new head",
        "the waiver of ann for load_and_run lapses after 2027-02-14, in 14 days: new head",
    )


def test_waivers_add_up() -> None:
    """Each with its own owner and end."""
    leave = (waiver("1 KiB", "2027-02-01"), waiver("2 KiB", "2027-03-01", owner="bob"))

    assert measure(budget(max=MIB), MIB + 3072, waivers=leave).status is LimitStatus.PASS
    assert measure(budget(max=MIB), MIB + 3073, waivers=leave).status is LimitStatus.FAIL


def test_waiver_of_another_budget_does_not_count() -> None:
    """A waiver names the budget that it is for."""
    leave = (waiver("1 MiB", "2027-02-01", name="load_and_run/plain"),)

    assert measure(budget(max=MIB), MIB + 1, waivers=leave).status is LimitStatus.FAIL


def test_waiver_that_is_not_needed_is_not_named() -> None:
    """Only what was used is shown, expired or not."""
    leave = (waiver("1 KiB", "2027-02-01"), waiver("1 KiB", "2020-01-01"))

    result = measure(budget(max=MIB), MIB, waivers=leave)

    assert (result.status, result.waiver) == (LimitStatus.PASS, "")


def test_variants_are_budgets_of_their_own() -> None:
    """Each is measured on its own build, in the given order."""
    budgets = [budget(max=10, variant="plain"), budget(max=10)]
    sizes = {LAR: 9, ("load_and_run", "plain"): 11}

    results = check(budgets, Measured(sizes=sizes), None, (), TODAY)

    assert [(result.budget, result.variant, result.status) for result in results] == [
        ("load_and_run/plain", "plain", LimitStatus.FAIL),
        ("load_and_run", "reduced", LimitStatus.PASS),
    ]


def test_budget_of_something_that_was_not_built_is_refused() -> None:
    """A budget that measures nothing would pass for ever."""
    with pytest.raises(InputError) as caught:
        check([budget(max=1)], Measured(sizes={}), None, (), TODAY)

    assert caught.value.message == (
        "the budget load_and_run names an artifact that was not built: load_and_run"
    )


def test_a_budget_of_neighbours_alone_is_not_about_size() -> None:
    """It has no row here, whatever the artifact weighs; one of both has."""
    alone, both = budget(neighbours="all"), budget(neighbours="all", max="1 MiB")

    assert check([alone], Measured(sizes={LAR: MIB}), None, [], TODAY) == ()
    assert measure(both, 2 * MIB).status is LimitStatus.FAIL


def acknowledged(*growth_bytes: int, allowed: bool = True) -> Acknowledgements:
    entries = tuple(
        Acknowledgement(growth_bytes=each, reason="new head", author="Ann", commit="5d0c2b7e" * 5)
        for each in growth_bytes
    )
    return Acknowledgements(allowed=allowed, entries=entries)


def grow(one: Budget, growth_bytes: int, announced: Acknowledgements) -> BudgetResult:
    baseline = Baseline(source="main", sizes={LAR: MIB})
    measured = Measured(sizes={LAR: MIB + growth_bytes})
    (result,) = check([one], measured, baseline, (), TODAY, announced)
    return result


def test_what_commits_acknowledge_may_be_grown() -> None:
    """Up to that number, and not one byte more; what was enough without it does not name it."""
    one = budget(growth="1 KiB")

    kept, needed, over = (
        grow(one, each, acknowledged(8 * 1024, 4 * 1024)) for each in (1024, 12_288, 12_289)
    )

    assert (kept.status, kept.acknowledged, kept.acknowledged_bytes) == (LimitStatus.PASS, "", 0)
    assert (needed.status, needed.acknowledged_bytes) == (LimitStatus.PASS, 12_288)
    assert needed.acknowledged.startswith("+8 KiB: new head (Ann, 5d0c2b7e5d0c); +4 KiB: ")
    assert (over.status, over.acknowledged_bytes) == (LimitStatus.FAIL, 12_288)
    assert "1 B over the allowed 12 KiB; acknowledged +8 KiB" in only(over).text


def test_a_largest_size_is_not_acknowledged() -> None:
    """It is what the team agreed on, not what a change costs."""
    result = grow(budget(max=MIB), 512, acknowledged(1024))

    assert (result.status, result.acknowledged) == (LimitStatus.FAIL, "")


def test_a_budget_of_a_section() -> None:
    """Measured in this build and in the baseline; a waiver names it."""
    measured = Measured(sizes={LAR: 100}, measured={LAR: {"section .text": 60}})
    baseline = Baseline(source="main", sizes={LAR: 90}, measured={LAR: {"section .text": 50}})
    one = budget(section=".text", growth="8 B", owner="runtime")
    leave = (waiver("2 B", "2027-02-01", name="load_and_run section .text"),)

    (failed,) = check([one], measured, baseline, (), TODAY)
    (waived,) = check([one], measured, baseline, leave, TODAY)

    assert (failed.budget, failed.measure) == ("load_and_run section .text", "section .text")
    assert (failed.size_bytes, failed.growth_bytes, failed.owner) == (60, 10, "runtime")
    assert [failed.status, waived.status] == [LimitStatus.FAIL, LimitStatus.PASS]


def check_section(name: str, measured: Measured, baseline: Baseline | None = None) -> BudgetResult:
    (result,) = check([budget(section=name, max="8 B")], measured, baseline, (), TODAY)
    return result


def test_a_budget_of_a_section_that_never_was_is_refused() -> None:
    """It would pass for ever; one that another build of this artifact has is gone, and passes."""
    known = {"load_and_run": ExistingParts(sections=frozenset({".text", ".tdata"}))}
    sections = {LAR: {"section .text": 60}}
    measured = Measured(sizes={LAR: 100}, measured=sections, existing=known)

    with pytest.raises(InputError) as caught:
        check_section(".txt", measured)

    assert caught.value.message == (
        "the budget load_and_run section .txt: no build of load_and_run has a section .txt "
        "(did you mean .text?)"
    )
    assert caught.value.hint
    assert check_section(".tdata", measured).status is LimitStatus.PASS


def test_a_section_that_the_baseline_has_was_there() -> None:
    """Another artifact's sections do not count."""
    plain = {"load_and_run": ExistingParts(sections=frozenset({".text"}))}
    sections = {LAR: {"section .text": 60}}
    measured = Measured(sizes={LAR: 100}, measured=sections, existing=plain)
    before = {"section .eh_frame": 7}
    mine = Baseline(source="main", sizes={LAR: 90}, measured={LAR: before})
    other = ("other", "reduced")
    theirs = Baseline(source="main", sizes={LAR: 90, other: 9}, measured={other: before})

    assert check_section(".eh_frame", measured, mine).size_bytes == 0
    with pytest.raises(InputError):
        check_section(".eh_frame", measured, theirs)


def test_a_baseline_that_does_not_measure_a_part_says_so() -> None:
    """An earlier version of megtrim stored sizes alone."""
    measured = Measured(sizes={LAR: 100}, measured={LAR: {"section .text": 60}})
    baseline = Baseline(source="main", sizes={LAR: 90})

    (result,) = check([budget(section=".text", growth="8 B")], measured, baseline, (), TODAY)

    assert only(result).text == (
        "growth was not checked: main does not list load_and_run section .text"
    )


@pytest.mark.parametrize("part", [{"component": "kernels"}, {"model": "resnet50"}])
def test_a_part_that_is_not_known_is_no_pass(part: dict[str, str]) -> None:
    """A program without symbols has no components."""
    with pytest.raises(InputError) as caught:
        check([budget(max=9, **part)], Measured(sizes={LAR: 5}), None, (), TODAY)

    assert "cannot be checked" in caught.value.message
    assert caught.value.hint


def test_a_limit_may_be_a_share_of_the_plain_build() -> None:
    """Of the same measure."""
    measured = Measured(sizes={LAR: 81, ("load_and_run", "plain"): 1000})

    (result,) = check([budget(max="8%")], measured, None, (), TODAY)

    assert (result.max_bytes, result.status) == (80, LimitStatus.FAIL)


def test_soft_limits_warn_and_never_fail() -> None:
    """Alone, or below a hard limit that is kept."""
    one = budget(warn="1 MiB", warn_growth="4 KiB", growth="16 KiB", owner="runtime")

    result = grow(one, 8 * 1024, acknowledged())

    assert result.status is LimitStatus.PASS
    assert warn_early([result]) == (
        "load_and_run (1.0 MiB) is above 1 MiB, from which its budget warns; runtime owns it",
        "load_and_run grew by 8 KiB; its budget warns from 4 KiB of growth; runtime owns it",
    )
    assert warn_early([grow(one, 17 * 1024, acknowledged())]) == warn_early([result])[:1]
    assert grow(budget(warn="1 KiB"), 0, acknowledged()).status is LimitStatus.SKIPPED


def test_a_lower_limit_is_proposed_for_what_shrank() -> None:
    """Of a budget that is kept; one that failed has other worries."""
    one = budget(max="2 MiB", growth="1 KiB", ratchet="16 KiB")

    assert grow(one, -4096, acknowledged()).ratchet_bytes == MIB + 12 * 1024
    assert grow(one, 4096, acknowledged()).ratchet_bytes is None
