"""Our header and that of the engine's own generator enable the same, on all that is recorded.

Needs a checkout of the engine, named by MEGTRIM_ENGINE; it is not written to.
"""

import json
import os
from itertools import product
from pathlib import Path

import pytest

from megtrim.engines.midout.header import Layout, render
from megtrim.libs.util.process import ProcessRunner
from support.upstream import (
    CASES,
    FACTS,
    JSONS,
    OLD_TAG,
    TRACES,
    Generator,
    enabled,
    facts,
    keep_set,
    newer,
    older,
)

pytestmark = pytest.mark.engine

ALL = CASES | {" ".join(pair): pair for pair in product(TRACES, JSONS)}
"""Each trace also with each JSON, that of another model too."""


@pytest.fixture(scope="module", params=["newer", "older"])
def generator(
    request: pytest.FixtureRequest,
    processes: ProcessRunner,
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator:
    checkout = Path(os.environ["MEGTRIM_ENGINE"])
    if request.param == "newer":
        return newer(checkout, processes)
    found = older(checkout, processes, tmp_path_factory.mktemp("older"))
    if found is None:
        pytest.skip(f"the checkout has no tag {OLD_TAG}")
    return found


@pytest.mark.parametrize("case", ALL)
def test_both_generators_enable_the_same(case: str, generator: Generator, tmp_path: Path) -> None:
    """Regions, operators, data types, modes and hashes are equal, in both layouts of ours."""
    theirs = enabled(generator.header(ALL[case], tmp_path))
    keep = keep_set(generator.generation, ALL[case])
    for layout in Layout:
        rendered = render(keep, layout=layout, elemwise_modes=generator.modes(tmp_path))
        ours = enabled(*(text for _, text in rendered.files))
        assert ours == theirs


def test_the_recorded_facts_are_this_generators(generator: Generator, tmp_path: Path) -> None:
    """What the data folder says of the generator is what it does now."""
    recorded = json.loads(FACTS.read_text(encoding="utf-8"))[str(generator.generation)]

    assert [list(mode) for mode in generator.modes(tmp_path)] == recorded["all_modes"]
    for case in ("merged all", "merged json", "merged android"):
        found = facts(enabled(generator.header(CASES[case], tmp_path)))
        assert found == recorded["headers"][case]
