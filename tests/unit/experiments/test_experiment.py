from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.experiments.experiment import CacheUse, Experiment, ModelFile, Step, TimeStage
from megtrim.load_and_run.arguments import Flag

SEARCH = Step(flags=(Flag("fast_run", None),), cache=CacheUse.WRITES, measured=False)
DUMP = Step(transforms=True, dumps=True, measured=False)


def make(*steps: Step, name: str = "made") -> Experiment:
    return Experiment(name=name, row="", title="made", steps=steps)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (SEARCH,),
        (Step(), Step()),
        (Step(cache=CacheUse.READS),),
        (Step(model=ModelFile.DUMPED),),
        (replace(DUMP, transforms=False), Step(model=ModelFile.DUMPED)),
        (SEARCH, Step(model=ModelFile.DUMPED)),
    ],
)
def test_steps_that_cannot_follow_one_another(steps: tuple[Step, ...]) -> None:
    with pytest.raises(ValueError, match="made: "):
        make(*steps)


@pytest.mark.parametrize("name", ["", "Fast", "a--b", "a b", "-a", "a_b"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of an experiment"):
        make(Step(), name=name)


def test_what_is_made() -> None:
    last = Step(model=ModelFile.DUMPED, cache=CacheUse.READS)
    found = make(DUMP, replace(SEARCH, model=ModelFile.DUMPED), last)

    assert found.measured is last
    assert found.makes == ("a model with other layouts", "an algorithm cache")
    assert make(Step()).makes == ()


def test_changes_are_in_the_order_of_the_columns() -> None:
    found = replace(make(Step()), slower=(TimeStage.INFERENCE,), faster=(TimeStage.PREPARE,))

    assert found.changes == (TimeStage.PREPARE, TimeStage.INFERENCE)
