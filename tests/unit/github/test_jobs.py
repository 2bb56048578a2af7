"""Device jobs are waited for, within bounds, and what is missing has a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from megtrim.evidence.checks import PendingReason
from megtrim.github.event import Event
from megtrim.github.job_watch import PollingLimits, WaitResult
from megtrim.github.jobs import wait
from support.github_double import GithubDouble
from unit.github.support import asking

RUN, ATTEMPT = 77, 2
PATH = "GET /repos/acme/phone/actions/runs/77/attempts/2/jobs"


def job(name: str, status: str, conclusion: str | None = None) -> dict[str, Any]:
    """Return a job as the API describes it."""
    ended = conclusion or ("success" if status == "completed" else None)
    return {"id": 1, "name": name, "status": status, "conclusion": ended}


def pixel(status: str, shard: str = "1/1") -> dict[str, Any]:
    """Return the device job of one class."""
    return job(f"size / device pixel-6 {shard}", status)


@dataclass(slots=True)
class Waiting:
    """A run whose jobs are played round by round, by a clock that only pauses move."""

    github: GithubDouble
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def __call__(
        self,
        *rounds: list[dict[str, Any]],
        jobs: int = 1,
        pickup_s: float = 600,
        run_s: float = 3600,
        prefix: str = "device",
    ) -> WaitResult:
        self.github.repository("acme/phone").jobs[(RUN, ATTEMPT)] = list(rounds)
        event = Event(
            name="push",
            repository="acme/phone",
            repository_id=1,
            default_branch="main",
            sha="0" * 40,
            ref="refs/heads/main",
            run_id=RUN,
            run_attempt=ATTEMPT,
            server_url="https://github.com",
            api_url=self.github.url,
            pull_request=None,
        )
        return wait(
            asking(self.github.url).api,
            event,
            PollingLimits(jobs=jobs, pickup_s=pickup_s, run_s=run_s, prefix=prefix),
            pause=self.pause,
            clock=lambda: self.now,
            say=self.said.append,
        )

    @property
    def waited_s(self) -> float:
        return self.now - 1000


@pytest.fixture
def waiting(github: GithubDouble) -> Waiting:
    return Waiting(github)


def test_jobs_that_have_ended_are_not_waited_for(waiting: Waiting) -> None:
    """One question, no pause."""
    ended = waiting([pixel("completed", "1/2"), pixel("completed", "2/2")], jobs=2)

    assert ended == WaitResult(pending=None, text="2 of 2 ended, 0 run, 0 wait for a runner")
    assert [str(call) for call in waiting.github.journal] == [PATH]
    assert waiting.pauses == []


def test_no_jobs_need_no_question(waiting: Waiting) -> None:
    """A change that touches nothing has none."""
    ended = waiting([], jobs=0)

    assert ended == WaitResult(pending=None, text="there are no device jobs")
    assert waiting.github.journal == []


def test_it_waits_until_the_last_has_ended(waiting: Waiting) -> None:
    """Queued, running, ended; what is new is said once."""
    ended = waiting(
        [pixel("queued")],
        [pixel("queued")],
        [pixel("in_progress")],
        [pixel("completed")],
    )

    assert ended.pending is None
    assert waiting.said == [
        "waiting for device jobs: 0 of 1 ended, 0 run, 1 wait for a runner",
        "waiting for device jobs: 0 of 1 ended, 1 run, 0 wait for a runner",
    ]
    assert waiting.pauses == [5, 7.5, 11.25]


def test_other_jobs_do_not_count(waiting: Waiting) -> None:
    """Names of callers stand before the last " / "; the prefix is a whole word."""
    ended = waiting(
        [
            job("size / build", "completed"),
            job("size / verdict", "in_progress"),
            job("size / late", "queued"),
            job("device / verdict", "in_progress"),
            job("size / devices pixel-6 1/1", "queued"),
            job("size / device", "queued"),
            job("outer / size / device pixel-6 1/1", "completed"),
        ]
    )

    assert ended.pending is None


def test_the_prefix_can_be_another(waiting: Waiting) -> None:
    """A team may have named its jobs otherwise."""
    ended = waiting([job("phone a 1/1", "completed"), pixel("queued")], prefix="phone")

    assert ended.pending is None


@pytest.mark.parametrize("status", ["queued", "pending", "requested"])
def test_jobs_that_no_one_takes_are_given_up(waiting: Waiting, status: str) -> None:
    """An offline phone."""
    ended = waiting([pixel(status)], pickup_s=600)

    assert ended == WaitResult(
        pending=PendingReason.NO_RUNNER, text="0 of 1 ended, 0 run, 1 wait for a runner"
    )
    assert 600 <= waiting.waited_s < 630


def test_jobs_that_are_not_there_wait_for_a_runner_too(waiting: Waiting) -> None:
    """One of two shards was never queued."""
    ended = waiting([job("size / build", "completed"), pixel("completed")], jobs=2)

    assert ended == WaitResult(
        pending=PendingReason.NO_RUNNER, text="1 of 2 ended, 0 run, 1 wait for a runner"
    )
    assert 600 <= waiting.waited_s < 630


def test_running_jobs_are_waited_for_while_others_find_no_runner(waiting: Waiting) -> None:
    """One phone is offline, the other one works for twenty minutes."""
    other = job("size / device galaxy-s9 1/1", "in_progress")
    rounds = [[pixel("queued"), other]] * 40

    ended = waiting(*rounds, [pixel("queued"), other | {"status": "completed"}], jobs=2)

    assert ended.pending is PendingReason.NO_RUNNER
    assert 1100 < waiting.waited_s < 1250


def test_a_job_behind_a_busy_runner_is_not_given_up(waiting: Waiting) -> None:
    """One phone takes the shards of its class one after the other."""
    first = [pixel("in_progress", "1/2"), pixel("queued", "2/2")]
    between = [pixel("completed", "1/2"), pixel("queued", "2/2")]
    second = [pixel("completed", "1/2"), pixel("in_progress", "2/2")]
    both = [pixel("completed", "1/2"), pixel("completed", "2/2")]

    ended = waiting(*[first] * 40, *[between] * 5, *[second] * 10, both, jobs=2)

    assert ended.pending is None
    assert waiting.waited_s > 1500


def test_a_runner_that_left_is_given_up_after_a_while(waiting: Waiting) -> None:
    """The phone ended one shard and was then unplugged."""
    first = [pixel("in_progress", "1/2"), pixel("queued", "2/2")]
    between = [pixel("completed", "1/2"), pixel("queued", "2/2")]

    ended = waiting(*[first] * 20, between, jobs=2)

    assert ended.pending is PendingReason.NO_RUNNER
    assert waiting.waited_s == 515.9375 + 600


def test_what_runs_too_long_is_late(waiting: Waiting) -> None:
    """The bound of all waiting is kept to the second."""
    ended = waiting([pixel("in_progress")], run_s=1000)

    assert ended == WaitResult(
        pending=PendingReason.LATE, text="0 of 1 ended, 1 run, 0 wait for a runner"
    )
    assert waiting.waited_s == 1000


def test_a_queue_behind_a_runner_is_late_in_the_end(waiting: Waiting) -> None:
    """Its runner is there: it is only not its turn."""
    ended = waiting([pixel("in_progress", "1/2"), pixel("queued", "2/2")], jobs=2, run_s=1000)

    assert ended.pending is PendingReason.LATE
    assert waiting.waited_s == 1000


def test_cancelled_and_failed_jobs_have_ended(waiting: Waiting) -> None:
    """What they bring, or do not bring, is for the verdict."""
    ended = waiting(
        [
            job("device pixel-6 1/2", "completed", "cancelled"),
            job("device pixel-6 2/2", "completed", "failure"),
        ],
        jobs=2,
    )

    assert ended.pending is None


def test_two_callers_in_one_run_are_distinguished(waiting: Waiting) -> None:
    """Jobs of two configurations have equal names behind those of their callers."""
    ended = waiting(
        [job("a / device any 1/1", "completed"), job("b / device any 1/1", "in_progress")],
        [job("a / device any 1/1", "completed"), job("b / device any 1/1", "completed")],
    )

    assert ended.pending is None
    assert waiting.pauses == [5]


def test_pauses_grow_to_half_a_minute(waiting: Waiting) -> None:
    """A job's token has a thousand questions in an hour, for all jobs of a repository."""
    waiting([pixel("in_progress")], run_s=3600)

    assert max(waiting.pauses) == 30
    assert len(waiting.github.journal) < 130


def test_zero_minutes_ask_once(waiting: Waiting) -> None:
    """No one waits who does not want to."""
    ended = waiting([pixel("queued")], pickup_s=0, run_s=0)

    assert (ended.pending, waiting.pauses) == (PendingReason.NO_RUNNER, [])
    nothing = waiting([job("size / build", "completed")], pickup_s=0, run_s=0)
    assert (nothing.pending, waiting.pauses) == (PendingReason.NO_RUNNER, [])


def test_more_jobs_than_a_page_are_seen(waiting: Waiting) -> None:
    """A matrix has up to 256."""
    jobs = [pixel("completed", f"{number}/256") for number in range(1, 257)]

    assert waiting(jobs, jobs=256).pending is None


@pytest.mark.parametrize("status", [403, 404, 500])
def test_github_that_does_not_answer_is_late(waiting: Waiting, status: int) -> None:
    """Nothing is known, so nothing is said of a runner; and no one waits in vain."""
    waiting.github.fail("GET", "/jobs", status=status, times=9)

    ended = waiting([pixel("in_progress")])

    assert ended.pending is PendingReason.LATE
    assert ended.text == "GitHub did not report the device jobs"
    assert ended.failure is not None
    assert f"GitHub answered {status}" in ended.failure.message
    assert waiting.pauses == []


def test_a_hiccup_is_no_end(waiting: Waiting) -> None:
    """5xx and limits are asked again after a pause."""
    waiting.github.fail("GET", "/jobs", status=502)
    waiting.github.fail("GET", "/jobs", status=403, headers={"Retry-After": "3"})
    waiting.github.fail("GET", "/jobs", status=0)

    assert waiting([pixel("in_progress")], [pixel("completed")]).pending is None


def test_a_job_without_a_name_is_no_device_job(waiting: Waiting) -> None:
    """One strange entry does not end the waiting."""
    strange = [{"id": 1, "name": None, "status": 7}, pixel("completed")]

    assert waiting(strange).pending is None
