"""The matrix holds what is promised of it."""

from __future__ import annotations

from collections import Counter

import pytest

from faults.matrix import (
    FAULTS,
    WAYS,
    Case,
    Fault,
    Moment,
    Plant,
    Purpose,
    Way,
    deliverable,
    full,
    short,
)

pytestmark = pytest.mark.unit


def test_full_matrix() -> None:
    """Every cell six times, three of them planted; 300 runs and more, controls among them."""
    cases = full()
    cells = Counter((case.fault, case.moment) for case in cases if case.fault is not Fault.NONE)
    planted = Counter(
        (case.fault, case.moment) for case in cases if case.way.plant is not Plant.SOUND
    )
    assert set(cells) == {(fault, moment) for fault in FAULTS for moment in Moment}
    assert min(cells.values()) == 6
    assert all(planted[cell] * 2 == cells[cell] for cell in cells)
    assert len(cases) >= 300
    controls = [case for case in cases if case.fault is Fault.NONE]
    assert Counter(case.way for case in controls) == dict.fromkeys(WAYS, 5)
    assert [case.number for case in cases] == list(range(1, len(cases) + 1))


def test_short_matrix() -> None:
    """Each fault, each moment, each kind of plant and each way."""
    cases = short()
    assert {case.fault for case in cases} == set(Fault)
    assert {case.moment for case in cases} == set(Moment)
    faulty = [case for case in cases if case.fault is not Fault.NONE]
    assert {case.way.plant for case in faulty} == set(Plant)
    assert len(cases) <= 18


@pytest.mark.parametrize(
    ("fault", "spare", "lasting", "expected"),
    [
        ("kill", False, True, False),
        ("kill", False, False, True),
        ("kill", True, True, True),
        ("unauthorized", False, False, False),
        ("unauthorized", True, True, True),
        ("slow", False, True, True),
        ("reboot", False, True, True),
    ],
)
def test_deliverable(fault: str, spare: bool, lasting: bool, expected: bool) -> None:
    """A second phone, an end of the fault, or a fault that stops nothing."""
    way = Way(purpose=Purpose.TRACE, plant=Plant.SOUND, spare=spare, lasting=lasting)
    case = Case(number=1, fault=Fault(fault), moment=Moment.RUN, way=way)
    assert deliverable(case) is expected
