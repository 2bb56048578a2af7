"""The second line of a report: why, and what to do."""

from __future__ import annotations

from dataclasses import replace

from megtrim.report import comment
from megtrim.report.next_step import describe
from megtrim.size.budget_row import BudgetStatus
from megtrim.size.growth.causes import Cause
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.join import join
from megtrim.verdict.model import Check, Verdict
from megtrim.verdict.statuses import CheckKind, CheckStatus, UnverifiedPolicy
from unit.report.test_sizes import BASELINE, KIB, artifact
from unit.verdict.examples import facts, failing, growth, hostile, passing, unverified


def overgrown(*, measure: str = "", causes: tuple[Cause, ...] = (Cause.SOURCE,)) -> Verdict:
    """Return a verdict on a file that grew too much."""
    row = growth(
        used_bytes=59 * KIB, status=BudgetStatus.FAIL, measure=measure, owner="runtime team"
    )
    check = Check(
        id=f"growth:{row.subject}",
        kind=CheckKind.GROWTH,
        subject=row.subject,
        status=CheckStatus.FAIL,
        text="+59 KiB, 16 KiB allowed",
        hint="make it smaller, or raise the budget; runtime team owns this budget",
        file="megtrim.yaml",
        line=16,
    )
    made = join(
        facts(artifacts=(artifact(59 * KIB),), budgets=(row,), baseline=BASELINE, causes=causes)
    )
    return replace(made, checks=(check,))


def test_an_exceeded_budget_has_its_cause_its_ways_out_and_its_place() -> None:
    """Directly below the title, above the size."""
    text = describe(overgrown())

    assert text == (
        "**Cause:** source +59 KiB. **What to do:** make it smaller, or raise the budget; "
        "runtime team owns this budget. The budget is at `megtrim.yaml:16`."
    )
    title, second, third, *_ = [line for line in comment.render(overgrown()).splitlines() if line]
    assert "growth:load_and_run/reduced" in title
    assert second == text
    assert third.startswith("❌ **`load_and_run`")


def test_a_budget_is_named_from_the_top_of_the_repository() -> None:
    """There may be a file of the same name there."""
    quick = replace(overgrown(), invocation=Invocation(config="quick/megtrim.yaml"))

    assert describe(quick).endswith(" The budget is at `quick/megtrim.yaml:16`.")


def test_a_cause_is_the_files_not_a_parts() -> None:
    """What a section grew by has no cause of its own, and without a baseline nothing has one."""
    assert describe(overgrown(measure="section .text")).startswith("**What to do:**")
    assert describe(overgrown(causes=())).startswith("**What to do:**")


def test_any_other_check_has_what_to_do_alone() -> None:
    """It stands above sizes, which are not what matters then."""
    lines = [line for line in comment.render(failing()).splitlines() if line]

    assert lines[1] == describe(failing())
    assert lines[1].startswith("**What to do:** if it is meant to run these, trace it again")
    assert "megtrim.yaml:" not in lines[1]


def test_it_says_if_the_check_is_green_all_the_same() -> None:
    """As for a device that is away, unless the configuration makes that red."""
    pending = replace(unverified().checks[0], status=CheckStatus.UNVERIFIED, hint="wait for it")
    green = replace(unverified(), checks=(pending,), unverified=UnverifiedPolicy.WARN)
    red = replace(green, unverified=UnverifiedPolicy.FAIL)
    said = "**What to do:** wait for it."

    assert describe(green) == f"{said} Until then, this does not block the merge."
    assert describe(red) == said


def test_nothing_is_to_be_done_about_a_pass() -> None:
    """Nor about a check that does not say what."""
    silent = replace(
        unverified(),
        checks=tuple(replace(each, hint="") for each in unverified().checks),
    )

    assert describe(passing()) == ""
    assert describe(silent) == ""


def test_hints_are_untrusted() -> None:
    """They have names of files in them."""
    text = describe(hostile())

    assert "<script" not in text
    assert "@everyone" not in text
