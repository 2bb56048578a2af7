"""Waits for the device jobs of a run, and reports what is missing when it gives up.

Part of the github room. An offline phone must not delay a verdict forever: jobs that no runner
picks up are given up early, and those that run too long later. The caller provides the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from megtrim.errors import InfrastructureFailure
from megtrim.evidence.checks import PendingReason
from megtrim.github.api import Api
from megtrim.github.event import Event

SHORTEST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 30.0
_MOST_JOBS = 2000
_COMPLETED = "completed"
_RUNNING = "in_progress"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitResult:
    """How the wait ended; ``text`` describes it in one line, ``failure`` is why it is unknown."""

    pending: PendingReason | None
    """None if all jobs have ended."""
    text: str
    failure: InfrastructureFailure | None = None


def wait(
    api: Api,
    event: Event,
    limits: PollingLimits,
    *,
    pause: Callable[[float], None],
    clock: Callable[[], float],
    say: Callable[[str], None],
) -> WaitResult:
    """Wait until all jobs have ended, or waiting for the others is pointless.

    ``clock`` counts seconds. Never raises, whatever GitHub answers.
    """
    watch = _Watch(limits, clock)
    between_s = SHORTEST_PAUSE_S
    reported = ""
    while limits.jobs > 0:
        try:
            seen = _fetch_job_statuses(api, event, limits.prefix)
        except InfrastructureFailure as failure:
            text = "GitHub did not report the device jobs"
            return WaitResult(pending=PendingReason.LATE, text=text, failure=failure)
        ended = watch.judge(seen)
        if ended is not None:
            return ended
        if watch.text != reported:
            reported = watch.text
            say(f"waiting for device jobs: {reported}")
        pause(min(between_s, watch.left_s()))
        between_s = min(LONGEST_PAUSE_S, between_s * 1.5)
    return WaitResult(pending=None, text="there are no device jobs")


class _Watch:
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
        """Return the result, or None to keep waiting. ``seen`` maps names to statuses."""
        now = self._clock()
        ended = [name for name, status in seen.items() if status == _COMPLETED]
        running = [name for name, status in seen.items() if status == _RUNNING]
        self._note(ended, running, now)
        waiting = [name for name in seen if name not in ended and name not in running]
        # Jobs of a matrix appear when they are queued: missing ones are waiting, too.
        unseen = max(0, self._limits.jobs - len(seen))
        self.text = (
            f"{len(ended)} of {self._limits.jobs} ended, {len(running)} run, "
            f"{len(waiting) + unseen} wait for a runner"
        )
        if not running and not waiting and not unseen:
            return WaitResult(pending=None, text=self.text)
        over = now - self._began >= self._limits.run_s
        alone = [name for name in waiting if self._is_alone(name, now)]
        given_up = len(alone) + unseen * (now - self._began >= self._limits.pickup_s)
        if not over and (running or given_up < len(waiting) + unseen):
            return None
        return WaitResult(
            pending=PendingReason.NO_RUNNER if given_up else PendingReason.LATE, text=self.text
        )

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


def _class(name: str) -> str:
    """Return the job's name without caller and shard: jobs of one class share runners."""
    return _own_name(name).rpartition(" ")[0]


def _own_name(name: str) -> str:
    """Return the name without the names of calling jobs."""
    return name.rpartition(" / ")[2]


def _fetch_job_statuses(api: Api, event: Event, prefix: str) -> dict[str, str]:
    """Return the status of each device job by its name.

    If one run calls the workflow twice, the jobs of both calls are included.
    """
    path = (
        f"/repos/{event.repository}/actions/runs/{event.run_id}/attempts/{event.run_attempt}/jobs"
    )
    seen = {}
    for job in api.pages(path, key="jobs", most=_MOST_JOBS):
        name = _text(job, "name")
        if _own_name(name).startswith(f"{prefix} "):
            seen[name] = _text(job, "status")
    return seen


def _text(job: Mapping[str, Any], key: str) -> str:
    value = job.get(key)
    return value if isinstance(value, str) else ""
