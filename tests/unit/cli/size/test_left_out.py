"""``megtrim size left-out``: rows that add up."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from megtrim.cli.size import left_out
from megtrim.size.references import read_links as references
from megtrim.size.references.graph import ReferenceGraph
from unit.cli.support import Shell
from unit.size.references.made_graphs import made_graph


class _Trim:
    """A finished trim: by functions, ``mul`` was left out; by regions, ``run`` is smaller."""

    def __init__(self, level: str) -> None:
        config = SimpleNamespace(trim=SimpleNamespace(level=level))
        self.session = SimpleNamespace(request=SimpleNamespace(config=config))

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
    monkeypatch.setattr(references, "read_dropped", lambda *_: ("mul",))


def test_rows_add_up_to_what_is_gone(shell: Shell) -> None:
    answer = shell("size", "left-out", "--by", "symbol")

    assert answer.status == 0
    assert answer.out.splitlines()[-1].split()[-2:] == ["120", "0"]
    assert "table" in answer.out


def test_rows_can_be_searched(shell: Shell) -> None:
    found = json.loads(shell("size", "left-out", "--by", "symbol", "--match", "TAB", "--json").out)

    assert [each["symbol"] for each in found["left_out"]] == ["table"]
    assert json.loads(shell("size", "left-out", "--match", "nothing", "--json").out) == {
        "version": 2,
        "program": "load_and_run",
        "left_out": [],
    }


@pytest.mark.parametrize("level", ["region"], indirect=True)
def test_by_regions_two_programs_are_compared(shell: Shell, level: None) -> None:
    assert level is None
    found = json.loads(shell("size", "left-out", "--json").out)["left_out"]

    assert sum(each["left_out_bytes"] for each in found) == sum((10, 20, 40, 80, 160, 320, 640)) / 2
