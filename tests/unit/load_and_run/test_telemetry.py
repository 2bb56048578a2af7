from dataclasses import replace
from typing import Any

import pytest

from megtrim.load_and_run.telemetry import Conditions, Policy, Reading, megahertz

SLOW = Policy(
    name="policy0",
    governor="schedutil",
    current_khz=300_000,
    allowed_khz=1_800_000,
    capable_khz=1_800_000,
)
FAST = replace(SLOW, name="policy4", current_khz=2_400_000, allowed_khz=2_400_000,
               capable_khz=2_400_000)  # fmt: skip
GOOD = Reading(
    cpu_c=41.5,
    battery_c=28.9,
    battery_percent=87,
    charging=True,
    thermal_status=0,
    policies=(SLOW, FAST),
)


def invalid(before: Reading = GOOD, after: Reading = GOOD, unmet: str = "") -> str:
    found = Conditions(before=before, after=after, unmet=unmet)
    assert found.note == (f"time not valid: {found.invalid}" if found.invalid else "")
    return found.invalid


def test_a_machine_at_rest_gives_valid_times() -> None:
    assert invalid() == ""
    assert invalid(Reading(), Reading()) == ""
    assert invalid(Reading(thermal_status=0), Reading(policies=(replace(SLOW, allowed_khz=None),)))\
        == ""  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"thermal_status": 1}, "thermal status 1 (light)"),
        ({"thermal_status": 6}, "thermal status 6 (shutdown)"),
        ({"cooling": ("thermal-cpufreq-0", "x")}, "thermal-cpufreq-0 is active"),
        (
            {"policies": (SLOW, replace(FAST, allowed_khz=1_804_800))},
            "policy4 is held to 1804 MHz of 2400 MHz",
        ),
        ({"thermal_status": 3, "cooling": ("x",)}, "thermal status 3 (severe)"),
        ({"cooling": ("firmware:throttled",)}, "firmware:throttled is active"),
        ({"cooling": ("firmware:throttled", "x")}, "x is active"),
    ],
)
def test_a_machine_that_holds_itself_back_gives_none(changes: dict[str, Any], why: str) -> None:
    held = replace(GOOD, **changes)

    assert invalid(before=held) == f"throttled before the run: {why}"
    assert invalid(after=held) == f"throttled after the run: {why}"
    assert held.throttled == why


def test_heat_is_what_waiting_mends() -> None:
    """A cap may stay for ever, and a weak supply does."""
    assert replace(GOOD, thermal_status=2).heat == "thermal status 2 (moderate)"
    assert replace(GOOD, cooling=("firmware:under-voltage", "x")).heat == "x is active"
    assert replace(GOOD, cooling=("firmware:under-voltage",)).heat == ""
    assert replace(GOOD, policies=(replace(SLOW, allowed_khz=1),)).heat == ""
    assert GOOD.heat == ""


def test_a_governor_that_changed_gives_none() -> None:
    other = replace(GOOD, policies=(SLOW, replace(FAST, governor="powersave")))

    assert invalid(after=other) == ("the governor of policy4 changed from schedutil to powersave")
    assert invalid(after=replace(GOOD, policies=(SLOW,))) == ""


@pytest.mark.parametrize(("percent", "low"), [(0, True), (15, True), (16, False), (None, False)])
@pytest.mark.parametrize("charging", [True, False, None])
def test_a_low_battery_gives_none(percent: int | None, charging: bool | None, low: bool) -> None:
    reading = replace(GOOD, battery_percent=percent, charging=charging)

    assert reading.low_battery is low
    assert invalid(after=reading) == (f"battery at {percent}%" if low else "")
    assert invalid(before=reading) == invalid(after=reading)


def test_what_was_asked_for_and_not_reached_is_the_last_reason() -> None:
    assert invalid(unmet="60 °C after 5 s") == "60 °C after 5 s"
    assert invalid(after=replace(GOOD, thermal_status=1), unmet="x").startswith("throttled after")


def test_lines_tell_what_was_measured() -> None:
    after = replace(
        GOOD,
        cpu_c=68.24,
        battery_percent=86,
        charging=False,
        policies=(replace(SLOW, allowed_khz=900_000), FAST),
        cooling=("b", "a"),
    )

    assert Conditions(before=GOOD, after=after, unmet="too warm").lines() == (
        "CPU: 41.5 °C → 68.2 °C",
        "battery: 87% charging 28.9 °C → 86% not charging 28.9 °C",
        "thermal status: 0 (none)",
        "policy0: schedutil 300 MHz → schedutil 300 MHz, held to 900 MHz",
        "policy4: schedutil 2400 MHz",
        "holding back: a, b",
        "not reached: too warm",
    )
    assert Conditions(before=Reading(), after=Reading()).lines() == ()
    assert Conditions(before=Reading(), after=Reading(cpu_c=3.0)).lines() == (
        "CPU: unknown → 3.0 °C",
    )
    assert Conditions(before=Reading(cpu_c=3.0), after=Reading()).lines() == ("CPU: 3.0 °C",)
    some = Conditions(before=Reading(policies=(FAST,)), after=Reading(policies=(SLOW,)))
    assert some.lines() == ("policy0: unknown → schedutil 300 MHz", "policy4: schedutil 2400 MHz")


@pytest.mark.parametrize(
    ("value", "changes", "said"),
    [
        *(
            (GOOD, changes, f"{said}.*, which no machine can report")
            for changes, said in (
                ({"cpu_c": 200.5}, "cpu_c: found 200.5"),
                ({"battery_c": -60.5}, "battery_c: found -60.5"),
                ({"cpu_c": float("nan")}, "cpu_c: found nan"),
                ({"battery_percent": 101}, "battery_percent: found 101"),
                ({"thermal_status": 7}, "thermal_status: found 7"),
                ({"thermal_status": -1}, "thermal_status: found -1"),
                ({"cooling": ("a\x1b",)}, "cooling: found 'a\\\\x1b'"),
                ({"cooling": ("a",) * 65}, "cooling: found 65"),
                ({"policies": (SLOW,) * 65}, "policies: found 65"),
            )
        ),
        (SLOW, {"name": ""}, "^policy: found ''"),
        (SLOW, {"governor": "a b"}, "^policy: found 'a b'"),
        (SLOW, {"name": "x" * 41}, "^policy: found 'x"),
        (SLOW, {"current_khz": -1}, "^policy0: rate: found -1"),
        (SLOW, {"capable_khz": 100_000_001}, "^policy0: rate: found 100000001"),
        (Conditions(before=GOOD, after=GOOD), {"unmet": "a\nb"}, "^unmet: found"),
        (Conditions(before=GOOD, after=GOOD), {"unmet": "x" * 201}, "^unmet: found"),
    ],
)
def test_what_no_machine_can_say_is_refused(value: Any, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(value, **changes)


def test_rates_are_read_by_people() -> None:
    assert (megahertz(1_804_800), megahertz(None)) == ("1804 MHz", "")
