"""Which of a scenario's own flags a measured run keeps."""

from __future__ import annotations

import pytest

from megtrim.load_and_run.arguments import flags
from megtrim.load_and_run.dialects import LITE, SDK, Dialect
from megtrim.perf.experiments.scenario_flags import drop_counts, keep_for_experiments


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
    """What the model needs to run at all stays."""
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
