"""Leases between real processes: no mixing, and locks that die with their holder."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from megtrim.lab.pool.leases import Leases
from megtrim.libs.util.process import Background, Command, ProcessRunner
from megtrim.places.devices.device import utc_now
from support.clock import until
from unit.places.devices.machines import FakeMachine

JOB = Path(__file__).with_name("lease_job.py")
SOURCES = (Path(__file__).parents[3] / "ci", Path(__file__).parents[2])
LONGEST_S = 60.0


class Jobs:
    def __init__(self, folder: Path, processes: ProcessRunner, stack: ExitStack) -> None:
        self.folder = folder
        self.leases = Leases(folder / "state", "test", utc_now)
        self._processes = processes
        self._stack = stack

    def start(self, name: str, kept_s: float, *machines: str) -> Background:
        argv = (sys.executable, str(JOB), str(self.folder / "state"), str(self.folder / "notes"))
        command = Command(
            argv=(*argv, name, str(kept_s), *machines),
            timeout_s=LONGEST_S,
            env={"PYTHONPATH": os.pathsep.join(map(str, SOURCES))},
            log=self.folder / f"{name}.log",
        )
        return self._stack.enter_context(self._processes.background(command))

    def noted(self, what: str) -> list[tuple[str, int]]:
        notes = self.folder / "notes"
        lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
        events = [line.split() for line in lines]
        return [(job, int(pid)) for job, event, pid in events if event == what]


@pytest.fixture
def jobs(tmp_path: Path, processes: ProcessRunner) -> Iterator[Jobs]:
    with ExitStack() as stack:
        yield Jobs(tmp_path, processes, stack)


def test_many_jobs_at_once_on_two_phones(jobs: Jobs) -> None:
    for number in range(10):
        jobs.start(f"job{number}", 0.05, "A", "B")

    until(lambda: len(jobs.noted("leaves")) == 10, "all of them")
    assert sorted(job for job, _ in jobs.noted("leaves")) == [f"job{n}" for n in range(10)]
    assert jobs.noted("mixed") == []
    assert all(log.read_text(encoding="utf-8") == "" for log in jobs.folder.glob("*.log"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_lease_dies_with_its_holder(jobs: Jobs, number: int) -> None:
    jobs.start("holder", LONGEST_S, "A")
    until(lambda: jobs.noted("takes"), "the holder")
    jobs.start("next", 0.0, "A")
    machine = FakeMachine("A", jobs.folder)
    holder = jobs.leases.holder(machine)
    assert holder is not None
    assert (holder.name, holder.pid) == jobs.noted("takes")[0]
    (jobs.folder / "phone-A").unlink()

    os.kill(holder.pid, number)

    until(lambda: jobs.noted("leaves"), "the next one")
    assert [job for job, _ in jobs.noted("takes")] == ["holder", "next"]
    until(lambda: jobs.leases.holder(machine) is None, "the end of the next one")
