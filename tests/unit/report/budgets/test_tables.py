"""Budgets in the comment and in the terminal: used, limit, left, and what could be lower."""

from __future__ import annotations

from dataclasses import replace

from megtrim.report.budgets import tables
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.join import join
from megtrim.verdict.model import BudgetRow, LowerLimit, Verdict
from megtrim.verdict.statuses import BudgetStatus
from unit.verdict.examples import HOSTILE, budget, facts

KIB = 1024
TEXT = budget(
    measure="section .text",
    owner="runtime team",
    size_bytes=2000 * KIB,
    max_bytes=None,
    warn_bytes=1900 * KIB,
    growth_bytes=20 * KIB,
    growth_max_bytes=16 * KIB,
    acknowledged_bytes=24 * KIB,
    acknowledged="+24 KiB: the depth model (Ann, 5d0c2b7e9f1a)",
)
LOWER = LowerLimit(
    max_bytes=2600 * KIB,
    text="- {artifact: load_and_run, max: 2600 KiB}",
    file="megtrim.yaml",
    line=34,
)


def verdict(*rows: BudgetRow) -> Verdict:
    return join(replace(facts(), budgets=rows))


def test_the_fold_shows_what_is_left_of_each_limit() -> None:
    """In bytes and percent; a soft limit stands in for one that is not there."""
    (fold,) = tables.markdown(verdict(budget(), TEXT))

    assert "<summary>Budgets: 2 of 2 kept, the tightest has 236 KiB (8.4%) left</summary>" in fold
    rows = [line for line in fold.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `load_and_run` | size | 2.5 MiB | 2.8 MiB | 236 KiB | 8.4% | ✅ pass |  |",
        "| `load_and_run` | growth | +1 KiB | 16 KiB | 15 KiB | 93.8% | ✅ pass |  |",
        (
            "| `load_and_run section .text` | size, warns | 2.0 MiB | 1.9 MiB | -100 KiB | -5.3% "
            "| ✅ pass | runtime team |"
        ),
        (
            "| `load_and_run section .text` | growth | +20 KiB | 16 KiB | -4 KiB | -25.0% "
            "| ✅ pass, acknowledged +24 KiB: the depth model (Ann, 5d0c2b7e9f1a) | runtime team |"
        ),
    ]


def test_without_budgets_there_is_nothing_to_show() -> None:
    """Neither a fold nor a table."""
    assert list(tables.markdown(verdict())) == []
    assert tables.text(verdict()) == ""


def test_a_lower_limit_comes_with_its_line() -> None:
    """It is a proposal, so it is no warning."""
    proposal, _ = tables.markdown(verdict(budget(growth_bytes=-KIB, ratchet=LOWER)))

    assert proposal.startswith("### Limits that could be lower\n\n- `load_and_run`: -1 KiB, max ")
    assert "`- {artifact: load_and_run, max: 2600 KiB}`" in proposal
    assert "`megtrim size ratchet --write`" in proposal
    shown = tables.text(verdict(budget(ratchet=LOWER))).splitlines()
    assert shown[-2:] == [
        "  load_and_run: max could be 2.5 MiB (2,662,400 bytes) at megtrim.yaml:34",
        "    - {artifact: load_and_run, max: 2600 KiB}",
    ]


def test_a_lower_limit_is_placed_from_the_top_of_the_repository() -> None:
    """There may be a file of the same name there."""
    quick = replace(verdict(budget(ratchet=LOWER)), invocation=Invocation(config="quick/m.yaml"))

    assert "at quick/megtrim.yaml:34" in tables.text(quick)
    assert "at quick/megtrim.yaml:34" in next(tables.markdown(quick))


def test_a_limit_without_a_baseline_or_of_nothing() -> None:
    """Neither is divided by."""
    rows = (budget(growth_bytes=None, growth_max_bytes=0, max_bytes=0, status=BudgetStatus.FAIL),)
    (fold,) = tables.markdown(verdict(*rows))

    assert "<summary>Budgets: 0 of 1 kept</summary>" in fold
    assert "| growth | no baseline | 0 B |  |  |" in fold


def test_what_others_wrote_stays_text() -> None:
    """A reason, an owner and a file are from whoever wrote them."""
    lower = replace(LOWER, text=HOSTILE, file=HOSTILE)
    row = budget(acknowledged=HOSTILE, owner=HOSTILE, artifact=HOSTILE, ratchet=lower)
    text = "\n".join(tables.markdown(verdict(row)))

    assert "<script" not in text
    assert "](http" not in text
    assert "\x1b" not in text + tables.text(verdict(row))
