"""Decides how long the device jobs of a run are waited for. Pure; part of the github room.

An offline phone must not delay a verdict forever: jobs that no runner picks up are given up early,
and those that run too long later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from megtrim.errors import InfrastructureFailure
from megtrim.evidence.checks import PendingReason

_COMPLETED = "completed"
_RUNNING = "in_progress"
_APPROVAL = "waiting"
"""What GitHub calls a job that a reviewer of its environment must approve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingLimits:
    """The number of jobs, and how long to wait for them, in seconds since the start.

    ``pickup_s`` is the limit for jobs that wait for a runner, ``run_s`` for all. A job that waits
    while another of its class runs is not given up: its runner exists and is busy.
    """

    jobs: int
    pickup_s: float
    run_s: float
    prefix: str
    """First word of the names of device jobs."""
    config_id: str = ""
    """Second word, if the configuration has an id; CPU class and shard follow."""

    def is_own(self, name: str) -> bool:
        """Tell whether a device job is one of those that are waited for."""
        wanted = f"{self.prefix} {self.config_id}".rstrip()
        return own_name(name).rsplit(" ", 2)[0] == wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitResult:
    """How the wait ended; ``text`` describes it in one line, ``failure`` is why it is unknown."""

    pending: PendingReason | None
    """None if all jobs have ended."""
    text: str
    failure: InfrastructureFailure | None = None


class JobWatch:
    """Decides how long to wait, from the jobs' status and the time that has passed."""

    def __init__(self, limits: PollingLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._began = clock()
        self._busy: dict[str, float] = {}
        """By class: when one of its jobs was last seen running, or newly ended."""
        self._ended: dict[str, int] = {}
        self.text = ""

    def judge(self, seen: Mapping[str, str]) -> WaitResult | None:
        """Return the result, or None to keep waiting.

        ``seen`` maps names to statuses; jobs of other configurations only keep runners busy.
        """
        now = self._clock()
        self._note(_with_status(seen, _COMPLETED), _with_status(seen, _RUNNING), now)
        seen = {name: status for name, status in seen.items() if self._limits.is_own(name)}
        ended, running = _with_status(seen, _COMPLETED), _with_status(seen, _RUNNING)
        waiting = [name for name in seen if name not in ended and name not in running]
        # Jobs of a matrix appear when they are queued: missing ones are waiting, too.
        unseen = max(0, self._limits.jobs - len(seen))
        held = [name for name in waiting if seen[name] == _APPROVAL]
        queued = len(waiting) - len(held) + unseen
        self.text = (
            f"{len(ended)} of {self._limits.jobs} ended, {len(running)} run, "
            f"{queued} wait for a runner"
        )
        self.text += f", {len(held)} for approval" if held else ""
        if not running and not waiting and not unseen:
            return WaitResult(pending=None, text=self.text)
        over = now - self._began >= self._limits.run_s
        alone = [name for name in waiting if self._is_alone(name, now)]
        given_up = len(alone) + unseen * (now - self._began >= self._limits.pickup_s)
        if not over and (running or given_up < len(waiting) + unseen):
            return None
        return WaitResult(pending=_reason(given_up, held), text=self.text)

    def left_s(self) -> float:
        """Return the seconds until the last limit; at least one."""
        return max(1.0, self._limits.run_s - (self._clock() - self._began))

    def _note(self, ended: list[str], running: list[str], now: float) -> None:
        for name in running:
            self._busy[_class(name)] = now
        for name in {_class(each) for each in ended}:
            count = sum(_class(each) == name for each in ended)
            if count > self._ended.get(name, 0):
                self._ended[name] = count
                self._busy[name] = now

    def _is_alone(self, name: str, now: float) -> bool:
        """Tell whether no runner of the job's class was seen within ``pickup_s``."""
        return now - self._busy.get(_class(name), self._began) >= self._limits.pickup_s


def _reason(given_up: int, held: Sequence[str]) -> PendingReason:
    """Return why jobs are not waited for; what runners there are shows only after an approval."""
    if held:
        return PendingReason.APPROVAL
    return PendingReason.NO_RUNNER if given_up else PendingReason.LATE


def _with_status(seen: Mapping[str, str], wanted: str) -> list[str]:
    return [name for name, status in seen.items() if status == wanted]


def _class(name: str) -> str:
    """Return the CPU class in a job's name, before the shard: jobs of one class share runners."""
    return own_name(name).rpartition(" ")[0].rpartition(" ")[2]


def own_name(name: str) -> str:
    """Return the name without the names of calling jobs."""
    return name.rpartition(" / ")[2]
