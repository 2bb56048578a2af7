"""The planted defects keep up with the code: every one still applies to it."""

from __future__ import annotations

import pytest

from plants.plant import ROOT, Plant, load_plants, replace_once

PLANTS = load_plants()


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_it_applies(plant: Plant) -> None:
    """Its file holds the old text once, and the tests that should notice are there.

    Where code moved, its plants move along: see tests/plants/rooms.
    """
    replace_once(plant, (ROOT / plant.file).read_text(encoding="utf-8"))

    assert plant.tests
    for test in plant.tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8")


def test_no_defect_is_planted_twice() -> None:
    """A plant counts once."""
    assert len({(plant.file, plant.old, plant.new) for plant in PLANTS}) == len(PLANTS)
