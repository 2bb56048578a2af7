"""A budget for neighbours is of a program that scenarios run, and of its reduced build."""

from __future__ import annotations

import pytest

from megtrim.config.checks.neighbours import neighbour_problems
from unit.config.checks.found import found_by

MODELS = "applications: [{name: app}]\nmodels: [{scenarios: [{name: s}]}]\n"


@pytest.mark.parametrize(
    ("budget", "problem"),
    [
        ("{artifact: load_and_run, neighbours: all}", None),
        ("{artifact: app, neighbours: [iter-1, iter-3]}", None),
        ("{artifact: load_and_run, variant: reduced, neighbours: 2}", None),
        ("{artifact: library.so, variant: plain, max: 1}", None),
        (
            "{artifact: load_and_run, variant: plain, neighbours: all}",
            (
                "neighbours: found neighbours of the 'plain' build, "
                "expected variant: reduced, or no such key"
            ),
        ),
        (
            "{artifact: load_and_rum, neighbours: all}",
            (
                "neighbours: found neighbours of 'load_and_rum', which no scenario runs, "
                "expected load_and_run or app (did you mean load_and_run?)"
            ),
        ),
        (
            "{artifact: app, neighbours: [iter-1, iter-3, iter-1]}",
            "neighbours[2]: found 'iter-1' a second time, expected each name once",
        ),
    ],
)
def test_a_budget_for_neighbours(budget: str, problem: str | None) -> None:
    """Budgets without this key may be for anything that is built."""
    found = found_by(neighbour_problems, f"{MODELS}budgets: [{budget}]\n")

    assert found == ([] if problem is None else [f"f:3: budgets[0].{problem}"])


def test_the_engines_program_has_no_neighbours_where_it_does_not_run() -> None:
    """Every scenario runs an application."""
    text = (
        "applications: [{name: app}]\nmodels: [{scenarios: [{application: app}]}]\n"
        "budgets: [{artifact: load_and_run, neighbours: all}]\n"
    )

    [problem] = found_by(neighbour_problems, text)
    assert problem.endswith(
        "found neighbours of 'load_and_run', which no scenario runs, expected app"
    )
