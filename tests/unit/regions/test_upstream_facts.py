"""On all recorded traces and operator JSON, our header enables what the engine's own one does.

The facts were taken from the engine's generators, in both generations; the data's index says how.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from megtrim.regions.header import Layout, render
from support.upstream import CASES, FACTS, enabled, facts, keep_set

RECORDED: dict[str, Any] = json.loads(FACTS.read_text(encoding="utf-8"))
GENERATIONS = (20190219, 20220507)


def modes(generation: int) -> list[tuple[str, int]]:
    return [(name, value) for name, value in RECORDED[str(generation)]["all_modes"]]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("case", CASES)
def test_the_same_is_enabled(case: str, generation: int, layout: Layout) -> None:
    keep = keep_set(generation, CASES[case])
    header = render(keep, layout=layout, elemwise_modes=modes(generation))
    found = enabled(*(text for _, text in header.files))

    assert facts(found) == RECORDED[str(generation)]["headers"][case]
    assert found.generation == generation


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_mode_is_named(generation: int) -> None:
    """A mode that the header does not name would not compile; upstream names them all."""
    keep = keep_set(generation, CASES["merged all"])
    header = render(keep, layout=Layout.SCOPED, elemwise_modes=modes(generation))

    every = tuple(sorted(name for name, _ in modes(generation)))
    assert enabled(*(text for _, text in header.files)).all_modes == every


def test_the_facts_tell_cases_apart() -> None:
    """The recorded sets differ where they must, so that an equal answer means something."""
    newer = RECORDED["20220507"]["headers"]
    older = RECORDED["20190219"]["headers"]

    assert newer.keys() == older.keys() == CASES.keys()
    assert newer["trace traces/resnet18-s.plain.trace"]["regions"] == 149
    assert newer["trace traces/resnet18-s.fullrun.trace"]["regions"] == 253
    assert newer["merged all"]["regions"] == 335
    assert newer["json strip-info/resnet18-s.mge.json"]["regions"] is None
    assert newer["merged all"]["hashes"] == [0, 7773529745014738635, 10078361748651523472]
    assert newer["merged all"]["modes"] == ["ADD", "FLOOR_DIV", "FUSE_ADD_RELU", "MUL", "RELU"]
    assert older["merged all"]["modes"] == ["ADD", "FUSE_ADD_RELU"]
    assert newer["merged json"]["modes"] is None
    assert older["merged json"]["modes"] == ["ADD", "FUSE_ADD_RELU"]
    assert older["merged linux"]["modes"] is None
