"""The conditions of a run: heat, clock rates and battery, measured before and after it.

A time from a throttled machine is marked, never averaged. Temperatures in °C, rates in kHz.
"""

import re

from megtrim.libs.util.strict_json import SignedFloat
from megtrim.libs.util.value import Value

LOW_BATTERY_PERCENT = 15
"""At or below this, a phone lowers its clock rates to save power, even while it is charged."""

FIRMWARE = "firmware:"
"""Prefix of names in ``cooling`` that come from a board's firmware."""

MOST_POLICIES = 64
MOST_COOLING = 64
COLDEST_C = -60.0
HOTTEST_C = 200.0

_LIGHT = 1
_STATUSES = ("none", "light", "moderate", "severe", "critical", "emergency", "shutdown")
_TEXT = re.compile(r"[\w.:+-]{1,40}", re.ASCII)
_MOST_KHZ = 100_000_000
_MOST_UNMET = 200


class Policy(Value):
    """CPUs that share one clock, by the kernel's name (``policy4``)."""

    name: str
    governor: str
    current_khz: int | None = None
    allowed_khz: int | None = None
    """The highest rate allowed now (``scaling_max_freq``)."""
    capable_khz: int | None = None
    """The highest rate of the hardware (``cpuinfo_max_freq``)."""

    def __post_init__(self) -> None:
        for text in (self.name, self.governor):
            _require(_TEXT.fullmatch(text) is not None, "policy", text)
        for rate in (self.current_khz, self.allowed_khz, self.capable_khz):
            _require(rate is None or 0 <= rate <= _MOST_KHZ, f"{self.name}: rate", rate)

    @property
    def capped(self) -> bool:
        if self.allowed_khz is None or self.capable_khz is None:
            return False
        return self.allowed_khz < self.capable_khz


class Reading(Value):
    """What was measured at one moment. None or empty: this machine does not report it."""

    cpu_c: SignedFloat | None = None
    battery_c: SignedFloat | None = None
    battery_percent: int | None = None
    charging: bool | None = None
    thermal_status: int | None = None
    """Status of Android's thermal service: 0 is none, 6 is shutdown."""
    policies: tuple[Policy, ...] = ()
    cooling: tuple[str, ...] = ()
    """What throttles the CPUs now: cooling devices, the board's firmware; sorted."""

    def __post_init__(self) -> None:
        for what, degrees in (("cpu_c", self.cpu_c), ("battery_c", self.battery_c)):
            fits = degrees is None or COLDEST_C <= degrees <= HOTTEST_C
            _require(fits, what, degrees)
        percent = self.battery_percent
        status = self.thermal_status
        _require(percent is None or 0 <= percent <= 100, "battery_percent", percent)
        _require(status is None or 0 <= status < len(_STATUSES), "thermal_status", status)
        _require(len(self.policies) <= MOST_POLICIES, "policies", len(self.policies))
        _require(len(self.cooling) <= MOST_COOLING, "cooling", len(self.cooling))
        for name in self.cooling:
            _require(_TEXT.fullmatch(name) is not None, "cooling", name)

    @property
    def heat(self) -> str:
        if self.thermal_status is not None and self.thermal_status >= _LIGHT:
            return f"thermal status {self.thermal_status} ({_STATUSES[self.thermal_status]})"
        # A board's firmware also throttles for a weak power supply, which waiting does not fix.
        active = [name for name in self.cooling if not name.startswith(FIRMWARE)]
        return f"{active[0]} is active" if active else ""

    @property
    def throttled(self) -> str:
        if self.heat or self.cooling:
            return self.heat or f"{self.cooling[0]} is active"
        capped = next((policy for policy in self.policies if policy.capped), None)
        if capped is None:
            return ""
        allowed = megahertz(capped.allowed_khz)
        capable = megahertz(capped.capable_khz)
        return f"{capped.name} is held to {allowed} of {capable}"

    @property
    def low_battery(self) -> bool:
        return self.battery_percent is not None and self.battery_percent <= LOW_BATTERY_PERCENT


class Conditions(Value):
    before: Reading
    after: Reading
    unmet: str = ""

    def __post_init__(self) -> None:
        _require(len(self.unmet) <= _MOST_UNMET and self.unmet.isprintable(), "unmet", self.unmet)

    @property
    def invalid(self) -> str:
        for when, reading in (("before", self.before), ("after", self.after)):
            if reading.throttled:
                return f"throttled {when} the run: {reading.throttled}"
        later = {policy.name: policy.governor for policy in self.after.policies}
        for policy in self.before.policies:
            now = later.get(policy.name, policy.governor)
            if now != policy.governor:
                return f"the governor of {policy.name} changed from {policy.governor} to {now}"
        for reading in (self.before, self.after):
            if reading.low_battery:
                return f"battery at {reading.battery_percent}%"
        return self.unmet

    @property
    def note(self) -> str:
        return f"time not valid: {self.invalid}" if self.invalid else ""

    def lines(self) -> tuple[str, ...]:
        before = self.before
        after = self.after
        found = [
            ("CPU", _change(_degrees(before.cpu_c), _degrees(after.cpu_c))),
            ("battery", _change(_battery(before), _battery(after))),
            ("thermal status", _change(_status(before), _status(after))),
        ]
        first = {policy.name: policy for policy in before.policies}
        later = {policy.name: policy for policy in after.policies}
        found += [
            (name, _change(_policy(first.get(name)), _policy(later.get(name))))
            for name in sorted(first | later)
        ]
        held = sorted({*before.cooling, *after.cooling})
        found.append(("holding back", ", ".join(held)))
        found.append(("not reached", self.unmet))
        return tuple(f"{what}: {text}" for what, text in found if text)


def megahertz(rate_khz: int | None) -> str:
    return "" if rate_khz is None else f"{rate_khz // 1000} MHz"


def _degrees(degrees: float | None) -> str:
    return "" if degrees is None else f"{degrees:.1f} °C"


def _battery(reading: Reading) -> str:
    percent = reading.battery_percent
    charging = reading.charging
    words = {True: "charging", False: "not charging", None: ""}
    parts = ("" if percent is None else f"{percent}%", words[charging], _degrees(reading.battery_c))
    return " ".join(part for part in parts if part)


def _status(reading: Reading) -> str:
    status = reading.thermal_status
    return "" if status is None else f"{status} ({_STATUSES[status]})"


def _policy(policy: Policy | None) -> str:
    if policy is None:
        return ""
    rate = megahertz(policy.current_khz)
    cap = f", held to {megahertz(policy.allowed_khz)}" if policy.capped else ""
    return f"{policy.governor} {rate}".rstrip() + cap


def _change(before: str, after: str) -> str:
    return before if before == after or not after else f"{before or 'unknown'} → {after}"


def _require(fits: bool, what: str, found: object) -> None:
    if not fits:
        msg = f"{what}: found {repr(found)[:60]}, which no machine can report"
        raise ValueError(msg)
