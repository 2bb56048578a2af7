from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from support.crash_reports import (
    DAMAGES,
    LAYOUTS,
    FieldReport,
    fill_layouts,
    judge,
    list_places,
)
from unit.crashes.made_programs import STAYS, STUB_AT, numbered

PROGRAM = replace(numbered(), name="libengine.so")
SITES = {"first()": STUB_AT, "kern<3>": STUB_AT + 8}
REPORTS = tuple(fill_layouts(list_places(PROGRAM, SITES, STAYS + 4)))


def test_nothing_is_certain_and_wrong() -> None:
    wrong, count = [], Counter[str]()
    for report in REPORTS:
        texts = {"": report.text.encode()}
        if report.place.what.startswith("first()"):
            texts |= {what: damage(report.text) for what, damage in DAMAGES.items()}
        for what, data in texts.items():
            certain, lie = judge(report.place, data, [PROGRAM])
            count["whole" if report.whole else "part"] += not what
            count["certain"] += certain and report.whole and not what
            count["damaged"] += bool(what)
            wrong += [f"{report.title}, {what}"] * lie

    assert wrong == []
    assert count["whole"] + count["part"] >= max(300, count["damaged"])
    assert count["certain"] >= 0.95 * count["whole"]
    assert len([*LAYOUTS.glob("*.txt")]) >= 8


@pytest.mark.parametrize("report", [e for e in REPORTS if e.whole], ids=lambda each: each.title)
def test_a_whole_frame_with_a_build_id_is_certain(report: FieldReport) -> None:
    assert judge(report.place, report.text.encode(), [PROGRAM]) == (True, False)
