from typing import Any

import pytest

from megtrim.util.errors import InputError
from virtual_phone.faults.request import (
    ABOUT,
    UNDONE_BY,
    Fault,
    FaultRequest,
    FaultTrigger,
    make_request,
)


def test_most_faults_happen_now() -> None:
    assert make_request("kill") == FaultRequest(fault=Fault.KILL, moment=FaultTrigger.NOW)


def test_a_moment_may_be_shown_exactly() -> None:
    request = make_request("kill", moment="push", nth=3, after_bytes=500, delay_s=0.5, for_s=2)
    assert request == FaultRequest(
        fault=Fault.KILL, moment=FaultTrigger.PUSH, nth=3, after_bytes=500, delay_s=0.5, for_s=2
    )


def test_vanish_is_in_the_midst_of_a_push() -> None:
    assert make_request("vanish") == FaultRequest(
        fault=Fault.VANISH, moment=FaultTrigger.PUSH, after_bytes=65536
    )
    assert make_request("vanish", moment="pull").after_bytes == 65536
    assert make_request("vanish", moment="run").after_bytes == 0
    assert make_request("vanish", moment="now").after_bytes == 0
    assert make_request("vanish", after_bytes=9).after_bytes == 9


@pytest.mark.parametrize(
    ("fault", "value", "expected"),
    [
        ("hot", None, 90.0),
        ("hot", 50.0, 50.0),
        ("disk-full", None, 0.0),
        ("disk-full", 4096.0, 4096.0),
        ("battery", 0.0, 0.0),
        ("slow", 8000.0, 8000.0),
        ("cool", None, None),
    ],
)
def test_values(fault: str, value: float | None, expected: float | None) -> None:
    assert make_request(fault, value=value).value == expected


@pytest.mark.parametrize(
    ("fault", "more", "message"),
    [
        ("explode", {}, "there is no fault 'explode'"),
        ("kill", {"moment": "noon"}, "there is no moment 'noon'"),
        ("kill", {"value": 1.0}, "fault kill: it takes no value"),
        ("battery", {}, "fault battery: found none as its value, expected 0 to 100"),
        ("battery", {"value": 101.0}, "fault battery: found 101 as its value, expected 0 to 100"),
        ("hot", {"value": float("nan")}, "fault hot: found nan as its value, expected -40 to 150"),
        ("slow", {"value": 7999.0}, None),
        ("kill", {"moment": "run", "after_bytes": 1}, None),
        ("reboot", {"for_s": 1.0}, "fault reboot: it cannot be undone after a time"),
        ("kill", {"nth": 0}, None),
        ("kill", {"moment": "push", "after_bytes": -1}, None),
        ("kill", {"delay_s": -0.1}, None),
        ("kill", {"delay_s": 3600.1}, None),
        ("kill", {"for_s": 3601.0}, None),
    ],
)
def test_what_cannot_be_is_refused(fault: str, more: dict[str, Any], message: str | None) -> None:
    with pytest.raises(InputError) as caught:
        make_request(fault, **more)
    assert message is None or caught.value.message == message
    assert caught.value.hint


def test_every_fault_is_explained() -> None:
    """And what undoes one is no fault that must be undone itself."""
    assert set(ABOUT) == set(Fault)
    assert not set(UNDONE_BY.values()) & set(UNDONE_BY)
