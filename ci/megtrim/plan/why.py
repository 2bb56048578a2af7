"""Why a task would run: its inputs now against those of its last result. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 3
_SHORT = 24


class State(StrEnum):
    """What would happen to a task."""

    DONE = "done"
    RUN = "run"
    WAITS = "waits"
    """It will run or not, depending on what tasks before it yield."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a plan."""

    task: str
    stage: str
    name: str
    state: State
    why: str
    folder: str
    """Stage folder relative to the output folder, where the task is done; else empty."""


def reason(now: Mapping[str, str], before: Mapping[str, str] | None) -> str:
    """Say in one line what differs between the inputs now and those of the last result."""
    if before is None:
        return "there is no result yet"
    changed = [
        _change(label, before.get(label), now.get(label))
        for label in sorted({*now, *before})
        if before.get(label) != now.get(label)
    ]
    if not changed:
        return "its folder is torn: an earlier run was cut off"
    return _some(changed, "; ")


def _change(label: str, before: str | None, now: str | None) -> str:
    if before is None:
        return f"{label} is new"
    if now is None:
        return f"{label} is gone"
    if "\n" in before + now:
        return f"{label} changed ({_lines(before.splitlines(), now.splitlines())})"
    return f"{label} changed ({_short(before)} → {_short(now)})"


def _lines(before: Sequence[str], now: Sequence[str]) -> str:
    """Say which lines came and which went: of a list, both beginnings may well be equal."""
    added = [f"+ {_short(line)}" for line in now if line not in before]
    gone = [f"- {_short(line)}" for line in before if line not in now]
    return _some([*added, *gone], ", ") or "the same in another order"


def _some(texts: Sequence[str], between: str) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return between.join(texts[:_SHOWN]) + more


def _short(value: str) -> str:
    if len(value) == 64 and value.isalnum():  # a sha256: its head is enough to tell them apart
        return value[:8]
    return value if len(value) <= _SHORT else value[: _SHORT - 1] + "…"
