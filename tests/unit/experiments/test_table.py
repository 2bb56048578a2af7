from dataclasses import replace

import pytest

from megtrim.experiments.experiment import Backend, CacheUse, Experiment, ModelFile, Step, TimeStage
from megtrim.experiments.listing import (
    describe_effects,
    describe_step,
    render_reference,
    show_commands,
)
from megtrim.experiments.table import BASELINE, EXPERIMENTS, find_experiments
from megtrim.load_and_run.arguments import Flag
from megtrim.load_and_run.dialects import LITE
from megtrim.util.errors import InputError

NAMES = (
    *("baseline", "fast-run", "fast-run-cache", "full-run", "full-run-cache"),
    *("nchw44", "nchw44-dot", "nchw88", "nchw4", "chwn4", "nchw32", "nchw64"),
    *("layout-online", "layout-dumped", "weight-preprocess", "weight-preprocess-cache"),
    *("fake-first", "fake-first-cache", "fake-first-weight-preprocess"),
    *("fake-first-weight-preprocess-cache", "fuse-preprocess", "fuse-conv-bias-nonlinearity"),
    *("fuse-conv-bias-with-z", "record-1", "record-2"),
    *("recipe-x86", "recipe-arm", "recipe-nvidia"),
)


def flags_of(name: str) -> list[set[str]]:
    (found,) = find_experiments([name])
    return [{flag.name for flag in step.flags} for step in found.steps]


def test_every_experiment_has_its_name() -> None:
    assert tuple(each.name for each in EXPERIMENTS) == NAMES


def test_rows_are_distinguished() -> None:
    rows = [each.row for each in EXPERIMENTS if each.row]
    assert len(set(rows)) == len(rows)
    assert {each.name for each in EXPERIMENTS if not each.row} == {
        "full-run-cache",
        "fuse-preprocess",
    }


def test_recording_of_level_2_needs_no_sanity_check() -> None:
    """The engine ends with an assertion otherwise, and with fake-first."""
    for each in EXPERIMENTS:
        for flags in flags_of(each.name):
            if "record_comp_seq2" in flags:
                assert "no_sanity_check" in flags
                assert "fake_first" not in flags
            assert len(flags & {"fast_run", "full_run"}) < 2
            assert "record_com_seq2" not in flags


def test_fake_first_has_two_warm_ups() -> None:
    """The first one computes nothing, so one alone would leave the work to the first iteration."""
    for each in EXPERIMENTS:
        for step in each.steps:
            fake = "fake_first" in {flag.name for flag in step.flags}
            assert step.warmups == (2 if fake else 1)


def test_the_search_is_not_measured_with_its_cache() -> None:
    for each in EXPERIMENTS:
        if each.name.endswith("-cache") or each.name.startswith("recipe-"):
            assert each.steps[-2].cache is CacheUse.WRITES
            assert each.measured.cache is CacheUse.READS
            searches = {"fast_run", "full_run"}
            assert not searches & {flag.name for flag in each.measured.flags}


def test_recipes_have_three_steps() -> None:
    for name in ("recipe-x86", "recipe-arm", "recipe-nvidia"):
        (found,) = find_experiments([name])
        assert len(found.steps) == 3
        assert found.steps[0].dumps
    assert flags_of("recipe-arm")[1:] == [
        {"fast_run", "weight_preprocess", "enable_fuse_conv_bias_nonlinearity"},
        {"weight_preprocess", "enable_fuse_conv_bias_nonlinearity", "record_comp_seq"},
    ]


def test_what_must_be_equal_to_the_last_bit() -> None:
    exact = {each.name for each in EXPERIMENTS if each.tolerance.is_exact}
    assert exact == {BASELINE, "fake-first", "record-1", "record-2"}


def test_what_needs_a_gpu() -> None:
    def only_cuda(each: Experiment) -> bool:
        return each.needs.backends == (Backend.CUDA,)

    found = {each.name for each in EXPERIMENTS if only_cuda(each)}
    assert found == {"nchw4", "chwn4", "nchw32", "nchw64", "recipe-nvidia"}


def test_names_are_looked_up_in_the_order_of_the_page() -> None:
    found = find_experiments(["record-1", "baseline", "record-1"])
    assert [each.name for each in found] == ["baseline", "record-1"]
    assert find_experiments([]) == EXPERIMENTS
    with pytest.raises(InputError, match="there is no experiment 'nchw45'") as caught:
        find_experiments(["nchw45"])
    assert "nchw44" in caught.value.hint


def test_steps_in_words() -> None:
    (recipe,) = find_experiments(["recipe-x86"])
    assert [describe_step(step) for step in recipe.steps] == [
        "run the model; choose layouts, and dump the model",
        "run the dumped model with --fast-run, --weight-preprocess; leave an algorithm cache",
        (
            "run the dumped model with --weight-preprocess, --fake-first; "
            "algorithms from the cache; 2 warm-ups; measured"
        ),
    ]
    (arm,) = find_experiments(["recipe-arm"])
    assert "; in the calling thread; " in describe_step(arm.measured)


def test_effects_in_words() -> None:
    (baseline, nchw88) = find_experiments(["baseline", "nchw88"])
    assert describe_effects(baseline) == ""
    assert describe_effects(nchw88) == "prepare slower, warm-up faster, inference faster"


def test_no_commands_of_an_unknown_flag() -> None:
    (full,) = find_experiments(["full-run"])
    without = replace(LITE, switches=LITE.switches - {"full_run"})
    shown = show_commands(full, dialect=LITE, backend=Backend.CPU, architecture=None)
    assert shown[0][:3] == ("load_and_run", "MODEL", "--cpu")
    assert show_commands(full, dialect=without, backend=Backend.CPU, architecture=None) == ()


def test_the_reference_has_every_experiment() -> None:
    page = render_reference()
    for each in EXPERIMENTS:
        assert f"| [`{each.name}`](#{each.name}) | {each.row} | {each.title} |" in page
        assert f"\n## {each.name}\n\n```text\nload_and_run MODEL " in page
    assert page.count("Up to 1.6:") == 9
    assert "--layout-transform arm --layout-transform-dump DUMPED_MODEL" in page


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
