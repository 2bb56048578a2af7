"""What a quick look is set next to: the full trim's builds of these scenarios, trimmed this way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.build.engines.sample import SampleEngine, find_embedded_source
from megtrim.build_spec import Variant
from megtrim.chain.filenames import KEEP_SET_FILE
from megtrim.chain.graph import FUNCTIONS, HEADER, REDUCED, Stage, Task
from megtrim.chain.session import Session
from megtrim.chain.store import StageFolder
from megtrim.config.load import load_config
from megtrim.regions.keepset import KeepSet, dump_keep_set
from megtrim.size import full_trim
from megtrim.trim.builds import links
from megtrim.trim.stages import reduce
from megtrim.util.process import ProcessRunner
from unit.build.engines.support import TOOLCHAIN
from unit.trim.stages.built import finish
from unit.trim.stages.support import CONFIG, changed, keep_set, open_session

FUNCTION = f"{CONFIG}trim: {{level: function}}\n"
FORM = {"layout": "scoped"}
OURS = keep_set(1)


@pytest.fixture
def now(tmp_path: Path, processes: ProcessRunner) -> Session:
    """A quick look, in whose own keep set no region stands."""
    made, _ = open_session(tmp_path)
    engine = SampleEngine(find_embedded_source(), processes)
    opened = changed(made, engine=engine, toolchain=TOOLCHAIN, quick=True)
    (ours,) = OURS.scenarios
    own = replace(
        OURS, scenarios=(replace(ours, regions=(), functions=("f",), link_sha256="7" * 64),)
    )
    finish(opened, FUNCTIONS, {KEEP_SET_FILE: dump_keep_set(own)}, {})
    return configured(opened, FUNCTION)


def configured(now: Session, text: str) -> Session:
    """Return it with another configuration: as it is written, and as a quick look takes it."""
    path = now.request.loaded.path
    path.write_text(text, encoding="utf-8")
    return changed(now, loaded=load_config(path, quick=True), full=load_config(path))


def made_header(now: Session, keep: KeepSet, **named: str) -> StageFolder:
    """Leave the header of a keep set."""
    text = dump_keep_set(keep)
    files = {KEEP_SET_FILE: text, "include/bin_reduce.h": f"/* {text} */"}
    return finish(now, HEADER, files, FORM | {"traces": text} | named)


def trimmed(
    now: Session, task: str = "reduce/region", *, keep: KeepSet = OURS, **named: str
) -> StageFolder:
    """Leave what the full trim makes of the session's configuration and this keep set."""
    assert now.request.full is not None
    header = made_header(now, keep, **named)
    text = dump_keep_set(keep)
    name = task.partition("/")[2]
    made = changed(now, loaded=now.request.full, quick=False, done={HEADER: header})
    inputs = reduce.inputs(Task(stage=Stage.REDUCE, name=name, needs=()), made)
    return finish(now, task, {"bin/load_and_run": text}, inputs)


def by_regions(now: Session) -> StageFolder | None:
    """Return the build by regions that is found."""
    return full_trim.find_builds(now).get(Variant.REGION)


def by_functions(now: Session) -> StageFolder | None:
    """Return the program by functions that is found."""
    return full_trim.find_builds(now).get(full_trim.FUNCTION)


def linked(now: Session, *, keep: KeepSet = OURS, **named: str) -> StageFolder:
    """Leave what the full trim links of its build, by a list of functions."""
    assert now.request.full is not None
    full = changed(now, loaded=now.request.full, quick=False, done={HEADER: made_header(now, OURS)})
    (record,) = keep.scenarios
    recorded = replace(record, functions=("f",), link_sha256="7" * 64)
    text = dump_keep_set(replace(keep, scenarios=(recorded,)))
    lists = finish(full, FUNCTIONS, {KEEP_SET_FILE: text}, {"functions": text})
    inputs = links.shipped_inputs(full) | {links.KEEP_SET: lists.files[KEEP_SET_FILE]} | named
    return finish(full, REDUCED, {"bin/load_and_run": "by functions"}, inputs)


def test_it_is_this_configurations_own(now: Session) -> None:
    """Whatever its level: the build by regions has another name where functions follow it."""
    assert by_regions(now) is None
    own = trimmed(now)
    assert by_regions(now) == own

    regions = configured(now, CONFIG)
    assert by_regions(regions) is None
    own = trimmed(regions, "reduce/reduced")
    assert by_regions(regions) == own


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
def test_another_scenario_is_another_trim(now: Session, change: dict[str, Any]) -> None:
    """A newer build in the same folder of results does not stand in for the own one."""
    (ours,) = OURS.scenarios
    other = replace(OURS, scenarios=(replace(ours, **change),))
    trimmed(now, keep=other)
    assert by_regions(now) is None

    both = replace(OURS, scenarios=(ours, replace(ours, id="m/t@any")))
    trimmed(now, keep=both)
    assert by_regions(now) is None

    own = trimmed(now)
    trimmed(now, keep=other, again="newer")
    assert by_regions(now) == own


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
def test_another_way_of_trimming_is_another_trim(now: Session, trim: str) -> None:
    """What a quick look does not mind, a reduced build does."""
    own = trimmed(now)
    changed = configured(now, f"{CONFIG}trim: {trim}\n")

    assert by_regions(changed) is None
    assert by_regions(configured(changed, FUNCTION)) == own


def test_the_program_by_functions_stands_next_to(now: Session) -> None:
    """Where the build that it was linked from does, and functions are configured."""
    made = linked(now)
    assert full_trim.find_builds(now) == {}
    trimmed(now)
    assert by_functions(now) == made

    assert by_functions(configured(now, CONFIG)) is None
    kept = configured(now, f"{CONFIG}trim: {{level: function, keep: [f]}}\n")
    assert by_regions(kept) is not None
    assert by_functions(kept) is None


def test_a_program_by_other_functions_does_not(now: Session) -> None:
    """Its lists are of other runs, or it was linked with other flags."""
    trimmed(now)
    (ours,) = OURS.scenarios
    linked(now, keep=replace(OURS, scenarios=(replace(ours, model_sha256="c" * 64),)))
    linked(now, flags="-Wl,--icf=all")
    assert by_regions(now) is not None
    assert by_functions(now) is None


def test_a_header_of_another_layout_is_not_read(now: Session) -> None:
    """It is of another configuration that shares the folder."""
    trimmed(now, layout="upstream")

    assert by_regions(now) is None


def test_a_configuration_with_mistakes_has_no_full_trim(now: Session) -> None:
    """A quick look minds no key of a reduced build."""
    trimmed(now)

    assert by_regions(changed(now, full=None)) is None
