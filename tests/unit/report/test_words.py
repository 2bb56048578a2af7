"""The words and numbers that every report shares."""

from __future__ import annotations

import pytest

from megtrim.report.words import budget_of, grouped, percent, seconds, to_look_at
from megtrim.verdict.join import join
from unit.verdict.examples import budget, facts, failing, passing, unverified


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
    """Short times to the hundredth, long ones in minutes."""
    assert seconds(time_s) == expected


def test_numbers() -> None:
    """Thousands apart, shares as percentages."""
    assert (grouped(39_300_016), percent(0.0672)) == ("39,300,016", "6.7%")


def test_what_needs_a_person_comes_the_worst_first() -> None:
    """Failures, then infrastructure, then what is unverified; passed and skipped are no news."""
    assert to_look_at(passing()) == ()
    assert [check.kind for check in to_look_at(failing())] == ["trap", "parity", "size", "growth"]
    assert [check.kind for check in to_look_at(unverified(expired=True))] == ["coverage", "device"]
    assert [check.kind for check in to_look_at(unverified())] == ["device", "coverage"]
    assert [check.kind for check in to_look_at(join(facts(scenarios=())))] == ["coverage"]


def test_a_budget_is_found_by_artifact_and_variant() -> None:
    """Neither alone is enough."""
    rows = (budget(variant="plain"), budget(artifact="lib"), budget())
    verdict = join(facts(budgets=rows))

    assert budget_of(verdict, "load_and_run", "reduced") == rows[2]
    assert budget_of(verdict, "lib", "reduced") == rows[1]
    assert budget_of(verdict, "load_and_run", "plain") == rows[0]
    assert budget_of(verdict, "lib", "plain") is None
