"""Budgets and waivers name what there is, and their limits make sense."""

from __future__ import annotations

import pytest

from megtrim.config.checks.budgets import budget_problems
from unit.config.checks.found import found_by

HEAD = "engine: {kind: sample}\nmodels: [{name: resnet50}]\n"


@pytest.mark.parametrize(
    "budget",
    [
        "{artifact: load_and_run, section: .text, max: 2 MiB, growth: 1%, owner: runtime}",
        "{artifact: load_and_run, component: kernels/arm_common, max: 300 KiB}",
        "{artifact: load_and_run, component: C++ library, growth: 1 KiB}",
        "{artifact: load_and_run, model: resnet50, max: 300 KiB}",
        "{artifact: load_and_run, size: deflated, max: 40%}",
        "{artifact: load_and_run, variant: plain, size: loaded, max: 3 MiB}",
        "{artifact: load_and_run, warn: 3 MiB}",
        "{artifact: load_and_run, warn_growth: 8 KiB, growth: 16 KiB}",
        "{artifact: load_and_run, max: 3 MiB, ratchet: 16 KiB}",
    ],
)
def test_what_a_budget_may_be_of(budget: str) -> None:
    """The file in three ways, a section, a component, a model."""
    assert found_by(budget_problems, f"{HEAD}budgets: [{budget}]\n") == []


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (
            "section: .text, component: kernels, max: 1",
            "component: found component next to section",
        ),
        ("size: loaded, section: .text, max: 1", "size: found size: 'loaded' next to section"),
        ("component: kernals, max: 1", "component: found 'kernals', expected C library"),
        ("component: .text, max: 1", "component: found '.text', expected C library"),
        ("component: kernels/x87, max: 1", "component: found 'kernels/x87', expected C library"),
        ("model: resnet, max: 1", "model: found 'resnet', expected resnet50"),
        ("component: kernels, variant: plain, max: 1", "found component of the 'plain' build"),
        (
            "section: .text",
            "found a budget without a limit, expected max, growth, warn or warn_growth",
        ),
        ("warn: 90%", "warn: found a share, '90%', of no limit, expected a size, or max as well"),
        ("growth: 1%, ratchet: 1 KiB", "ratchet: found a ratchet without a limit, expected max"),
        ("component: kernels, max: 8%", "max: found '8%' of a component, expected a size"),
        ("variant: plain, max: 8%", "max: found '8%' of itself, expected a size"),
        ("growth: 1%, warn_growth: 1%", "warn_growth: found '1%', which is not below growth"),
        ("growth: 1 KiB, warn_growth: 2 KiB", "found '2 KiB', which is not below growth"),
    ],
)
def test_a_mistake_in_a_budget(keys: str, problem: str) -> None:
    """Each is at its line, with what was expected."""
    (found,) = found_by(budget_problems, f"{HEAD}budgets: [{{artifact: load_and_run, {keys}}}]\n")

    assert found.startswith("f:3: budgets[0]")
    assert problem in found


def test_a_waiver_names_what_is_measured() -> None:
    """Budgets of one artifact differ by that."""
    text = (
        f"{HEAD}budgets:\n"
        "- {artifact: load_and_run, max: 1}\n"
        "- {artifact: load_and_run, section: .text, max: 1}\n"
        "- {artifact: load_and_run, size: deflated, max: 1}\n"
        "waivers: [{budget: load_and_run section .text}, {budget: load_and_run .text}]\n"
    )

    (problem,) = found_by(budget_problems, text)
    assert problem.startswith("f:7: waivers[1].budget: found 'load_and_run .text', expected ")
    assert "(did you mean load_and_run section .text?)" in problem
    assert "load_and_run deflated" in problem


def test_a_budget_stands_once() -> None:
    """The second would be another limit of the same."""
    one = "{artifact: load_and_run, section: .text, max: 1}"

    (problem,) = found_by(budget_problems, f"{HEAD}budgets: [{one}, {one}]\n")
    assert "found 'load_and_run section .text' a second time" in problem


def test_a_budget_is_for_an_artifact_and_has_a_limit() -> None:
    """Each artifact and variant has one budget; a waiver is for a budget."""
    text = (
        "artifacts: [load_and_run, lib.so]\n"
        "budgets:\n"
        "- {artifact: lib.so, max: 1}\n"
        "- {artifact: lib.so, variant: plain, growth: 1}\n"
        "- {artifact: lib.so, variant: reduced, growth: 1}\n"
        "- {artifact: lib.s, max: 1}\n"
        "- {artifact: load_and_run}\n"
        "waivers: [{budget: lib.so/plain}, {budget: lib.so/profile}]\n"
    )

    assert sorted(found_by(budget_problems, text)) == [
        (
            "f:5: budgets[2].artifact: found 'lib.so' a second time (the first is on line 3), "
            "expected each name once"
        ),
        (
            "f:6: budgets[3].artifact: found 'lib.s', expected load_and_run or lib.so "
            "(did you mean lib.so?)"
        ),
        (
            "f:7: budgets[4]: found a budget without a limit, expected max, growth, warn or "
            "warn_growth"
        ),
        (
            "f:8: waivers[1].budget: found 'lib.so/profile', expected lib.so, lib.so/plain, lib.s "
            "or load_and_run (did you mean lib.so/plain?)"
        ),
    ]


def test_a_waiver_without_budgets_waives_nothing() -> None:
    """There is no name to suggest."""
    [problem] = found_by(budget_problems, "waivers: [{budget: x}]\n")

    assert problem.endswith("found 'x', expected a budget that is written above")
