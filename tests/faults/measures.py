"""The numbers that were asked for, taken with the waiting times that users have."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.job import GOT, Job, JobOrder, crossed
from faults.matrix import Plant
from faults.programs import compile_program, write_files
from faults.record import Measure
from faults.world import Clock, Lane, lane
from megtrim.devices import Lease
from megtrim.devices.device import Timeouts
from megtrim.devices.retry import run_with_retries
from megtrim.trim.runs.execution import RunSpec, run_on
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import Command, ProcessRunner

TESTS = Path(__file__).resolve().parents[1]
_NOTICED_S, _FREED_S, _LOST_S = 30.0, 1.0, 30.0
_PAYLOAD_BYTES = 10_000_000
_LONG_TENTHS, _JOB_TENTHS = 250, 15
_WAIT_S = 60.0
_LOOK_S = 0.02


def measure(processes: ProcessRunner, say: Callable[[str], None]) -> tuple[Measure, ...]:
    found = []
    with tempfile.TemporaryDirectory(prefix="megtrim-faults-") as scratch:
        compiled = compile_program(processes, Path(scratch)).read_bytes()
        with lane(processes, os.getpid(), Path(scratch)) as phones:
            bench = _Bench(lane=phones, compiled=compiled)
            for each in _measures(bench):
                say(f"  {each.what}: {each.seen} (to reach: {each.target})")
                found.append(each)
    return tuple(found)


def _measures(bench: _Bench) -> Iterator[Measure]:
    for fault, word in (("kill", "dead"), ("freeze", "frozen"), ("mute", "silent")):
        seen_s = bench.noticed_in_run(fault)
        yield _at_most(
            f"a phone that is {word} while a program runs is noticed", _NOTICED_S, seen_s
        )
    seen_s = bench.noticed_in_push("freeze")
    yield _at_most("a phone that freezes while 10 MB are pushed is noticed", _NOTICED_S, seen_s)
    for fault, word in (("mute", "silent"), ("unplug", "unplugged")):
        yield bench.recovered(fault, word)
    yield from bench.killed()
    yield from bench.ended()
    yield bench.four_jobs()


def _at_most(what: str, most_s: float, seen_s: float) -> Measure:
    return Measure(
        what=what, target=f"≤ {most_s:.0f} s", seen=f"{seen_s:.1f} s", met=seen_s <= most_s
    )


@dataclass(slots=True, kw_only=True)
class _Bench:
    lane: Lane
    compiled: bytes
    count: int = 0

    def _make_spec(self, tenths: int, size_bytes: int = 300_000) -> RunSpec:
        self.count += 1
        folder = self.lane.scratch / f"measure-{self.count}"
        files = write_files(
            folder,
            self.compiled,
            Plant.SOUND,
            self.count,
            tenths=tenths,
            size_bytes=size_bytes,
        )
        return RunSpec(
            program=files.plain,
            model=files.model,
            arguments=(),
            inputs={},
            threads=1,
            timeout_s=120.0,
        )

    def _state(self) -> Path:
        self.count += 1
        return self.lane.scratch / f"state-{self.count}"

    def noticed_in_run(self, fault: str) -> float:
        request = self._make_spec(_LONG_TENTHS)
        return self._noticed(request, fault, {"moment": "run", "delay_s": 2.0})

    def noticed_in_push(self, fault: str) -> float:
        request = self._make_spec(10, _PAYLOAD_BYTES)
        return self._noticed(request, fault, {"moment": "push", "nth": 2, "after_bytes": 1_000_000})

    def _noticed(self, request: RunSpec, fault: str, moment: dict[str, Any]) -> float:
        phone = self.lane.first
        phone.fault("reset")
        phone.fault(fault, **moment)
        hit = Clock(lambda: bool(phone.status()["happened"]))
        device = self.lane.device(self._state(), Timeouts(), spare=False)
        shown_s = hit_s = 0.0
        try:
            with device.reserve() as lease:
                try:
                    run_on(lease, request)
                finally:
                    # The count stops before anything is mended.
                    shown_s = time.monotonic()
                    hit_s = hit.stopped() or shown_s
                    phone.fault("reset")
        except InfrastructureFailure:
            return shown_s - hit_s
        msg = f"{fault}: no one noticed"
        raise AssertionError(msg)

    def recovered(self, fault: str, word: str) -> Measure:
        request = self._make_spec(10)
        phone = self.lane.first
        phone.fault("reset")
        phone.fault(fault, moment="run", delay_s=0.3, for_s=_LOST_S)
        device = self.lane.device(self._state(), Timeouts(), spare=False)
        start, text = time.monotonic(), "given up"
        tries = []

        def work(lease: Lease) -> int:
            tries.append(lease.name)
            return run_on(lease, request).run.rc

        try:
            rc = run_with_retries(device, work, say=_ignore)
            text = f"ended with {rc}, at try {len(tries)}, after {time.monotonic() - start:.0f} s"
        except InfrastructureFailure as failure:
            rc, text = -1, f"given up: {failure.message}"
        self.lane.mend(Timeouts(), enter=False)
        what = f"a link that is {word} for 30 s under a run, one phone, no one helps"
        return Measure(what=what, target="the run is delivered", seen=text, met=rc == 0)

    def killed(self) -> Iterator[Measure]:
        state, phone = self._state(), self.lane.first
        phone.fault("reset")
        with self._job(state, _LONG_TENTHS, spare=False) as job:
            self._await_program(job)
            os.kill(job.process.pid, signal.SIGINT)
            _await(lambda: not job.process.alive())
        yield _none_left("a job that was cancelled (Ctrl-C)", self.lane.left())
        with self._job(state, _LONG_TENTHS, spare=False) as job:
            self._await_program(job)
            device = self.lane.device(state, Timeouts(), spare=False)
            os.kill(job.process.pid, signal.SIGKILL)
            start = time.monotonic()
            with device.reserve() as lease:
                freed_s = time.monotonic() - start
                with lease.open():
                    left, runs = self.lane.left(), self._programs()
        yield _at_most("the lock of a holder that got kill -9 is free", _FREED_S, freed_s)
        # The one that is there is the next job's own.
        gone = (*left[1:], *("its program" for _ in range(runs)))
        yield _none_left("a holder that got kill -9, once the next job has entered", gone)

    def ended(self) -> Iterator[Measure]:
        request = self._make_spec(1)
        for what, model_bytes in (("went well", b""), ("failed by itself", b"no model")):
            if model_bytes:
                request.model.write_bytes(model_bytes)
            device = self.lane.device(self._state(), Timeouts(), spare=False)
            rc = run_with_retries(device, lambda lease: run_on(lease, request).run.rc, say=_ignore)
            yield _none_left(f"a run that {what} (exit status {rc})", self.lane.left())

    def four_jobs(self) -> Measure:
        state = self._state()
        with ExitStack() as stack:
            started = (self._job(state, _JOB_TENTHS, spare=True) for _ in range(4))
            jobs = [stack.enter_context(job) for job in started]
            _await(lambda: not any(job.process.alive() for job in jobs))
        reported = [job.done() for job in jobs]
        problems = crossed(reported)
        leases = ", ".join(str(each["lease"]).partition("-")[0] for each in reported)
        text = "; ".join(problems) or f"on {leases}; each got its own output"
        return Measure(
            what="two phones, four jobs at once, each a process of its own",
            target="no cross-talk, each job on one phone",
            seen=text,
            met=not problems,
        )

    @contextmanager
    def _job(self, state: Path, tenths: int, *, spare: bool) -> Iterator[Job]:
        request = self._make_spec(tenths)
        phones = (self.lane.first, self.lane.second) if spare else (self.lane.first,)
        out = self.lane.scratch / f"job-{self.count}"
        reported = JobOrder(
            serials={phone.name: phone.serial for phone in phones},
            state=str(state),
            program=str(request.program),
            model=str(request.model),
            out=str(out),
        )
        env = {"PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS.parent / "ci")))}
        log = out.with_suffix(".log")
        command = Command(argv=reported.argv(), env=env, timeout_s=_WAIT_S, log=log)
        with self.lane.processes.background(command) as process:
            yield Job(process=process, out=str(out))

    def _await_program(self, job: Job) -> None:
        _await(lambda: Path(job.out + GOT).exists())
        _await(lambda: self._programs() > 0)

    def _programs(self) -> int:
        listing = self.lane.shell(self.lane.first, "ps -A -o ARGS")
        lines = (line for line in listing.splitlines() if not line.startswith("sh "))
        return sum("./load_and_run " in line for line in lines)


def _none_left(after: str, left: Sequence[str]) -> Measure:
    seen = ", ".join(left) or "0"
    return Measure(what=f"left on the phone after {after}", target="0", seen=seen, met=not left)


def _await(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not so():
        if time.monotonic() > deadline:
            msg = "waited in vain"
            raise AssertionError(msg)
        time.sleep(_LOOK_S)


def _ignore(_text: str) -> None:
    """Ignore reports of a wait."""
