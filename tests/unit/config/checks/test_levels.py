"""Keys about functions are refused where only regions are trimmed, and the other way round."""

from __future__ import annotations

import pytest

from megtrim.config.checks.levels import COMPILED, level_problems
from unit.config.checks.found import found_by


@pytest.mark.parametrize(
    "trim",
    [
        "{level: region, minimum_size: true}",
        "{level: function, base: plain, keep: [f]}",
        "{level: function, base: plain, crash_ids: true}",
        "{layout: upstream, crash_ids: false}",
        "{level: function, base: reduced, layout: x}",
        "3",
    ],
)
def test_keys_of_their_own_level_are_accepted(trim: str) -> None:
    """A section of the wrong shape is the model's to report."""
    assert found_by(level_problems, f"trim: {trim}\n") == []


@pytest.mark.parametrize("level", ["level: region", "optimize: size"])
@pytest.mark.parametrize("key", ["base", "keep"])
def test_a_key_about_functions_needs_functions(level: str, key: str) -> None:
    """Regions are the level where none is given."""
    [problem] = found_by(level_problems, f"trim:\n  {level}\n  {key}: plain\n")

    assert problem == (
        f"f:3: trim.{key}: found a key that has no effect unless functions are trimmed, "
        "expected level: function"
    )


@pytest.mark.parametrize("key", COMPILED)
def test_a_key_of_reduced_builds_needs_one(key: str) -> None:
    """Functions of the plain build are left out at the link, and nothing is compiled."""
    [problem] = found_by(level_problems, f"trim: {{level: function, base: plain, {key}: x}}\n")

    assert problem == (
        f"f:1: trim.{key}: found a key of reduced builds, and base: plain makes none, "
        "expected base: reduced, or no such key"
    )


def test_crash_ids_need_the_contract() -> None:
    """The engine's own header traps for all regions alike."""
    [problem] = found_by(level_problems, "trim: {crash_ids: true, layout: upstream}\n")

    assert problem == (
        "f:1: trim.crash_ids: found true next to layout: upstream, whose regions trap as the "
        "engine's header says, expected layout: scoped, or no such key"
    )
