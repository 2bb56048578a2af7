"""Why a task would run: its current inputs compared with those of its last result. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import takewhile

from megtrim.util.value import Value

_OTHER_VERSION = "another version of megtrim made its last result"
_SHOWN = 3
_SHORT = 40
_AROUND = 8
"""How many equal characters are shown before those that differ."""


class TaskState(StrEnum):
    DONE = "done"
    RUN = "run"
    WAITS = "waits"
    """Whether it runs depends on the results of earlier tasks."""


class PlanStep(Value):
    task: str
    stage: str
    name: str
    state: TaskState
    why: str
    folder: str
    """Result folder relative to the output folder if the task is done; else empty."""
    foreign: bool = False
    """Its last result is there, but another version of megtrim made it."""


def reason(
    now: Mapping[str, str], before: Mapping[str, str] | None, *, foreign: bool = False
) -> str:
    """Return in one line how the current inputs differ from those of the last result.

    ``before`` is None without one; ``foreign``: another version of megtrim left one.
    """
    if before is None:
        return _OTHER_VERSION if foreign else "there is no result yet"
    changed = [
        _change(label, before.get(label), now.get(label))
        for label in sorted({*now, *before})
        if before.get(label) != now.get(label)
    ]
    if not changed:
        return "its folder is incomplete: an earlier run was interrupted"
    return _some(changed, "; ")


def _change(label: str, before: str | None, now: str | None) -> str:
    if before is None:
        return f"{label} is new"
    if now is None:
        return f"{label} is gone"
    if "\n" in before + now:
        return f"{label} changed ({_items(before.splitlines(), now.splitlines())})"
    if " " in before + now:
        return f"{label} changed ({_items(before.split(), now.split())})"
    return f"{label} changed ({' → '.join(map(_short, _apart(before, now)))})"


def _items(before: Sequence[str], now: Sequence[str]) -> str:
    """Return which lines or words were added and removed: two lists may start alike."""
    added = [f"+ {_short(item)}" for item in now if item not in before]
    gone = [f"- {_short(item)}" for item in before if item not in now]
    return _some([*added, *gone], ", ") or "the same in another order"


def _apart(before: str, now: str) -> tuple[str, str]:
    """Return both, without their common prefix if one of them is too long to be shown."""
    if _is_digest(before) or _is_digest(now) or max(len(before), len(now)) <= _SHORT:
        return before, now
    pairs = zip(before, now, strict=False)
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    cut = max(0, equal - _AROUND)
    return (f"…{before[cut:]}", f"…{now[cut:]}") if cut else (before, now)


def _some(texts: Sequence[str], between: str) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return between.join(texts[:_SHOWN]) + more


def _short(value: str) -> str:
    """Shorten ``value`` in its middle: of an option, name and value are at the two ends."""
    if _is_digest(value):  # its head is enough to tell them apart
        return value[:8]
    half = _SHORT // 2
    return value if len(value) <= _SHORT else f"{value[: half - 1]}…{value[-half:]}"


def _is_digest(value: str) -> bool:
    return len(value) == 64 and value.isalnum()
