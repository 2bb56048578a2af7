from dataclasses import replace

import pytest

from megtrim.checks.invocation import Invocation
from megtrim.size.report import budgets
from megtrim.size.rows import BudgetRow, BudgetStatus
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict
from unit.verdict.examples import HOSTILE, budget, facts, growth

KIB = 1024
SOFT = budget(
    measure="section .text",
    owner="runtime team",
    used_bytes=2000 * KIB,
    max_bytes=None,
    warn_bytes=1900 * KIB,
    status=BudgetStatus.SKIPPED,
)
WAIVED = growth(measure="section .text", used_bytes=20 * KIB, waiver="the depth model (Ann)")


def verdict(*rows: BudgetRow) -> Verdict:
    return join(replace(facts(), budgets=rows))


def test_the_fold_shows_what_is_left_of_each_limit() -> None:
    (fold,) = budgets.markdown(verdict(budget(), growth(), SOFT, WAIVED))

    assert "<summary>Budgets: 2 of 2 kept, the tightest has 236 KiB (8.4%) left</summary>" in fold
    rows = [line for line in fold.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `load_and_run` | size | 2.5 MiB | 2.8 MiB | 236 KiB | 8.4% | ✅ pass |  |",
        "| `load_and_run` | growth | +1 KiB | 16 KiB | 15 KiB | 93.8% | ✅ pass |  |",
        (
            "| `load_and_run section .text` | size, warns | 2.0 MiB | 1.9 MiB | -100 KiB | -5.3% "
            "| ◽ skipped | runtime team |"
        ),
        (
            "| `load_and_run section .text` | growth | +20 KiB | 16 KiB | -4 KiB | -25.0% "
            "| ✅ pass, waived: the depth model (Ann) |  |"
        ),
    ]


def test_without_budgets_there_is_nothing_to_show() -> None:
    assert list(budgets.markdown(verdict())) == []
    assert budgets.text(verdict()) == ""


@pytest.mark.parametrize(
    ("config", "place"), [("megtrim.yaml", "megtrim.yaml"), ("quick/m.yaml", "quick/megtrim.yaml")]
)
def test_a_lower_limit_is_proposed_with_its_place(config: str, place: str) -> None:
    made = verdict(budget(lower_bytes=2600 * KIB), growth(used_bytes=-KIB))
    made = replace(made, invocation=Invocation(config=config))
    proposal, _ = budgets.markdown(made)

    assert proposal.startswith("### Limits that could be lower\n\n- `load_and_run`: max could be ")
    assert budgets.text(made).splitlines()[-1] == (
        f"  load_and_run: max could be 2.5 MiB (2,662,400 bytes) at {place}:34"
    )


def test_a_limit_without_a_baseline_or_of_nothing() -> None:
    first = growth(used_bytes=None, max_bytes=0, status=BudgetStatus.SKIPPED)
    (fold,) = budgets.markdown(verdict(budget(max_bytes=0, status=BudgetStatus.FAIL), first))

    assert "<summary>Budgets: 0 of 1 kept</summary>" in fold
    assert "| growth | no baseline | 0 B |  |  |" in fold


@pytest.mark.parametrize(
    ("row", "exceeded", "near", "marks"),
    [
        (budget(used_bytes=1024, max_bytes=2048), False, False, ("48.098%", "96.195%", "")),
        (budget(used_bytes=4096, max_bytes=2048), True, False, ("100.000%", "50.000%", "")),
        (budget(used_bytes=1, max_bytes=1), False, False, ("100.000%", "100.000%", "")),
        (
            *(budget(used_bytes=1536, max_bytes=2048, warn_bytes=1536), False, True),
            ("72.147%", "96.195%", "72.147%"),
        ),
        (
            *(budget(used_bytes=3072, max_bytes=None, warn_bytes=1024), False, True),
            ("100.000%", "", "33.333%"),
        ),
        (growth(used_bytes=32_768), True, False, ("100.000%", "50.000%", "")),
        (growth(used_bytes=-1024), False, False, ("0.000%", "96.156%", "")),
        (growth(used_bytes=None), False, False, ("0.000%", "96.156%", "")),
    ],
)
def test_the_page_draws_what_is_used(
    row: BudgetRow, exceeded: bool, near: bool, marks: tuple[str, str, str]
) -> None:
    assert (row.is_exceeded, row.is_near) == (exceeded, near)
    assert budgets.place_marks(row) == marks


def test_what_others_wrote_stays_text() -> None:
    row = budget(waiver=HOSTILE, owner=HOSTILE, artifact=HOSTILE, lower_bytes=1)
    text = "\n".join(budgets.markdown(verdict(row)))

    assert "<script" not in text
    assert "](http" not in text
    assert "\x1b" not in text + budgets.text(verdict(row))
