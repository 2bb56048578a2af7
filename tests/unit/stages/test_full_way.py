"""What a quick look is set beside: the build by regions of these scenarios, trimmed this way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.config.load import load_config
from megtrim.engines.sample import SampleEngine, embedded
from megtrim.midout.keepset import VERSION, KeepSet, dump_keep_set
from megtrim.plan.graph import FUNCTIONS, HEADER, Stage, Task
from megtrim.process import Processes
from megtrim.stages import full_way, reduce
from megtrim.stages.context import Context
from megtrim.stages.files import KEEP_SET_FILE
from megtrim.store import Folder
from unit.engines.support import TOOLCHAIN
from unit.stages.built import finish
from unit.stages.support import CONFIG, context, keep_set

FUNCTION = f"{CONFIG}trim: {{level: function}}\n"
FORM = {"format": str(VERSION), "layout": "scoped"}
OURS = keep_set(1)


@pytest.fixture
def now(tmp_path: Path, processes: Processes) -> Context:
    """A quick look, in whose own keep set no region stands."""
    made, _ = context(tmp_path)
    engine = SampleEngine(embedded(), processes)
    opened = replace(made, engine=engine, toolchain=TOOLCHAIN, quick=True)
    (ours,) = OURS.scenarios
    own = replace(
        OURS, scenarios=(replace(ours, regions=(), functions=("f",), link_sha256="7" * 64),)
    )
    finish(opened, FUNCTIONS, {KEEP_SET_FILE: dump_keep_set(own)}, {})
    return configured(opened, FUNCTION)


def configured(now: Context, text: str) -> Context:
    """Return it with another configuration: as it is written, and as a quick look takes it."""
    path = now.loaded.path
    path.write_text(text, encoding="utf-8")
    return replace(now, loaded=load_config(path, quick=True), full=load_config(path))


def trimmed(
    now: Context, task: str = "reduce/region", *, keep: KeepSet = OURS, **named: str
) -> Folder:
    """Leave what the full way makes of the context's configuration and this keep set."""
    assert now.full is not None
    text = dump_keep_set(keep)
    files = {KEEP_SET_FILE: text, "include/bin_reduce.h": f"/* {text} */"}
    header = finish(now, HEADER, files, FORM | {"traces": text} | named)
    name = task.partition("/")[2]
    made = replace(now, loaded=now.full, quick=False, done={HEADER: header})
    inputs = reduce.inputs(Task(stage=Stage.REDUCE, name=name, needs=()), made)
    return finish(now, task, {"bin/load_and_run": text}, inputs)


def test_it_is_this_configurations_own(now: Context) -> None:
    """Whatever its level: the build by regions has another name where functions follow it."""
    assert full_way.by_regions(now) is None
    own = trimmed(now)
    assert full_way.by_regions(now) == own

    regions = configured(now, CONFIG)
    assert full_way.by_regions(regions) is None
    own = trimmed(regions, "reduce/reduced")
    assert full_way.by_regions(regions) == own


@pytest.mark.parametrize(
    "change",
    [
        {"id": "m/other@any"},
        {"model_sha256": "c" * 64},
        {"arguments": ("--cpu", "--iter", "5")},
        {"inputs": (("data", "c" * 64),)},
        {"algo_cache_sha256": "c" * 64},
        {"threads": 2},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_scenario_is_another_trim(now: Context, change: dict[str, Any]) -> None:
    """A newer build in the same folder of results does not stand in for the own one."""
    (ours,) = OURS.scenarios
    other = replace(OURS, scenarios=(replace(ours, **change),))
    trimmed(now, keep=other)
    assert full_way.by_regions(now) is None

    both = replace(OURS, scenarios=(ours, replace(ours, id="m/t@any")))
    trimmed(now, keep=both)
    assert full_way.by_regions(now) is None

    own = trimmed(now)
    trimmed(now, keep=other, again="newer")
    assert full_way.by_regions(now) == own


@pytest.mark.parametrize(
    "trim",
    [
        "{level: function, minimum_size: false}",
        "{level: function, switches: {rtti: false}, minimum_size: false}",
        "{level: function, optimize: size}",
        "{level: function, layout: upstream}",
        "{level: function, base: plain}",
    ],
)
def test_another_way_of_trimming_is_another_trim(now: Context, trim: str) -> None:
    """What a quick look does not mind, a reduced build does."""
    own = trimmed(now)
    changed = configured(now, f"{CONFIG}trim: {trim}\n")

    assert full_way.by_regions(changed) is None
    assert full_way.by_regions(configured(changed, FUNCTION)) == own


def test_another_form_of_the_header_is_not_read(now: Context) -> None:
    """It may be of another version of megtrim."""
    trimmed(now, format="0")

    assert full_way.by_regions(now) is None


def test_a_configuration_with_mistakes_has_no_full_way(now: Context) -> None:
    """A quick look minds no key of a reduced build."""
    trimmed(now)

    assert full_way.by_regions(replace(now, full=None)) is None
