from dataclasses import dataclass, field
from typing import Any

import pytest

from megtrim.core.checks.statuses import PendingReason
from megtrim.hosting.github.jobs import PollingLimits, WaitResult, wait
from support.github_double import GithubDouble
from unit.hosting.github.support import asking, make_event

RUN = 77
ATTEMPT = 2
PATH = "GET /repos/acme/phone/actions/runs/77/attempts/2/jobs"
NO_RUNNER = PendingReason.NO_RUNNER
LATE = PendingReason.LATE
QUEUED = "queued"
RUNS = "in_progress"
ENDED = "completed"

Round = list[dict[str, Any]]


def job(name: str, status: str, conclusion: str | None = None) -> dict[str, Any]:
    ended = conclusion or ("success" if status == ENDED else None)
    return {"id": 1, "name": name, "status": status, "conclusion": ended}


def pixel(*statuses: str) -> Round:
    return [
        job(f"size / device pixel-6 {shard}/{len(statuses)}", status)
        for shard, status in enumerate(statuses, 1)
    ]


@dataclass(slots=True)
class Waiting:
    github: GithubDouble
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def __call__(
        self, *rounds: Round, jobs: int = 1, pickup_s: float = 600, run_s: float = 3600
    ) -> WaitResult:
        self.github.repository("acme/phone").jobs[(RUN, ATTEMPT)] = list(rounds)
        return wait(
            asking(self.github.url).api,
            make_event(self.github.url),
            PollingLimits(jobs=jobs, pickup_s=pickup_s, run_s=run_s),
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


def test_no_jobs_need_no_question(waiting: Waiting) -> None:
    assert waiting([], jobs=0) == WaitResult(pending=None, text="there are no device jobs")
    assert waiting.github.journal == []
    assert waiting(pixel(ENDED, ENDED), jobs=2) == WaitResult(
        pending=None, text="2 of 2 ended, 0 run, 0 wait for a runner"
    )
    assert [str(call) for call in waiting.github.journal] == [PATH]


def test_it_waits_until_the_last_has_ended(waiting: Waiting) -> None:
    assert waiting(pixel(QUEUED), pixel(QUEUED), pixel(RUNS), pixel(ENDED)).pending is None
    assert waiting.said == [
        "waiting for device jobs: 0 of 1 ended, 0 run, 1 wait for a runner",
        "waiting for device jobs: 0 of 1 ended, 1 run, 0 wait for a runner",
    ]
    assert waiting.pauses == [1, 1.25, 1.5625]


@pytest.mark.parametrize(
    ("rounds", "jobs"),
    [
        # The prefix is a whole word, after the names of callers.
        (
            [
                [
                    job("size / verdict", RUNS),
                    job("size / late", QUEUED),
                    job("device / verdict", RUNS),
                    job("size / devices pixel-6 1/1", QUEUED),
                    job("size / device", QUEUED),
                    job("outer / size / device pixel-6 1/1", ENDED),
                ]
            ],
            1,
        ),
        # Those of another configuration have its id before their class.
        ([[job("device android pixel-6 1/1", QUEUED), *pixel(ENDED)]], 1),
        # What they bring, or do not bring, is for the verdict.
        ([[job("device a 1/2", ENDED, "cancelled"), job("device a 2/2", ENDED, "failure")]], 2),
        # Two callers in one run have jobs of equal names.
        (
            [
                [job("a / device any 1/1", ENDED), job("b / device any 1/1", RUNS)],
                [job("a / device any 1/1", ENDED), job("b / device any 1/1", ENDED)],
            ],
            1,
        ),
        # A matrix has up to 256: more than a page.
        ([pixel(*[ENDED] * 256)], 256),
        ([[{"id": 1, "name": None, "status": 7}, *pixel(ENDED)]], 1),
        # One phone takes the shards of its class one after the other.
        (
            [
                *[pixel(RUNS, QUEUED)] * 40,
                *[pixel(ENDED, QUEUED)] * 5,
                *[pixel(ENDED, RUNS)] * 10,
                pixel(ENDED, ENDED),
            ],
            2,
        ),
        # A phone that is busy with another configuration comes to this one next.
        ([*[[job("device android pixel-6 1/1", RUNS), *pixel(QUEUED)]] * 40, pixel(ENDED)], 1),
    ],
)
def test_its_own_jobs_end(waiting: Waiting, rounds: list[Round], jobs: int) -> None:
    assert waiting(*rounds, jobs=jobs).pending is None
    assert len(waiting.pauses) == len(rounds) - 1


@pytest.mark.parametrize(
    ("rounds", "jobs", "run_s", "pending", "text", "least_s", "most_s"),
    [
        # An offline phone.
        *(
            ([pixel(status)], 1, 3600, NO_RUNNER, "0 of 1 ended, 0 run, 1 wait for", 600, 629)
            for status in (QUEUED, "pending", "requested")
        ),
        # One of two shards was never queued.
        ([pixel(ENDED)], 2, 3600, NO_RUNNER, "1 of 2 ended, 0 run, 1 wait for", 600, 629),
        ([[]], 2, 3600, NO_RUNNER, "0 of 2 ended, 0 run, 2 wait for a runner", 600, 629),
        # One phone is offline, the other one works for twenty minutes.
        (
            [
                *[[*pixel(QUEUED), job("device galaxy-s9 1/1", RUNS)]] * 50,
                [*pixel(QUEUED), job("device galaxy-s9 1/1", ENDED)],
            ],
            2,
            3600,
            NO_RUNNER,
            "1 of 2 ended, 0 run, 1 wait for a runner",
            1100,
            1250,
        ),
        # The phone ended one shard and was then unplugged.
        (
            [*[pixel(RUNS, QUEUED)] * 20, pixel(ENDED, QUEUED)],
            2,
            3600,
            NO_RUNNER,
            "1 of 2 ended, 0 run, 1 wait for",
            858.1,
            858.2,
        ),
        # A reviewer must approve it: it waits for no runner, and is given up as early.
        (
            [pixel("waiting", QUEUED)],
            2,
            3600,
            PendingReason.APPROVAL,
            "0 of 2 ended, 0 run, 1 wait for a runner, 1 for approval",
            600,
            629,
        ),
        # The bound of all waiting is kept to the second.
        ([pixel(RUNS)], 1, 1000, LATE, "0 of 1 ended, 1 run, 0 wait for a runner", 1000, 1000),
        ([pixel(RUNS, QUEUED)], 2, 1000, LATE, "0 of 2 ended, 1 run, 1 wait for", 1000, 1000),
        (
            [[*pixel(RUNS), job("device nexus 1/1", QUEUED)]],
            2,
            1000,
            NO_RUNNER,
            "0 of 2 ended, 1 run, 1 wait for a runner",
            1000,
            1000,
        ),
    ],
)
def test_what_is_given_up_has_a_reason(
    waiting: Waiting,
    rounds: list[Round],
    jobs: int,
    run_s: float,
    pending: PendingReason,
    text: str,
    least_s: float,
    most_s: float,
) -> None:
    ended = waiting(*rounds, jobs=jobs, run_s=run_s)

    assert ended.pending is pending
    assert ended.text.startswith(text)
    assert least_s <= waiting.waited_s <= most_s


def test_pauses_grow_to_half_a_minute(waiting: Waiting) -> None:
    """A job's token has a thousand questions in an hour, for all jobs of a repository."""
    waiting(pixel(RUNS), run_s=3600)

    assert max(waiting.pauses) == 30
    assert len(waiting.github.journal) < 140


@pytest.mark.parametrize("jobs", [pixel(QUEUED), [job("size / build", ENDED)]])
def test_zero_minutes_ask_once(waiting: Waiting, jobs: Round) -> None:
    assert waiting(jobs, pickup_s=0, run_s=0).pending is NO_RUNNER
    assert waiting.pauses == []


@pytest.mark.parametrize("status", [403, 404, 500])
def test_github_that_does_not_answer_is_late(waiting: Waiting, status: int) -> None:
    waiting.github.fail("GET", "/jobs", status=status, times=9)

    ended = waiting(pixel(RUNS))

    assert (ended.pending, ended.text) == (LATE, "GitHub did not report the device jobs")
    assert ended.failure is not None
    assert f"GitHub answered {status}" in ended.failure.message
    assert waiting.pauses == []


def test_a_hiccup_is_no_end(waiting: Waiting) -> None:
    waiting.github.fail("GET", "/jobs", status=502)
    waiting.github.fail("GET", "/jobs", status=403, headers={"Retry-After": "3"})
    waiting.github.fail("GET", "/jobs", status=0)

    assert waiting(pixel(RUNS), pixel(ENDED)).pending is None


def test_jobs_of_other_configurations_are_not_waited_for() -> None:
    names = ("device android desk 1/1", "size / device desk 1/1", "device linux desk 1/1")
    own = {
        config: [
            PollingLimits(jobs=1, pickup_s=1, run_s=1, config_id=config).is_own(name)
            for name in names
        ]
        for config in ("android", "")
    }

    assert own == {"android": [True, False, False], "": [False, True, False]}
