from dataclasses import replace

import pytest

from megtrim.core.timing.catalogue import BASELINE, find_experiments
from megtrim.core.timing.experiment import (
    Backend,
    CacheUse,
    DataType,
    Effects,
    Experiment,
    ModelFile,
    Step,
)
from megtrim.core.timing.spec import TimeStage
from megtrim.engines.load_and_run.dialects import LITE, SDK
from megtrim.engines.megengine.experiments import EXPERIMENTS
from megtrim.libs.programs.flags import Dialect, Flag, parse_flags
from megtrim.libs.util.errors import InputError
from megtrim.times.experiments.commands import (
    NO_GPU,
    Situation,
    StepFiles,
    choose_backend,
    describe_needs,
    drop_counts,
    find_data_type,
    find_missing,
    keep_for_experiments,
    make_commands,
    make_dumping,
    why_not,
)
from megtrim.times.experiments.listing import (
    describe_effects,
    describe_step,
    render_reference,
    show_commands,
)

FILES = StepFiles(
    program="./lar",
    model="m.mge",
    dumped_model="d.mge",
    algo_cache="c.cache",
    inputs=(("data", "x.npy"),),
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
            "--fast-run-algo-policy c.cache --input data:x.npy"
        ),
    ]


def test_the_recipe_for_arm_ends_in_the_calling_thread_and_threads_are_asked_for_once() -> None:
    assert " --cpu-default " in lines("recipe-arm", machine="aarch64")[2]
    last = lines("recipe-arm", machine="aarch64", threads=2)[2]
    assert " --multithread-default 2 " in last
    assert "--cpu" not in last
    assert " --multithread " not in last
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


def test_a_tree_that_calls_it_winograd_transform_and_has_no_full_run() -> None:
    old = replace(SDK, switches=SDK.switches - {"weight_preprocess", "full_run"})
    assert "--winograd-transform" in lines("weight-preprocess", old)[0]
    assert "--winograd-transform" not in lines("weight-preprocess", SDK)[0]
    with pytest.raises(InputError, match="full-run: the flag --full-run is unknown to this engine"):
        lines("full-run", old)


@BOTH
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_the_program_takes_every_command(experiment: Experiment, dialect: Dialect) -> None:
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
            parsed = {
                f.name: f.value for f in parse_flags(each.argv[2:], dialect=dialect, source="x")
            }
            assert parsed["iter"] == str(each.iterations) == ("7" if each.step.measured else "1")
            assert parsed["warmup_iter"] == str(each.step.warmups)
            assert "bin_out_dump" not in parsed


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

    (made,) = make_commands(
        experiment, FILES, dialect=LITE, backend=Backend.CPU, architecture=None, extra=(spelling,)
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
    own = parse_flags(arguments, dialect=dialect, source="test")

    assert tuple(flag.name for flag in keep_for_experiments(own)) == kept


@pytest.mark.parametrize(
    ("arguments", "warmups"),
    [
        (("--cpu", "--iter", "2"), 1),
        (("--warmup-iter", "3", "--cpu"), 3),
        (("--warmup-iter", "3", "--warmup-iter", "0", "--cpu"), 0),
    ],
)
def test_a_trimmed_program_keeps_its_own_flags(arguments: tuple[str, ...], warmups: int) -> None:
    """It has the kernels of these alone; only how often it runs is another matter."""
    kept, asked = drop_counts(parse_flags(arguments, dialect=LITE, source="test"))

    assert [flag.name for flag in kept] == ["cpu"]
    assert asked == warmups


X86 = Situation(
    dialect=LITE,
    architecture="x86_64",
    cpu_features=frozenset({"avx2"}),
    data_type=DataType.FLOAT32,
)
PHONE = replace(X86, architecture="aarch64", cpu_features=frozenset({"dotprod"}))
NO_RECORD = replace(LITE, switches=LITE.switches - {"record_comp_seq"})


@pytest.mark.parametrize(
    ("name", "situation", "expected"),
    [
        ("nchw88", X86, None),
        ("nchw88", PHONE, "needs x86_64, and this is aarch64"),
        ("nchw88", replace(X86, cpu_features=frozenset()), "needs a CPU with avx2"),
        ("nchw88", replace(X86, data_type=DataType.INT8), "needs a model of float32, but this one"),
        ("nchw44", X86, "needs aarch64 or arm, and this is x86_64"),
        ("nchw44", PHONE, None),
        ("nchw44-dot", PHONE, None),
        ("nchw44-dot", replace(PHONE, cpu_features=frozenset()), "needs a CPU with dotprod"),
        ("nchw4", X86, NO_GPU),
        ("layout-by-dump", X86, "needs the engine's Python package: its dump rewrites the graph"),
        ("recipe-nvidia", X86, NO_GPU),
        ("recipe-nvidia", replace(X86, dialect=NO_RECORD), "the flag --record-comp-seq is unknown"),
        ("recipe-arm", X86, "needs aarch64 or arm, and this is x86_64"),
        ("fast-run", replace(X86, backend=Backend.CUDA), NO_GPU),
        ("fast-run", replace(X86, backend=Backend.CUDA, has_gpu=True), None),
        ("nchw64", replace(X86, has_gpu=True, data_type=DataType.INT4), None),
        ("nchw64", replace(X86, has_gpu=True), "needs a model of int4 or int8, but this one is"),
    ],
)
def test_reasons(name: str, situation: Situation, expected: str | None) -> None:
    (experiment,) = find_experiments([name])
    found = why_not(experiment, situation)
    assert found is None if expected is None else (found or "").startswith(expected)


def test_the_rows_of_one_name_run_the_same() -> None:
    """The document has two rows for chwn4, and one flag."""
    first, second = find_experiments(["chwn4", "chwn4-again"])

    assert (first.steps, first.needs) == (second.steps, second.needs)


def test_what_is_not_known_is_held_against_none_and_all_can_run_somewhere() -> None:
    unknown = Situation(dialect=LITE, architecture=None)
    here = [each for each in EXPERIMENTS if not each.needs.elsewhere]
    assert {why_not(each, unknown) for each in here} == {None, NO_GPU}
    for each in here:
        needs = each.needs
        situation = Situation(
            dialect=LITE,
            architecture=(needs.architectures or ("x86_64",))[0],
            cpu_features=frozenset(needs.cpu_features),
            data_type=(needs.data_types or (DataType.FLOAT32,))[0],
            has_gpu=True,
        )
        assert why_not(each, situation) is None


def test_the_backend_of_an_experiment() -> None:
    both, cpu, cuda = find_experiments(["baseline", "nchw44", "nchw4"])
    gpu = replace(X86, backend=Backend.CUDA)
    assert [choose_backend(each, X86) for each in (both, cpu, cuda)] == ["cpu", "cpu", "cuda"]
    assert [choose_backend(each, gpu) for each in (both, cpu, cuda)] == ["cuda", "cpu", "cuda"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("Float32", "Int32"), DataType.FLOAT32),
        (("Float32", "QuantizedS8", "QuantizedS32"), DataType.INT8),
        (("Float32", "Quantized8Asymm"), DataType.INT8),
        (("Float32", "QuantizedS4", "QuantizedS8"), DataType.INT4),
        (("Float16",), None),
        ((), None),
    ],
)
def test_data_type_of_a_model(names: tuple[str, ...], expected: DataType | None) -> None:
    assert find_data_type(names) is expected


def test_needs_in_words() -> None:
    both, dot, cuda, cpu = find_experiments(["baseline", "fake-first", "nchw44-dot", "nchw64"])
    assert describe_needs(both) == ()
    assert describe_needs(cpu) == ("a CPU",)
    assert describe_needs(dot)[:2] == ("aarch64 or arm", "a CPU with dotprod")
    assert describe_needs(dot)[2:] == ("a model of float32 or int8",)
    assert describe_needs(cuda) == ("an NVIDIA GPU", "a model of int4 or int8")


NAMES = (
    "baseline",
    "fast-run",
    "fast-run-cache",
    "full-run",
    "full-run-cache",
    "nchw44",
    "nchw44-dot",
    "nchw88",
    "nchw4",
    "chwn4",
    "chwn4-again",
    "nchw32",
    "nchw64",
    "layout-by-dump",
    "layout-online",
    "layout-dumped",
    "weight-preprocess",
    "weight-preprocess-cache",
    "fake-first",
    "fake-first-cache",
    "fake-first-weight-preprocess",
    "fake-first-weight-preprocess-cache",
    "fuse-preprocess",
    "fuse-conv-bias-nonlinearity",
    "fuse-conv-bias-with-z",
    "record-1",
    "record-2",
    "recipe-x86",
    "recipe-arm",
    "recipe-nvidia",
)


def test_every_experiment_has_its_name_and_its_row() -> None:
    assert tuple(each.name for each in EXPERIMENTS) == NAMES
    rows = [each.row for each in EXPERIMENTS if each.row]
    assert len(set(rows)) == len(rows)
    without = {each.name for each in EXPERIMENTS if not each.row}
    assert without == {"full-run-cache", "fuse-preprocess"}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_steps_do_what_the_engine_can_and_measure_no_search(experiment: Experiment) -> None:
    for step in experiment.steps:
        names = {flag.name for flag in step.flags}
        # The first of fake-first's warm-ups computes nothing: alone, it would leave the work to
        # the first iteration.
        assert step.warmups == (2 if "fake_first" in names else 1)
        # The engine ends with an assertion otherwise.
        if "record_comp_seq2" in names:
            assert "no_sanity_check" in names
            assert "fake_first" not in names
        assert len(names & {"fast_run", "full_run"}) < 2
        assert "record_com_seq2" not in names
    if experiment.name.endswith("-cache") or experiment.name.startswith("recipe-"):
        assert experiment.steps[-2].cache is CacheUse.WRITES
        assert experiment.measured.cache is CacheUse.READS
        assert {"fast_run", "full_run"}.isdisjoint(each.name for each in experiment.measured.flags)


def test_recipes_have_three_steps() -> None:
    recipes = [each for each in EXPERIMENTS if each.name.startswith("recipe-")]
    assert {(len(each.steps), each.steps[0].dumps) for each in recipes} == {(3, True)}
    (arm,) = find_experiments(["recipe-arm"])
    assert [{flag.name for flag in step.flags} for step in arm.steps[1:]] == [
        {"fast_run", "weight_preprocess", "enable_fuse_conv_bias_nonlinearity"},
        {"weight_preprocess", "enable_fuse_conv_bias_nonlinearity", "record_comp_seq"},
    ]


def test_what_must_be_equal_to_the_last_bit_and_what_needs_a_gpu() -> None:
    exact = {each.name for each in EXPERIMENTS if each.tolerance.is_exact}
    assert exact == {BASELINE, "fake-first", "record-1", "record-2"}
    cuda = {each.name for each in EXPERIMENTS if each.needs.backends == (Backend.CUDA,)}
    assert cuda == {"nchw4", "chwn4", "chwn4-again", "nchw32", "nchw64", "recipe-nvidia"}


def test_names_are_looked_up_in_the_order_of_the_page() -> None:
    found = find_experiments(["record-1", "baseline", "record-1"])
    assert [each.name for each in found] == ["baseline", "record-1"]
    assert find_experiments([]) == EXPERIMENTS
    with pytest.raises(InputError, match="there is no experiment 'nchw45'") as caught:
        find_experiments(["nchw45"])
    assert "nchw44" in caught.value.hint


def test_steps_and_effects_in_words() -> None:
    recipe, arm = find_experiments(["recipe-x86", "recipe-arm"])
    assert [describe_step(step) for step in recipe.steps] == [
        "run the model; choose layouts, and dump the model",
        "run the dumped model with --fast-run, --weight-preprocess; leave an algorithm cache",
        (
            "run the dumped model with --weight-preprocess, --fake-first; "
            "algorithms from the cache; 2 warm-ups; measured"
        ),
    ]
    assert "; in the calling thread; " in describe_step(arm.measured)
    baseline, nchw88 = find_experiments(["baseline", "nchw88"])
    assert describe_effects(baseline) == ""
    assert describe_effects(nchw88) == "prepare slower, warm-up faster, inference faster"
    (nchw44,) = find_experiments(["nchw44"])
    assert describe_effects(nchw44) == (
        "prepare slower, warm-up slower, inference faster; "
        "for int8: prepare slower, warm-up slower, inference slower"
    )


@pytest.mark.parametrize(
    ("name", "on_int8", "milliseconds", "without"),
    [
        ("nchw44", False, (819.9, 485.3, 236.5), (4.5, 478.6, 247.3)),
        ("nchw44-dot", False, (803.5, 483.5, 236.6), (4.5, 478.6, 247.3)),
        ("nchw44", True, (439.7, 332.6, 212.1), (4.3, 257.8, 82.7)),
        ("nchw44-dot", True, (625.5, 200.9, 69.7), (4.3, 257.8, 82.7)),
    ],
)
def test_the_catalogue_promises_what_the_document_measured_on_arm(
    name: str,
    on_int8: bool,
    milliseconds: tuple[float, ...],
    without: tuple[float, ...],
) -> None:
    (experiment,) = find_experiments([name])
    effects = experiment.on_int8 if on_int8 else experiment.effects
    assert effects is not None
    stages = (TimeStage.PREPARE, TimeStage.WARM_UP, TimeStage.INFERENCE)
    for stage, took, usual in zip(stages, milliseconds, without, strict=True):
        if stage in effects.faster:
            assert took < usual
        elif stage in effects.slower:
            assert took > usual


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
    assert page.count("Up to 1.6:") == 10
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
    with pytest.raises(ValueError, match="not the name of an experiment"):
        make(Step(), name=name)


def test_what_is_made_and_changes_are_in_the_order_of_the_columns() -> None:
    last = Step(model=ModelFile.DUMPED, cache=CacheUse.READS)
    found = make(DUMP, replace(SEARCH, model=ModelFile.DUMPED), last)

    assert found.measured is last
    assert found.makes == ("a model with other layouts", "an algorithm cache")
    assert make(Step()).makes == ()
    both = replace(make(Step()), slower=(TimeStage.INFERENCE,), faster=(TimeStage.PREPARE,))
    assert both.effects == Effects(slower=(TimeStage.INFERENCE,), faster=(TimeStage.PREPARE,))
