"""Every attempt that is listed is made, and none is made that is not listed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
ATTEMPTS = yaml.safe_load((HERE / "attempts.yaml").read_text(encoding="utf-8"))
LEAST = 60


@pytest.mark.parametrize("area", sorted(ATTEMPTS))
def test_each_attempt_has_its_test(area: str) -> None:
    """In the module of its area, under its name."""
    tree = ast.parse((HERE / f"test_{area}.py").read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    tests = {name.removeprefix("test_") for name in names if name.startswith("test_")}

    assert tests == set(ATTEMPTS[area])


def test_the_list_is_whole() -> None:
    """Each attempt says what is done and what has to come of it, and no area is left out."""
    rows = [row for area in ATTEMPTS.values() for row in area.values()]

    assert {path.stem for path in HERE.glob("test_*.py")} == {
        *(f"test_{area}" for area in ATTEMPTS),
        "test_attempts",
    }
    assert all(set(row) == {"deed", "must"} and all(row.values()) for row in rows)
    assert len(rows) >= LEAST
