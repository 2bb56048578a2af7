"""``megtrim size left-out``: rows that add up, and what could be bought back."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from megtrim.cli.size import left_out
from megtrim.midout.names import name_hash
from megtrim.midout.region import Region
from megtrim.pipeline import references
from megtrim.size.prices.region_extents import RegionExtents
from megtrim.size.prices.region_trim import RegionTrim
from megtrim.size.references.additions import Wish
from megtrim.size.references.graph import ReferenceGraph
from unit.cli.support import Shell
from unit.size.prices.made_prices import make_profiled_trim, make_program
from unit.size.references.made_graphs import made_graph

FIRST, SECOND = Region("conv", (name_hash("im2col", terminated=False),)), Region("conv", (2,))
EXTENTS = {
    "plan": RegionExtents(
        sizes={None: 100, FIRST: 300, SECOND: 100},
        references={"mul": frozenset({FIRST}), "sum": frozenset({SECOND})},
    )
}
PLAN = make_program().graph
TRIM = RegionTrim(plain=PLAN, extents=EXTENTS, kept=frozenset([SECOND]))


class _Trim:
    """A finished trim: by functions, ``mul`` was left out; by regions, ``run`` is smaller."""

    def __init__(self, level: str) -> None:
        config = SimpleNamespace(
            trim=SimpleNamespace(level=level), artifacts=("load_and_run", "other")
        )
        self.session = SimpleNamespace(
            request=SimpleNamespace(config=config),
            services=SimpleNamespace(
                console=SimpleNamespace(note=lambda _: None),
                engine=SimpleNamespace(
                    texts=lambda: (("conv.cpp", 'MIDOUT_BEGIN(conv, "im2col"_hash)'),)
                ),
            ),
        )

    def read(self, task_id: str, program: str | None) -> tuple[str, Any]:
        graph = made_graph()
        if task_id.endswith("shipped"):
            smaller = (each._replace(size_bytes=each.size_bytes // 2) for each in graph.parts)
            graph = ReferenceGraph(
                parts=tuple(smaller),
                origins=graph.origins,
                targets=graph.targets,
                roots=graph.roots,
            )
        return program or "load_and_run", SimpleNamespace(graph=graph)


@pytest.fixture(autouse=True)
def level(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    trim = _Trim(getattr(request, "param", "function"))
    monkeypatch.setattr(left_out, "open_trim", lambda *_: trim)
    monkeypatch.setattr(left_out, "read_profiled_trim", lambda *_: make_profiled_trim(TRIM))
    monkeypatch.setattr(left_out, "read_region_trim", lambda *_: TRIM)
    monkeypatch.setattr(
        references, "read_keep", lambda _: SimpleNamespace(regions=lambda: {SECOND: ()})
    )
    needs = {str(FIRST): ["m/s@any: threads-4"]}
    monkeypatch.setattr(references, "read_needs", lambda _: needs)
    monkeypatch.setattr(references, "read_dropped", lambda *_: ("mul",))
    wishes = (Wish(name="mul", by="m/s@any: threads-4"),)
    monkeypatch.setattr(references, "read_wishes", lambda *_: wishes)


def test_rows_add_up_to_what_is_gone(shell: Shell) -> None:
    """A function and the table that only it used."""
    answer = shell("size", "left-out", "--by", "symbol")

    assert answer.status == 0
    assert answer.out.splitlines()[-1].split()[-2:] == ["120", "0"]
    assert "table" in answer.out


def test_rows_can_be_searched(shell: Shell) -> None:
    """In any case; JSON has what people see."""
    found = json.loads(shell("size", "left-out", "--by", "symbol", "--match", "TAB", "--json").out)

    assert [each["symbol"] for each in found["left_out"]] == ["table"]
    assert json.loads(shell("size", "left-out", "--match", "nothing", "--json").out) == {
        "version": 1,
        "program": "load_and_run",
        "left_out": [],
    }


def test_a_few_bytes_more_buy_something_back(shell: Shell) -> None:
    """With who is known to need it, and who refers to it."""
    answer = shell("size", "left-out", "--within", "1KiB")
    found = json.loads(shell("size", "left-out", "--within", "1KiB", "--json").out)

    assert "needed by m/s@any: threads-4; run refers to it" in answer.out
    assert [each["size_bytes"] for each in found["additions"]] == [120]
    assert "nothing that was left out" in shell("size", "left-out", "--within", "9 B").out


@pytest.mark.parametrize("level", ["region"], indirect=True)
def test_by_regions_two_programs_are_compared(shell: Shell, level: None) -> None:
    """The plain one and what ships."""
    assert level is None
    found = json.loads(shell("size", "left-out", "--json").out)["left_out"]

    assert sum(each["left_out_bytes"] for each in found) == sum((10, 20, 40, 80, 160, 320, 640)) / 2


@pytest.mark.parametrize("level", ["region"], indirect=True)
def test_by_regions_a_few_bytes_more_buy_a_region_back(shell: Shell, level: None) -> None:
    """With what it is called, who is known to need it, and what is kept of its tag."""
    assert level is None
    answer = shell("size", "left-out", "--within", "2KiB")
    found = json.loads(shell("size", "left-out", "--within", "2KiB", "--json").out)

    (region,) = found["region_additions"]
    assert (region["region"], region["kept_in_tag"]) == (str(FIRST), 1)
    assert region["wanted_by"] == ["m/s@any: threads-4"]
    assert 1064 < region["size_bytes"] <= 2048
    assert "needed by m/s@any: threads-4; 1 other of its tag is kept" in answer.out
    assert "im2col" in answer.out
    assert "trim.keep" not in answer.out
    assert "nothing that was left out" in shell("size", "left-out", "--within", "9 B").out


def test_regions_have_bytes(shell: Shell) -> None:
    """By tag and by region, with what they alone lead to; the search is in names and meanings."""
    by_tag = json.loads(shell("size", "left-out", "--by", "tag", "--json").out)
    by_region = json.loads(
        shell("size", "left-out", "--by", "region", "--match", "IM2COL", "--json").out
    )
    text = shell("size", "left-out", "--by", "tag").out

    (tag,), (region,) = by_tag["left_out"], by_region["left_out"]
    assert (tag["tag"], tag["kept_regions"], tag["regions"]) == ("conv", 1, 2)
    assert tag["left_out_bytes"] == region["left_out_bytes"] > 1064
    assert (region["region"], "im2col" in region["meaning"]) == (str(FIRST), True)
    assert (by_tag["unplaced"], by_tag["program"]) == ([], "load_and_run")
    assert "1 of 2" in text
    assert shell("size", "left-out", "--by", "tag", "--match", "pool").out.count("conv") == 0


def test_a_program_is_one_of_the_artifacts(shell: Shell) -> None:
    """Another name is refused before anything is linked."""
    assert shell("size", "left-out", "--by", "tag", "--program", "lar").status == 2


def test_a_size_has_a_unit(shell: Shell) -> None:
    """As budgets have."""
    answer = shell("size", "left-out", "--within", "a lot")

    assert answer.status == 2
