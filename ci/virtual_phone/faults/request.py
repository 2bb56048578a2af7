"""What can go wrong with a phone, and when: the names of it, and their strict reading. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from megtrim.libs.util.errors import InputError

Word = TypeVar("Word", bound=StrEnum)


class Fault(StrEnum):
    """``value`` is a number for those that need one."""

    KILL = "kill"
    REVIVE = "revive"
    FREEZE = "freeze"
    THAW = "thaw"
    UNPLUG = "unplug"
    REPLUG = "replug"
    MUTE = "mute"
    UNMUTE = "unmute"
    DISK_FULL = "disk-full"
    DISK_FREE = "disk-free"
    SLOW = "slow"
    FULL_SPEED = "full-speed"
    HOT = "hot"
    COOL = "cool"
    BATTERY = "battery"
    VANISH = "vanish"
    UNAUTHORIZED = "unauthorized"
    AUTHORIZED = "authorized"
    REBOOT = "reboot"
    RESET = "reset"


ABOUT = {
    Fault.KILL: "the phone's processes end, until revive",
    Fault.REVIVE: "it boots again",
    Fault.FREEZE: "its processes are stopped, until thaw; its kernel still answers",
    Fault.THAW: "they continue",
    Fault.UNPLUG: "its connections end and none can be made, until replug",
    Fault.REPLUG: "they can be made again",
    Fault.MUTE: "its connections stay open but carry nothing, until unmute",
    Fault.UNMUTE: "they carry data again",
    Fault.DISK_FULL: "its storage has VALUE bytes left (none, if left out), until disk-free",
    Fault.DISK_FREE: "its storage has its size again",
    Fault.SLOW: "its link passes VALUE bits a second, until full-speed",
    Fault.FULL_SPEED: "its link is as fast as it was",
    Fault.HOT: "its temperature is VALUE degrees Celsius (90, if left out); it throttles from 75",
    Fault.COOL: "its temperature is 33 degrees Celsius",
    Fault.BATTERY: "its battery holds VALUE percent",
    Fault.VANISH: "kill and unplug at once; by default in the middle of a push",
    Fault.UNAUTHORIZED: "a stub answers in its place: it wants a key that no one has",
    Fault.AUTHORIZED: "the phone itself answers again",
    Fault.REBOOT: "it ends and boots again",
    Fault.RESET: "all faults are undone, those still to come forgotten, and it boots if it must",
}

UNDONE_BY = {
    Fault.KILL: Fault.REVIVE,
    Fault.FREEZE: Fault.THAW,
    Fault.UNPLUG: Fault.REPLUG,
    Fault.MUTE: Fault.UNMUTE,
    Fault.DISK_FULL: Fault.DISK_FREE,
    Fault.SLOW: Fault.FULL_SPEED,
    Fault.HOT: Fault.COOL,
    Fault.VANISH: Fault.RESET,
    Fault.UNAUTHORIZED: Fault.AUTHORIZED,
}
_DEFAULT_VALUES = {Fault.DISK_FULL: 0.0, Fault.HOT: 90.0}
_BOUNDS = {
    Fault.DISK_FULL: (0, 2**40),
    Fault.SLOW: (8_000, 10_000_000_000),
    Fault.HOT: (-40, 150),
    Fault.BATTERY: (0, 100),
}
_LONGEST_S = 3600.0


class FaultTrigger(StrEnum):
    """When it happens: once this begins on the link, or ``now``.

    ``between`` is right after a push, a pull or a run has ended. The last six follow the
    comment ``# megtrim:WORD`` in a script for the shell.
    """

    NOW = "now"
    PUSH = "push"
    PULL = "pull"
    BETWEEN = "between"
    ENTER = "enter"
    PUT = "put"
    RUN = "run"
    GET = "get"
    PROBE = "probe"
    CLEANUP = "cleanup"


_VANISH_AFTER_BYTES = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRequest:
    fault: Fault
    value: float | None = None
    moment: FaultTrigger = FaultTrigger.NOW
    nth: int = 1
    """Counted from 1."""
    after_bytes: int = 0
    """Into a push or a pull."""
    delay_s: float = 0.0
    for_s: float | None = None
    """Undone after that long."""


def make_request(
    fault: str,
    *,
    value: float | None = None,
    moment: str | None = None,
    nth: int = 1,
    after_bytes: int | None = None,
    delay_s: float = 0.0,
    for_s: float | None = None,
) -> FaultRequest:
    """Raise InputError for what cannot be."""
    kind = _one_of(Fault, fault, "fault")
    when = FaultTrigger.PUSH if kind is Fault.VANISH else FaultTrigger.NOW
    if moment is not None:
        when = _one_of(FaultTrigger, moment, "moment")
    transfer = when in (FaultTrigger.PUSH, FaultTrigger.PULL)
    if after_bytes is None:
        after_bytes = _VANISH_AFTER_BYTES if kind is Fault.VANISH and transfer else 0
    if after_bytes and not transfer:
        raise _make_fault_error(kind, f"bytes are counted at moment push or pull, not {when}")
    if for_s is not None and kind not in UNDONE_BY:
        raise _make_fault_error(kind, "it cannot be undone after a time")
    if nth < 1 or after_bytes < 0 or not all(0 <= t <= _LONGEST_S for t in (delay_s, for_s or 0)):
        raise _make_fault_error(kind, "a count or a time is out of bounds (0 to 3600 s)")
    return FaultRequest(
        fault=kind,
        value=_value(kind, value),
        moment=when,
        nth=nth,
        after_bytes=after_bytes,
        delay_s=delay_s,
        for_s=for_s,
    )


def _value(kind: Fault, value: float | None) -> float | None:
    value = _DEFAULT_VALUES.get(kind) if value is None else value
    if kind not in _BOUNDS:
        if value is not None:
            raise _make_fault_error(kind, "it takes no value")
        return None
    low, high = _BOUNDS[kind]
    if value is None or not low <= value <= high:
        found = "none" if value is None else f"{value:g}"
        raise _make_fault_error(kind, f"found {found} as its value, expected {low} to {high}")
    return value


def _make_fault_error(kind: Fault, why: str) -> InputError:
    return InputError(f"fault {kind}: {why}", hint=f"{kind}: {ABOUT[kind]}")


def _one_of(kind: type[Word], word: str, what: str) -> Word:
    try:
        return kind(word)
    except ValueError:
        msg = f"there is no {what} {word[:40]!r}"
        raise InputError(msg, hint=f"{what}s: {', '.join(kind)}") from None
