"""Who takes part: every valid combination once, with searches that fit the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.load_and_run.arguments import Flag
from megtrim.load_and_run.dialects import LITE, SDK
from megtrim.perf.experiments.experiment import CacheUse, DataType, Experiment, ModelFile
from megtrim.perf.experiments.situation import Situation, why_not
from megtrim.perf.experiments.table import BASELINE, find_experiments
from megtrim.perf.tuning.candidates import list_candidates, make_of_choice

X86 = Situation(
    dialect=LITE,
    architecture="x86_64",
    cpu_features=frozenset({"avx2"}),
    data_type=DataType.FLOAT32,
)
PHONE = replace(X86, architecture="aarch64", cpu_features=frozenset({"dotprod"}))
OLD = replace(X86, dialect=SDK)


def flags_of(experiment: Experiment, step: int) -> set[str]:
    return {flag.name for flag in experiment.steps[step].flags}


def find(name: str, situation: Situation) -> Experiment:
    return next(each for each in list_candidates(situation) if each.name == name)


@pytest.mark.parametrize(
    ("situation", "layouts", "recipe"),
    [
        (X86, 3, "recipe-x86"),
        (PHONE, 4, "recipe-arm"),
        (replace(X86, dialect=SDK), 3, "recipe-x86"),
    ],
)
def test_every_valid_combination(situation: Situation, layouts: int, recipe: str) -> None:
    """Layouts by weights, cache, three fusions and recording, and one recipe."""
    found = list_candidates(situation)
    assert len(found) == layouts * 2 * 2 * 3 * 2 + 1
    assert found[0].name == BASELINE
    assert found[-1].name == recipe
    assert len({each.name for each in found}) == len(found)
    assert len({each.steps for each in found}) == len(found)
    assert all(why_not(each, situation) is None for each in found)


def test_a_flag_that_the_program_does_not_know_leaves_its_combinations_out() -> None:
    """Without fusions and layouts, weights, cache and recording remain."""
    small = LITE.of_tree(
        frozenset({"cpu", "fast_run", "weight_preprocess", "record_comp_seq"}),
        frozenset({"iter", "warmup_iter", "fast_run_algo_policy"}),
    )
    names = [each.name for each in list_candidates(replace(X86, dialect=small))]
    assert len(names) == 8
    assert "weight-preprocess-cache-record" in names


def test_the_search_has_the_flags_that_choose_operators() -> None:
    """What is recorded does not matter to it; layouts, weights and fusions do."""
    experiment = find("nchw88-weight-preprocess-fuse-cache-record", X86)
    assert [step.cache for step in experiment.steps] == [CacheUse.WRITES, CacheUse.READS]
    chosen = {"enable_nchw88", "weight_preprocess", "enable_fuse_conv_bias_nonlinearity"}
    assert flags_of(experiment, 0) == {*chosen, "fast_run"}
    assert flags_of(experiment, 1) == {*chosen, "record_comp_seq"}


def test_a_dumped_layout_is_searched_and_run_as_dumped() -> None:
    """Only the first step sees the scenario's own model."""
    experiment = find("layout-dumped-cache", X86)
    models = [step.model for step in experiment.steps]
    assert models == [ModelFile.ORIGINAL, ModelFile.DUMPED, ModelFile.DUMPED]


@pytest.mark.parametrize("name", [BASELINE, "nchw88", "weight-preprocess", "fast-run-cache"])
def test_single_flags_are_the_experiments(name: str) -> None:
    """A combination of one is the experiment of the table, step by step."""
    (experiment,) = find_experiments([name])
    steps = {each.steps for each in list_candidates(X86)}
    assert experiment.steps in steps


def test_a_choice_of_the_engine_is_a_combination() -> None:
    """Its search becomes a step; a value of false is no flag."""
    chosen = (
        Flag("weight_preprocess", "true"),
        Flag("fast_run", "true"),
        Flag("enable_fuse_conv_bias_nonlinearity", "true"),
        Flag("record_comp_seq", "false"),
        Flag("cpu", "true"),
    )
    made = make_of_choice("fitting", chosen)
    assert flags_of(made, 1) == {"weight_preprocess", "enable_fuse_conv_bias_nonlinearity"}
    assert [step.cache for step in made.steps] == [CacheUse.WRITES, CacheUse.READS]
    layout = make_of_choice("fitting", (Flag("cpu", "true"), Flag("layout_transform", "cpu")))
    assert layout.steps == find("layout-dumped", X86).steps


def test_a_choice_that_a_combination_has_is_that_one() -> None:
    """The order of flags is the same, so that it is not run twice."""
    chosen = (
        Flag("weight_preprocess", "true"),
        Flag("fast_run", "true"),
        Flag("enable_fuse_conv_bias_nonlinearity", "true"),
        Flag("enable_nchw88", "true"),
    )
    steps = make_of_choice("fitting", chosen).steps
    assert steps == find("nchw88-weight-preprocess-fuse-cache", X86).steps
