"""Every attempt that is listed is made, and none is made that is not listed."""

import importlib
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
ATTEMPTS = yaml.safe_load((HERE / "attempts.yaml").read_text(encoding="utf-8"))
LEAST = 60


@pytest.mark.parametrize("area", sorted(ATTEMPTS))
def test_each_attempt_is_made(area: str) -> None:
    """In the module of its area: by a test of its name, or as a row of its table."""
    module = importlib.import_module(f"attacks.test_{area}")
    tests = {name.removeprefix("test_") for name in vars(module) if name.startswith("test_")}
    rows = getattr(module, "ATTEMPTS", {})

    assert {*rows, *(name for name in tests if not name.startswith("attempt"))} == {*ATTEMPTS[area]}


def test_the_list_is_whole() -> None:
    """Each attempt says what is done and what has to come of it, and no area is left out."""
    rows = [row for area in ATTEMPTS.values() for row in area.values()]

    assert {path.stem for path in HERE.glob("test_*.py")} == {
        *(f"test_{area}" for area in ATTEMPTS),
        "test_attempts",
    }
    assert all(set(row) == {"attack", "expect"} and all(row.values()) for row in rows)
    assert len(rows) >= LEAST
