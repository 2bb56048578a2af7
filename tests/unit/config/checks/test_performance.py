"""Mistakes within the key ``perf``."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.config.checks.performance import performance_problems
from megtrim.config.yaml.problems import ConfigError
from unit.config.checks.found import found_by
from unit.config.support import SMALL, load


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("experiments: [nchw99]", "'nchw99', expected an experiment that `megtrim perf list`"),
        ("experiments: [nchw88, nchw88]", "'nchw88' a second time, expected each name once"),
        ("recipes: [riscv]", "expected"),
        ("scenarios: [m/x]", "'m/x', expected m/s"),
        ("scenarios: []", "expected"),
        ("classes: [big]", "'big', expected any"),
        ("budget: {rounds: 7}", "expected"),
        ("budget: {time: 0 s}", "more than no time"),
        ("threshold: 0.01", "expected a share such as 1%"),
        ("threshold: 100%", "expected a share such as 1%"),
        ("floor: 3 days", "expected a short time such as 0.05 ms"),
        ("floor: -1 ms", "expected a short time such as 0.05 ms"),
        ("other_load: 0.5", "below 100%, or any"),
        ("other_load: 100%", "below 100%, or any"),
        ("history: {folder: a, branch: b}", "folder or branch, not both"),
        ("history: {branch: a..b}", "the name of a branch"),
        ("inconclusive: pass", "expected"),
        ("nights: 3", "expected"),
    ],
)
def test_a_mistake_is_shown_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    """What was found, and what was expected."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"{SMALL}perf:\n  {line}\n")

    assert "megtrim.yaml:9" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("models", ["", "models: 3\n", "models: [{name: m, scenarios: []}]\n"])
def test_names_of_scenarios_are_not_checked_where_there_are_none(models: str) -> None:
    """What is wrong with the models is said of the models."""
    assert found_by(performance_problems, f"perf: {{scenarios: [m/s]}}\n{models}") == []
