import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from megtrim.libs.util.process import Command, ProcessRunner
from plants.plant import ROOT, Misfit, Plant, load_plants, replace_once

PLANTS = load_plants()


@cache
def read(file: str) -> str:
    path = ROOT / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def find_faults(plant: Plant) -> Iterator[str]:
    try:
        replace_once(plant, read(plant.file))
    except Misfit as error:
        yield str(error)
    if not plant.tests:
        yield "names no test"
    for test in plant.tests:
        file, _, name = test.partition("::")
        if f"def {name.partition('[')[0]}" not in read(file):
            yield f"there is no test {test}"


def test_every_plant_applies() -> None:
    """Its file holds the old text once, and the tests that should notice are there.

    Where code moved, its plants move along: see tests/plants/rooms.
    """
    assert len(PLANTS) > 500
    assert [f"{plant.name}: {fault}" for plant in PLANTS for fault in find_faults(plant)] == []


def test_a_plant_that_does_not_apply_is_named() -> None:
    sound = PLANTS[0]

    assert [*find_faults(sound)] == []
    assert [*find_faults(replace(sound, old="no such text"))] != []
    assert [*find_faults(replace(sound, tests=()))] == ["names no test"]
    assert [*find_faults(replace(sound, tests=(f"{sound.file}::test_none",)))] != []


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
