from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.experiments.commands import (
    StepFiles,
    drop_counts,
    find_missing,
    keep_for_experiments,
    make_commands,
    make_dumping,
)
from megtrim.experiments.experiment import Backend, Experiment
from megtrim.experiments.table import EXPERIMENTS, find_experiments
from megtrim.load_and_run.arguments import flags
from megtrim.load_and_run.dialects import LITE, SDK, Dialect
from megtrim.util.errors import InputError

FILES = StepFiles(
    program="./lar",
    model="m.mge",
    dumped_model="d.mge",
    algo_cache="c.cache",
    inputs=(("data", "x.npy"),),
    outputs="out",
)
BOTH = pytest.mark.parametrize("dialect", [SDK, LITE], ids=["sdk", "lite"])


def lines(
    name: str,
    dialect: Dialect = LITE,
    backend: Backend = Backend.CPU,
    machine: str | None = "x86_64",
    threads: int = 1,
) -> list[str]:
    (experiment,) = find_experiments([name])
    made = make_commands(
        experiment, FILES, dialect=dialect, backend=backend, architecture=machine, threads=threads
    )
    return [" ".join(each.argv) for each in made]


def test_the_recipe_for_x86() -> None:
    assert lines("recipe-x86") == [
        (
            "./lar m.mge --cpu --layout-transform cpu --layout-transform-dump d.mge "
            "--warmup-iter 1 --iter 1 --input data:x.npy"
        ),
        (
            "./lar d.mge --cpu --fast-run --weight-preprocess --warmup-iter 1 --iter 1 "
            "--fast-run-algo-policy c.cache --input data:x.npy"
        ),
        (
            "./lar d.mge --cpu --weight-preprocess --fake-first --warmup-iter 2 --iter 10 "
            "--fast-run-algo-policy c.cache --input data:x.npy --bin-out-dump out"
        ),
    ]


def test_the_recipe_for_arm_ends_in_the_calling_thread() -> None:
    assert " --cpu-default " in lines("recipe-arm", machine="aarch64")[2]
    last = lines("recipe-arm", machine="aarch64", threads=2)[2]
    assert " --multithread-default 2 " in last
    assert "--cpu" not in last
    assert " --multithread " not in last


def test_threads_are_asked_for_once() -> None:
    assert lines("baseline", threads=4)[0].count("--multithread 4") == 1


@pytest.mark.parametrize(
    ("machine", "target"),
    [("x86_64", "x86 "), ("aarch64", "arm "), ("arm", "arm "), ("riscv64", "--"), (None, "--")],
)
def test_targets_of_layouts_up_to_1_6(machine: str | None, target: str) -> None:
    assert f" --layout-transform {target}" in lines("layout-online", SDK, machine=machine)[0]


def test_a_gpu_has_a_flag_from_1_7_on() -> None:
    """Before, a build with CUDA takes it unless another device is named."""
    new = lines("recipe-nvidia", backend=Backend.CUDA)
    old = lines("recipe-nvidia", SDK, backend=Backend.CUDA)
    assert all(" --cuda " in each for each in new)
    assert not any("--cuda" in each or "--cpu" in each for each in old)
    assert "--layout-transform cuda " in new[0]
    assert "--layout-transform cuda " in old[0]


def test_a_tree_that_calls_it_winograd_transform() -> None:
    old = replace(SDK, switches=SDK.switches - {"weight_preprocess"})
    assert "--winograd-transform" in lines("weight-preprocess", old)[0]
    assert "--winograd-transform" not in lines("weight-preprocess", SDK)[0]


@BOTH
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_each_command_is_one_that_the_program_takes(
    experiment: Experiment, dialect: Dialect
) -> None:
    for backend in experiment.needs.backends:
        assert find_missing(experiment, backend, dialect) is None
        made = make_commands(
            experiment,
            FILES,
            dialect=dialect,
            backend=backend,
            architecture="aarch64",
            threads=2,
            iterations=7,
        )
        for each in made:
            parsed = {f.name: f.value for f in flags(each.argv[2:], dialect=dialect, source="x")}
            assert parsed["iter"] == str(each.iterations) == ("7" if each.step.measured else "1")
            assert parsed["warmup_iter"] == str(each.step.warmups)
            assert ("bin_out_dump" in parsed) == each.step.measured


def test_a_flag_that_the_program_does_not_know() -> None:
    old = replace(SDK, switches=SDK.switches - {"full_run"})
    with pytest.raises(InputError, match="full-run: the flag --full-run is unknown to this engine"):
        lines("full-run", old)


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("layout-dumped", "layout_transform_dump"),
        ("fast-run-cache", "fast_run_algo_policy"),
        ("baseline", "iter"),
    ],
)
def test_flags_with_files_are_looked_for(name: str, flag: str) -> None:
    (experiment,) = find_experiments([name])
    without = replace(LITE, values=LITE.values - {flag})
    assert find_missing(experiment, Backend.CPU, without) == flag


@pytest.mark.parametrize("spelling", ["--fake-first", "--fake_first", "-fake-first"])
def test_outputs_are_dumped_without_fake_first(spelling: str) -> None:
    """The engine crashes if it is to dump after a run that computed nothing; all else stays."""
    (experiment,) = find_experiments(["fake-first-weight-preprocess"])
    files = replace(FILES, outputs=None)
    (made,) = make_commands(
        experiment, files, dialect=LITE, backend=Backend.CPU, architecture=None, extra=(spelling,)
    )
    dumping = make_dumping(made, "folder")

    assert " ".join(dumping.argv) == (
        "./lar m.mge --cpu --weight-preprocess --warmup-iter 2 --iter 10 --input data:x.npy "
        "--iter 1 --bin-out-dump folder"
    )
    assert (dumping.iterations, dumping.step) == (1, made.step)


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (("--cpu", "--iter", "20"), ()),
        (("--cpu", "--weight-preprocess", "--verbose"), ("verbose",)),
        (("--c-opr-lib", "lib.so", "--enable-nchw44", "--layout-transform", "cpu"), ("c_opr_lib",)),
        (("--multithread", "2", "--record-comp-seq", "--no-sanity-check"), ()),
    ],
)
@pytest.mark.parametrize("dialect", [SDK, LITE], ids=lambda each: each.name)
def test_an_experiment_has_only_its_own_options(
    dialect: Dialect, arguments: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    own = flags(arguments, dialect=dialect, source="test")

    assert tuple(flag.name for flag in keep_for_experiments(own)) == kept


@pytest.mark.parametrize(
    ("arguments", "warmups"),
    [
        (("--cpu", "--iter", "2"), 1),
        (("--warmup-iter", "3", "--cpu"), 3),
        (("--warmup-iter", "3", "--warmup-iter", "0", "--cpu"), 0),
    ],
)
def test_a_trimmed_program_keeps_the_scenarios_flags(
    arguments: tuple[str, ...], warmups: int
) -> None:
    """It has the kernels of these alone; only how often it runs is another matter."""
    kept, asked = drop_counts(flags(arguments, dialect=LITE, source="test"))

    assert [flag.name for flag in kept] == ["cpu"]
    assert asked == warmups
