"""A whole race of a scripted program: path, winner, last heat."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.perf.criterion import Criterion
from megtrim.perf.tuning.racing import RaceEnd
from megtrim.pipeline.tuning.flag_race import TuneTerms, tune
from unit.pipeline.tuning.scripted import find_machine, make_field

TERMS = TuneTerms(budget_s=300, criterion=Criterion())


def test_the_winner_meets_the_baseline_once_more(tmp_path: Path) -> None:
    """Its ratio comes from rounds of their own, and not from the race."""
    said: list[str] = []
    found = tune(make_field(tmp_path), TERMS, find_machine(tmp_path), say=said.append)

    assert found.winner.name == found.fitting == "weight-preprocess"
    assert found.race.end is RaceEnd.ONE_LEFT
    assert (found.entered, len(found.not_started)) == (6, 2)
    (heat,) = found.heats
    assert heat.seen is not None
    assert heat.against == "baseline"
    assert heat.seen.ratio == pytest.approx(0.5)
    assert found.last_runs == 2 * heat.seen.pairs
    assert (found.dumped_model, found.algo_cache) == (None, None)
    assert "    tune  after 3 rounds, 3 leave: 1 remain, weight-preprocess leads" in said


def test_a_budget_that_compares_nothing_is_too_short(tmp_path: Path) -> None:
    """No winner is made up; the message says how far it came."""
    terms = TuneTerms(budget_s=0.0, criterion=Criterion())
    with pytest.raises(InputError, match="after 0 rounds") as caught:
        tune(make_field(tmp_path), terms, find_machine(tmp_path), say=lambda _: None)
    assert caught.value.hint == "4 contestants were prepared: give more time"


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        ("if [ -e FOLDER/timed ]; then exit 3; fi", ProductFailure, "no contestant ran to the end"),
        ("if [ -e FOLDER/timed ]; then echo torn; exit; fi", InfrastructureFailure, "no process"),
    ],
)
def test_without_any_time_there_is_no_winner(
    tmp_path: Path, script: str, error: type[MegtrimError], said: str
) -> None:
    """Programs that all fail after they started, and logs that are all damaged."""
    field = make_field(tmp_path)
    program = field.files.program
    begun = f'{script}\ncase "$*" in *nchw88*) touch FOLDER/timed ;; esac\n'
    lines = program.read_text("utf-8").partition("\n")
    program.write_text(f"{lines[0]}\n{begun.replace('FOLDER', str(tmp_path))}{lines[2]}", "utf-8")
    with pytest.raises(error, match=said):
        tune(field, TERMS, find_machine(tmp_path), say=lambda _: None)
