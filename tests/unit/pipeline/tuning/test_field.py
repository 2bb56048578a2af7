"""Who takes part, and who shares files with whom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from megtrim.config.scenarios import all_scenarios
from megtrim.load_and_run.arguments import Flag
from megtrim.load_and_run.dialects import SDK
from megtrim.perf.experiments.table import BASELINE
from megtrim.perf.tuning.candidates import list_candidates, make_of_choice
from megtrim.pipeline.tuning.field import make_field as make_own_field
from unit.pipeline.running.test_contest_plan import CONFIG, open_session
from unit.pipeline.tuning.scripted import RACERS, X86, make_field


def test_all_run_one_program_with_their_own_flags(tmp_path: Path) -> None:
    """It is put there once, however many take part."""
    field = make_field(tmp_path)
    assert {each.experiment.name for each in field.entrants} == set(RACERS)
    assert field.entrants[0].experiment.name == BASELINE
    argv = [each.contestant.commands[-1].argv for each in field.entrants]
    assert {words[:2] for words in argv} == {("program", "model.mge")}
    assert len(set(argv)) == len(argv)
    assert set(field.files.list_files(())) == {"program", "model.mge", "input0.npy"}


def test_who_prepares_alike_shares_a_side(tmp_path: Path) -> None:
    """A search with the same flags is made once; other searches have files of their own."""
    field = make_field(tmp_path)
    for each in list_candidates(X86):
        field.enter(each)
    side = {each.experiment.name: each.side for each in field.entrants}
    assert side["cache"] == side["cache-record"]
    assert side[BASELINE] == side["record"] == side["nchw88"]
    assert len({side["cache"], side[BASELINE], side["fuse-cache"], side["layout-dumped"]}) == 4
    names = [field.files.names_of(each) for each in set(side.values())]
    assert len({each.algo_cache for each in names}) == len(names)
    assert len({len(each.algo_cache) for each in names}) == 1


def test_one_with_the_steps_of_another_is_that_one(tmp_path: Path) -> None:
    """What the engine itself chose is not run twice."""
    field = make_field(tmp_path)
    choice = make_of_choice("fitting", (Flag("weight_preprocess", "true"), Flag("cpu", "true")))
    assert field.enter(choice) is field.find("weight-preprocess")
    other = make_of_choice("fitting", (Flag("enable_jit", "true"),))
    assert field.enter(other) is field.find("fitting")


def test_the_engines_own_search_is_asked_where_there_is_one(tmp_path: Path) -> None:
    """Programs up to 1.6 have none."""
    field = make_field(tmp_path)
    command = field.make_fitting_command()
    assert command == (
        *("program", "model.mge", "--cpu", "--fitting", "--input", "data:input0.npy"),
    )
    field.situation = replace(X86, dialect=SDK)
    assert field.make_fitting_command() is None


def test_a_scenario_is_always_raced_in_the_same_order(tmp_path: Path) -> None:
    assert make_field(tmp_path).seed == make_field(tmp_path).seed


def test_a_race_is_disturbed_by_what_disturbs_a_contest(tmp_path: Path) -> None:
    """As the configuration says."""
    session = open_session(tmp_path, CONFIG.replace("threshold:", "other_load: 20%, threshold:"))
    scenario = next(all_scenarios(session.request.config))

    assert make_own_field(scenario, session).other_load == 0.2
