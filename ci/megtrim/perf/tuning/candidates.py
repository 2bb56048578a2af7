"""Who takes part in a race: combinations of the flags that experiments are made from. Pure.

Left out are flags that do not change an iteration (fake-first: it shortens the first warm-up), and
the search of full-run, which takes ten times as long as that of fast-run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from megtrim.load_and_run.arguments import Flag
from megtrim.load_and_run.parity import EXACT
from megtrim.perf.experiments.experiment import (
    REORDERED,
    CacheUse,
    Experiment,
    ExperimentNeeds,
    ModelFile,
    Step,
)
from megtrim.perf.experiments.situation import Situation, why_not
from megtrim.perf.experiments.table import BASELINE, find_experiments

LAYOUTS = ("nchw44", "nchw44-dot", "nchw88", "nchw4", "chwn4", "nchw32", "nchw64", "layout-dumped")
"""Experiments that set a layout; at most one of them is in a combination."""
RECIPES = ("recipe-x86", "recipe-arm", "recipe-nvidia")
_WEIGHTS = ("weight-preprocess", "weight_preprocess")
_FUSE = ("fuse", "enable_fuse_conv_bias_nonlinearity")
_FUSE_Z = ("z", "enable_fuse_conv_bias_with_z")
_RECORD = ("record", "record_comp_seq")
_CACHE = "cache"


def list_candidates(situation: Situation) -> tuple[Experiment, ...]:
    """Return all that can run there: the baseline first, the combinations, the recipes."""
    found = (*_combine(), *find_experiments(RECIPES))
    return tuple(each for each in found if why_not(each, situation) is None)


def make_of_choice(name: str, chosen: tuple[Flag, ...]) -> Experiment:
    """Return the experiment of flags that the engine's own search chose.

    A search for algorithms becomes a step of its own, as in all combinations, and a transformed
    layout a dumped model: an iteration takes the same time, only the preparation is shorter.
    """
    on = {each.name for each in chosen if each.value != "false"}
    steps_apart = {"cpu", "cuda", "fast_run", "layout_transform", _RECORD[1]}
    return _build(
        name,
        dumps="layout_transform" in on,
        flags=tuple(on - steps_apart),
        cached="fast_run" in on,
        recorded=_RECORD[1] in on,
    )


def _combine() -> Iterator[Experiment]:
    """Yield every combination, the fewest flags first."""
    layouts = (None, *find_experiments(LAYOUTS))
    fusions = ((), (_FUSE,), (_FUSE, _FUSE_Z))
    choices = itertools.product(layouts, (False, True), (False, True), fusions, (False, True))
    for layout, weights, cached, fused, recorded in choices:
        parts = ((_WEIGHTS,) if weights else ()) + fused
        words = [
            *([layout.name] if layout else []),
            *(word for word, _ in parts),
            *([_CACHE] if cached else []),
            *([_RECORD[0]] if recorded else []),
        ]
        of_layout = () if layout is None else layout.measured.flags
        yield _build(
            "-".join(words) or BASELINE,
            dumps=layout is not None and layout.steps[0].dumps,
            flags=(*(flag.name for flag in of_layout), *(flag for _, flag in parts)),
            cached=cached,
            recorded=recorded,
            needs=layout.needs if layout else ExperimentNeeds(),
        )


def _build(
    name: str,
    *,
    dumps: bool,
    flags: tuple[str, ...],
    cached: bool,
    recorded: bool,
    needs: ExperimentNeeds | None = None,
) -> Experiment:
    """Return the steps: dump, search with the flags that choose operators, run from the cache."""
    model = ModelFile.DUMPED if dumps else ModelFile.ORIGINAL
    common = tuple(Flag(each, None) for each in sorted(flags))
    measured = (*common, Flag(_RECORD[1], None)) if recorded else common
    steps = [Step(transforms=True, dumps=True, measured=False)] if dumps else []
    if cached:
        search = (*common, Flag("fast_run", None))
        steps.append(Step(flags=search, model=model, cache=CacheUse.WRITES, measured=False))
    use = CacheUse.READS if cached else CacheUse.NONE
    steps.append(Step(flags=measured, model=model, cache=use))
    return Experiment(
        name=name,
        row="",
        title="a combination of flags",
        steps=tuple(steps),
        needs=needs or ExperimentNeeds(),
        tolerance=EXACT if name == BASELINE else REORDERED,
    )
