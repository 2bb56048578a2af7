import sys
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
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
    assert len({(plant.file, plant.old, plant.new) for plant in PLANTS}) == len(PLANTS)


def test_no_plant_names_what_does_not_exist(tmp_path: Path, processes: ProcessRunner) -> None:
    """A defect that ends in a NameError is caught by any test, so it says nothing about them."""
    for plant in (plant for plant in PLANTS if plant.file.endswith(".py")):
        file = tmp_path / f"{plant.name}.py"
        file.parent.mkdir(exist_ok=True)
        text = replace_once(plant, (ROOT / plant.file).read_text(encoding="utf-8"))
        file.write_text(text, encoding="utf-8")
    ruff = Path(sys.executable).with_name("ruff")
    argv = (str(ruff), "check", "--isolated", "--no-cache", "--select=F821", str(tmp_path))

    outcome = processes.run(Command(argv=argv, timeout_s=60))

    assert outcome.rc == 0, outcome.stdout + outcome.stderr
