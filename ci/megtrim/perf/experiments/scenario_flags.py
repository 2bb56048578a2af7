"""Which of a scenario's own flags a measured run keeps. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from megtrim.load_and_run.argument_mutation import without
from megtrim.load_and_run.arguments import Flag
from megtrim.perf.experiments.table import EXPERIMENTS

_COUNTS = ("iter", "warmup_iter")
_DEVICES = ("cpu", "cpu_default", "cuda", "multithread", "multithread_default")
_OF_STEPS = ("fast_run", "fast_run_algo_policy", "layout_transform", "layout_transform_dump")
_WARMUPS = 1
"""The program's own default."""


def keep_for_experiments(flags: Sequence[Flag]) -> tuple[Flag, ...]:
    """Return the flags that no experiment decides: what the model needs to run at all.

    The baseline is without optimisation, whatever the scenario ships with.
    """
    chosen = {flag.name for each in EXPERIMENTS for step in each.steps for flag in step.flags}
    return without(flags, *sorted(chosen), *_COUNTS, *_DEVICES, *_OF_STEPS)


def drop_counts(flags: Sequence[Flag]) -> tuple[tuple[Flag, ...], int]:
    """Return the flags without numbers of iterations, and the number of warm-ups that they ask."""
    asked = [flag.value for flag in flags if flag.name == "warmup_iter" and flag.value]
    warmups = int(asked[-1]) if asked and asked[-1].isdecimal() else _WARMUPS
    return without(flags, *_COUNTS), warmups
