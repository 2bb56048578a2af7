"""Asks GitHub for the device jobs of a run until waiting for them is over, or pointless.

Part of the github room. The caller provides the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from megtrim.errors import InfrastructureFailure
from megtrim.evidence.checks import PendingReason
from megtrim.github.api import Api
from megtrim.github.event import Event
from megtrim.github.job_watch import JobWatch, PollingLimits, WaitResult, own_name

SHORTEST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 30.0
_MOST_JOBS = 2000


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
    watch = JobWatch(limits, clock)
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


def _fetch_job_statuses(api: Api, event: Event, prefix: str) -> dict[str, str]:
    """Return the status of each device job by its name.

    If one run calls the workflow several times, the jobs of all calls are included.
    """
    path = (
        f"/repos/{event.repository}/actions/runs/{event.run_id}/attempts/{event.run_attempt}/jobs"
    )
    seen = {}
    for job in api.pages(path, key="jobs", most=_MOST_JOBS):
        name = _text(job, "name")
        if own_name(name).startswith(f"{prefix} "):
            seen[name] = _text(job, "status")
    return seen


def _text(job: Mapping[str, Any], key: str) -> str:
    value = job.get(key)
    return value if isinstance(value, str) else ""
