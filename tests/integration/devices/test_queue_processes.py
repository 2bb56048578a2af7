"""The queue between real processes: order, no mixing, and locks that die with their holder."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.devices.device import utc_now
from megtrim.devices.pool.queue import Queue
from megtrim.process import Background, Command, ProcessRunner

JOB = Path(__file__).with_name("queue_job.py")
SOURCE = Path(__file__).parents[3] / "ci"
LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Event:
    """A line that a job noted."""

    at_s: float
    job: str
    what: str
    key: str
    pid: int


class Jobs:
    """Starts jobs and reads what they noted."""

    def __init__(self, folder: Path, processes: ProcessRunner, stack: ExitStack) -> None:
        self.folder, self.state = folder, folder / "state"
        self.notes = folder / "notes"
        self.queue = Queue(self.state, utc_now)
        self._processes, self._stack = processes, stack

    def start(self, name: str, kept_s: float | str, *machines: str) -> Background:
        argv = (sys.executable, str(JOB), str(self.state), str(self.notes))
        command = Command(
            argv=(*argv, name, str(kept_s), *machines),
            timeout_s=LONGEST_S,
            env={"PYTHONPATH": str(SOURCE)},
            log=self.folder / f"{name}.log",
        )
        return self._stack.enter_context(self._processes.background(command))

    def events(self, what: str) -> list[Event]:
        if not self.notes.exists():
            return []
        lines = [line.split() for line in self.notes.read_text(encoding="utf-8").splitlines()]
        events = [Event(float(at), job, did, key, int(pid)) for at, job, did, key, pid in lines]
        return [event for event in events if event.what == what]

    def until(self, what: str, count: int) -> list[Event]:
        end = time.monotonic() + LONGEST_S
        while len(self.events(what)) < count:
            assert time.monotonic() < end, [log.read_text() for log in self.folder.glob("*.log")]
            time.sleep(0.01)
        return self.events(what)


@pytest.fixture
def jobs(tmp_path: Path, processes: ProcessRunner) -> Iterator[Jobs]:
    with ExitStack() as stack:
        yield Jobs(tmp_path, processes, stack)


def test_two_phones_four_jobs(jobs: Jobs) -> None:
    """Each job is on one phone, no one else is on it meanwhile, and the order is kept."""
    for number in range(4):
        jobs.start(f"job{number}", "released", "A", "B")
        jobs.until(*(("takes", number + 1) if number < 2 else ("waits", number - 1)))
    # One phone at a time: jobs that get two at once note it in any order.
    for number in range(4):
        (jobs.folder / f"release-job{number}").touch()
        jobs.until("leaves", number + 1)
        jobs.until("takes", min(number + 3, 4))

    taken = jobs.events("takes")
    assert [event.job for event in taken] == ["job0", "job1", "job2", "job3"]
    assert [event.key for event in taken] == ["A", "B", "A", "B"]
    assert jobs.events("mixed") == []
    assert all(log.read_text(encoding="utf-8") == "" for log in jobs.folder.glob("*.log"))


def test_many_jobs_at_once_on_two_phones(jobs: Jobs) -> None:
    """Started together: a phone is never given to two, and none is forgotten."""
    for number in range(10):
        jobs.start(f"job{number}", 0.05, "A", "B")

    left = jobs.until("leaves", 10)
    assert sorted(event.job for event in left) == sorted(f"job{number}" for number in range(10))
    assert jobs.events("mixed") == []
    assert all(log.read_text(encoding="utf-8") == "" for log in jobs.folder.glob("*.log"))
    assert jobs.queue.tickets() == ()


def test_a_lock_dies_with_its_holder(jobs: Jobs) -> None:
    """It is free after kill -9, and the next one gets it."""
    jobs.start("holder", "released", "A")
    holder = jobs.until("takes", 1)[0]
    jobs.start("next", 0.0, "A")
    jobs.until("waits", 1)
    (jobs.folder / "phone-A").unlink()

    os.kill(holder.pid, signal.SIGKILL)

    assert jobs.until("takes", 2)[1].job == "next"


def test_a_place_dies_with_who_waits(jobs: Jobs) -> None:
    """One that was killed while it waited blocks no one."""
    jobs.start("holder", "released", "A")
    jobs.until("takes", 1)
    jobs.start("killed", 0.0, "A")
    killed = jobs.until("waits", 1)[0]
    jobs.start("next", 0.0, "A")
    jobs.until("waits", 2)
    os.kill(killed.pid, signal.SIGKILL)
    (jobs.folder / "release-holder").touch()

    taken = jobs.until("takes", 2)
    freed = jobs.until("leaves", 1)[0]
    assert [event.job for event in taken] == ["holder", "next"]
    assert freed.at_s <= taken[1].at_s
    jobs.until("leaves", 2)
    assert jobs.queue.tickets() == ()


def test_an_interrupted_job_leaves_nothing(jobs: Jobs) -> None:
    """Neither a ticket nor a lock."""
    jobs.start("holder", "released", "A")
    holder = jobs.until("takes", 1)[0]
    jobs.start("waiting", 0.0, "A")
    waiting = jobs.until("waits", 1)[0]
    os.kill(waiting.pid, signal.SIGINT)
    end = time.monotonic() + LONGEST_S
    while jobs.queue.tickets():
        assert time.monotonic() < end
        time.sleep(0.01)
    os.kill(holder.pid, signal.SIGINT)
    while jobs.queue.holder("A") is not None:
        assert time.monotonic() < end
        time.sleep(0.01)
