"""How long device jobs are waited for, decided from their statuses and the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from megtrim.evidence.checks import PendingReason
from megtrim.github.job_watch import JobWatch, PollingLimits, own_name

PICKUP_S, RUN_S = 600.0, 3600.0
ONE, TWO = "size / device pixel-6 1/2", "size / device pixel-6 2/2"
OTHER = "size / device nexus 1/1"


class Watched:
    """A watch whose clock goes on when a test says so."""

    def __init__(self, jobs: int) -> None:
        self.now_s = 100.0
        limits = PollingLimits(jobs=jobs, pickup_s=PICKUP_S, run_s=RUN_S, prefix="device")
        self.watch = JobWatch(limits, lambda: self.now_s)

    def after(self, seconds: float, seen: Mapping[str, str]) -> PendingReason | str:
        """Return the reason at which the wait ends, ``ended``, or ``waits``."""
        self.now_s += seconds
        result = self.watch.judge(seen)
        if result is None:
            return "waits"
        return result.pending or "ended"


@pytest.mark.parametrize(
    ("seconds", "seen", "outcome"),
    [
        (0, {ONE: "completed", TWO: "completed"}, "ended"),
        (RUN_S + 1, {ONE: "completed", TWO: "completed"}, "ended"),
        (0, {ONE: "completed", TWO: "queued"}, "waits"),
        (PICKUP_S - 1, {ONE: "queued"}, "waits"),
        (PICKUP_S, {ONE: "queued", TWO: "queued"}, PendingReason.NO_RUNNER),
        (PICKUP_S, {}, PendingReason.NO_RUNNER),
        (PICKUP_S, {ONE: "in_progress", TWO: "queued"}, "waits"),
        (RUN_S, {ONE: "in_progress", TWO: "in_progress"}, PendingReason.LATE),
        (RUN_S, {ONE: "in_progress", TWO: "queued"}, PendingReason.LATE),
        (RUN_S, {ONE: "in_progress", OTHER: "queued"}, PendingReason.NO_RUNNER),
    ],
)
def test_the_first_look_after_a_while(
    seconds: float, seen: Mapping[str, str], outcome: PendingReason | str
) -> None:
    """Jobs that are not queued yet wait for a runner, too."""
    assert Watched(jobs=2).after(seconds, seen) == outcome


def test_a_job_behind_a_busy_runner_of_its_class_is_not_given_up() -> None:
    """Once the runner has not been seen for as long as a pickup may take, it is."""
    watched = Watched(jobs=2)

    assert watched.after(0, {ONE: "in_progress", TWO: "queued"}) == "waits"
    assert watched.after(PICKUP_S + 1, {ONE: "in_progress", TWO: "queued"}) == "waits"
    assert watched.after(5, {ONE: "completed", TWO: "queued"}) == "waits"
    assert watched.after(PICKUP_S - 1, {ONE: "completed", TWO: "queued"}) == "waits"
    assert watched.after(1, {ONE: "completed", TWO: "queued"}) == PendingReason.NO_RUNNER


def test_a_runner_of_another_class_helps_no_one() -> None:
    """It does not take the job; while it runs, it is waited for all the same."""
    watched = Watched(jobs=2)

    assert watched.after(PICKUP_S, {OTHER: "in_progress", ONE: "queued"}) == "waits"
    assert watched.after(1, {OTHER: "completed", ONE: "queued"}) == PendingReason.NO_RUNNER


def test_the_text_counts_jobs_by_what_they_do() -> None:
    """For whoever reads the log of the waiting job."""
    watched = Watched(jobs=4)
    watched.after(0, {ONE: "completed", TWO: "in_progress", OTHER: "queued"})

    assert watched.watch.text == "1 of 4 ended, 1 run, 2 wait for a runner"


def test_a_job_that_waits_for_a_reviewer_waits_for_no_runner() -> None:
    """It is given up as early, and for another reason."""
    watched = Watched(jobs=2)

    assert watched.after(0, {ONE: "waiting", TWO: "queued"}) == "waits"
    assert watched.watch.text == "0 of 2 ended, 0 run, 1 wait for a runner, 1 for approval"
    assert watched.after(PICKUP_S, {ONE: "waiting", TWO: "queued"}) == PendingReason.APPROVAL
    assert Watched(jobs=1).after(PICKUP_S, {ONE: "queued"}) == PendingReason.NO_RUNNER


def test_what_is_left_is_never_nothing() -> None:
    """A pause of no time would ask without end."""
    watched = Watched(jobs=1)
    assert watched.watch.left_s() == RUN_S
    watched.now_s += RUN_S - 10
    assert watched.watch.left_s() == 10.0
    watched.now_s += 60
    assert watched.watch.left_s() == 1.0


@pytest.mark.parametrize(
    ("name", "own"), [("device a 1/1", "device a 1/1"), ("x / size / device a 1/1", "device a 1/1")]
)
def test_a_job_is_known_by_its_own_name(name: str, own: str) -> None:
    """Without the names of the workflows that call it."""
    assert own_name(name) == own


def test_jobs_of_other_configurations_are_not_waited_for() -> None:
    """They have the id of their configuration before their class, or none."""
    limits = PollingLimits(jobs=1, pickup_s=1, run_s=1, prefix="device", config_id="android")
    names = ("device android desk 1/1", "device desk 1/1", "device linux desk 1/1")

    assert [limits.is_own(f"size / {name}") for name in names] == [True, False, False]
    assert [replace(limits, config_id="").is_own(name) for name in names] == [False, True, False]


def test_a_runner_that_serves_another_configuration_is_there() -> None:
    """The phone is busy with it, and comes to this one next."""
    watched = Watched(jobs=1)
    theirs = "device android pixel-6 1/1"
    queued = {"device pixel-6 1/1": "queued", theirs: "in_progress"}

    assert watched.after(0, queued) == "waits"
    assert watched.after(PICKUP_S, queued) == "waits"
    assert watched.after(0, {**queued, "device pixel-6 1/1": "completed"}) == "ended"
