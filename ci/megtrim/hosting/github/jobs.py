"""Asks GitHub for the device jobs of a run until waiting for them is over, or pointless."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from megtrim.core.checks.statuses import PendingReason
from megtrim.hosting.github.api import Api, find_at
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.value import Value
from megtrim.places.github_event import Event

SHORTEST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
_GROWTH = 1.25
_MOST_JOBS = 2000
_PREFIX = "device"
_COMPLETED = "completed"
_RUNNING = "in_progress"
_APPROVAL = "waiting"
"""What GitHub calls a job that a reviewer of its environment must approve."""


class PollingLimits(Value):
    """The number of jobs, and how long to wait for them, in seconds since the start.

    ``pickup_s`` is the limit for jobs that wait for a runner, ``run_s`` for all. A job that waits
    while another of its class runs is not given up: its runner exists and is busy.
    """

    jobs: int
    pickup_s: float
    run_s: float
    config_id: str = ""
    """Second word of a job's name, if the configuration has an id; CPU class and shard follow."""

    def is_own(self, name: str) -> bool:
        wanted = f"{_PREFIX} {self.config_id}".rstrip()
        return _strip_callers(name).rsplit(" ", 2)[0] == wanted


def is_open(api: Api, repository: str, environment: str) -> bool | None:
    """Tell whether an environment asks no one; None: it is not there, or GitHub does not say.

    GitHub makes one that a job names, without any rule.
    """
    path = f"/repos/{repository}/environments/{quote(environment, safe='')}"
    try:
        return not find_at(api.get(path), "protection_rules")
    except InfrastructureFailure:
        return None


class WaitResult(Value):
    """How the wait ended; ``text`` describes it in one line, ``failure`` is why it is unknown."""

    pending: PendingReason | None
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
    """``clock`` counts seconds. Never raises, whatever GitHub answers."""
    if not limits.jobs:
        return WaitResult(pending=None, text="there are no device jobs")
    began = clock()
    watch = _Watch(limits)
    between_s = SHORTEST_PAUSE_S
    reported = ""
    while True:
        try:
            statuses = _fetch_statuses(api, event)
        except InfrastructureFailure as failure:
            text = "GitHub did not report the device jobs"
            return WaitResult(pending=PendingReason.LATE, text=text, failure=failure)
        after_s = clock() - began
        text, goes_on, pending = watch.judge(statuses, after_s)
        if not goes_on:
            return WaitResult(pending=pending, text=text)
        if text != reported:
            reported = text
            say(f"waiting for device jobs: {text}")
        pause(min(between_s, max(1.0, limits.run_s - after_s)))
        between_s = min(LONGEST_PAUSE_S, between_s * _GROWTH)


class _Watch:
    def __init__(self, limits: PollingLimits) -> None:
        self._limits = limits
        self._busy_s: dict[str, float] = {}
        """By class: when one of its jobs was last seen running, or newly ended."""
        self._ended: set[str] = set()

    def judge(
        self, statuses: Mapping[str, str], after_s: float
    ) -> tuple[str, bool, PendingReason | None]:
        """Return how it stands in one line, whether to wait on, and what is pending."""
        limits = self._limits
        for name, status in statuses.items():
            if status == _RUNNING or (status == _COMPLETED and name not in self._ended):
                self._busy_s[_class(name)] = after_s
        self._ended |= {name for name, status in statuses.items() if status == _COMPLETED}
        own = {name: status for name, status in statuses.items() if limits.is_own(name)}
        every = list(own.values())
        ended, running, held = map(every.count, (_COMPLETED, _RUNNING, _APPROVAL))
        waiting = [name for name, each in own.items() if each not in (_COMPLETED, _RUNNING)]
        # Jobs of a matrix appear when they are queued: missing ones are waiting, too.
        unseen = max(0, limits.jobs - len(own))
        text = (
            f"{ended} of {limits.jobs} ended, {running} run, "
            f"{len(waiting) - held + unseen} wait for a runner"
        )
        text += f", {held} for approval" if held else ""
        if not running and not waiting and not unseen:
            return text, False, None
        alone = [
            name
            for name in waiting
            if after_s - self._busy_s.get(_class(name), 0) >= limits.pickup_s
        ]
        given_up = len(alone)
        if after_s >= limits.pickup_s:
            given_up += unseen
        goes_on = after_s < limits.run_s and (running > 0 or given_up < len(waiting) + unseen)
        if held:  # what runners there are shows only after an approval
            return text, goes_on, PendingReason.APPROVAL
        return text, goes_on, PendingReason.NO_RUNNER if given_up else PendingReason.LATE


def _fetch_statuses(api: Api, event: Event) -> dict[str, str]:
    """If one run calls the workflow several times, the jobs of all calls are included."""
    run = f"/repos/{event.repository}/actions/runs/{event.run_id}/attempts/{event.run_attempt}"
    jobs = api.pages(f"{run}/jobs", key="jobs", most=_MOST_JOBS)
    statuses = {str(job.get("name")): str(job.get("status")) for job in jobs}
    return {
        name: status
        for name, status in statuses.items()
        if _strip_callers(name).startswith(f"{_PREFIX} ")
    }


def _class(name: str) -> str:
    return _strip_callers(name).rpartition(" ")[0].rpartition(" ")[2]


def _strip_callers(name: str) -> str:
    return name.rpartition(" / ")[2]
