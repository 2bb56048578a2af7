"""The published page is that of a whole run in which nothing was wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from faults.judge import Seen, judge
from faults.matrix import WAYS, Case, Fault, Moment, Plant, Verdict, full
from faults.page import PAGE, RECORD, page
from faults.result import decode, encode

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]


def _record() -> dict[str, Any]:
    text = (ROOT / RECORD).read_text(encoding="utf-8")
    record: dict[str, Any] = json.loads(text)
    return record


def test_page_is_that_of_the_record() -> None:
    """Write both again: `nox -s faults -- --publish`."""
    assert page(_record()) == (ROOT / PAGE).read_text(encoding="utf-8")


def test_record_is_of_a_whole_run() -> None:
    """Every case, every fault hit, nothing wrong, every number reached."""
    record = _record()
    judged = [decode(run) for run in record["runs"]]
    assert [each.case for each in judged] == list(full())
    assert [each.case for each in judged if each.wrong or each.void] == []
    assert sum(len(each.seen.left) for each in judged) == 0
    assert [each["what"] for each in record["measures"] if not each["met"]] == []
    assert len(record["measures"]) >= 10
    cells = Counter((each.case.fault, each.case.moment) for each in judged)
    assert min(cells.values()) >= 6
    planted = sum(each.case.way.plant is not Plant.SOUND for each in judged)
    assert planted * 2 == len(judged)


def test_what_was_wrong_is_shown() -> None:
    case = Case(number=1, fault=Fault.KILL, moment=Moment.RUN, way=WAYS[0])
    seen = Seen(
        verdict=Verdict.ENGINE_ERROR, text="rc 1", fired=True, wall_s=2.0, bound_s=9.0, left=("a",)
    )
    judged = judge(case, seen)
    assert decode(encode(judged)) == judged
    result = {
        "version": 1,
        "phones": 2,
        "wall_s": 60.0,
        "programs": {"adb": "1", "qemu": "2"},
        "runs": [encode(judged)],
        "measures": [{"what": "speed", "target": "1 s", "seen": "2 s", "met": False}],
    }
    lines = page(result).splitlines()
    kill = next(line for line in lines if line.startswith("| kill |"))
    assert kill.split(" | ")[2:] == [
        "0 = 0 + 0",
        "1 = 1 + 0, **1 wrong**",
        "0 = 0 + 0",
        "0 = 0 + 0",
        "0 = 0 + 0 |",
    ]
    assert "| wrong | 1 |" in lines
    assert "| run directories left | 1 |" in lines
    assert "| programs | adb 1, qemu 2 |" in lines
    assert "| speed | 1 s | 2 s (missed) |" in lines
