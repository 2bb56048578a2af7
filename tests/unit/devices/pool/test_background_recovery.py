"""A machine that fails is recovered in the background; its job continues on another at once."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from megtrim.devices.device import Lease
from megtrim.devices.pool.device_pool import Pool, make_pool
from megtrim.devices.pool.machine import ConnectionState, Machine, NoUsableMachine
from megtrim.devices.pool.quarantine import Author
from megtrim.devices.pool.queue import Queue
from megtrim.devices.pool.recovery import BackgroundRecovery, answers
from megtrim.devices.pool.status import MachineState
from megtrim.devices.retry import run_with_retries
from megtrim.errors import InfrastructureFailure, InputError
from megtrim.process import Command, ProcessRunner
from support.waiting import until
from unit.devices.machines import QUICK, Clock, FakeMachine, make_spec

IMPATIENT = replace(QUICK, call_s=1.0)


@dataclass(eq=False)
class Frozen(FakeMachine):
    """Gives no answer, not even that it has none, until it is let go."""

    gate: threading.Event = field(default_factory=threading.Event)
    kind: str = "fake"

    late_s: float = 0.0
    """How long every answer takes."""
    asking: int = 0
    most: int = 0
    """How often it was asked at once."""

    def alive(self) -> bool:
        self.asking += 1
        self.most = max(self.most, self.asking)
        self.gate.wait(600)
        time.sleep(self.late_s)
        self.asking -= 1
        return super().alive()


class Lab:
    """Two phones that answer nothing until a test lets them."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.one = Frozen("one", tmp_path / "runs", answers=False)
        self.two = Frozen("two", tmp_path / "runs", answers=False)
        self.attached: list[FakeMachine] = [self.one, self.two]
        self.said: list[str] = []

    def pool(self, say_every_s: float = 0.03) -> Pool:
        timeouts = replace(IMPATIENT, say_every_s=say_every_s)
        asked = make_spec(self.tmp_path, said=self.said, timeouts=timeouts)
        return make_pool(asked, kind="fake", find=self.find)

    def find(self) -> Sequence[Machine]:
        return list(self.attached)

    def states(self) -> dict[str, MachineState]:
        return {each.name: each.state for each in self.pool().read_statuses()}

    def text(self, name: str) -> str:
        pool = self.pool()
        return next(
            each.text(pool.shared.now()) for each in pool.read_statuses() if each.name == name
        )


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def works(machine: Frozen) -> None:
    machine.answers = True
    machine.gate.set()


def test_a_frozen_machine_is_left_to_its_care(lab: Lab) -> None:
    """The job is done before anybody knows what is wrong; meanwhile no one else gets it."""
    works(lab.two)
    with lab.pool().reserve() as lease:
        assert lease is lab.two
        until(lambda: "being brought back" in lab.text("one"), "the care")
        assert lab.states() == {"one": MachineState.HELD, "two": MachineState.HELD}
    assert lab.states() == {"one": MachineState.HELD, "two": MachineState.FREE}

    lab.one.gate.set()
    until(lambda: lab.states()["one"] is MachineState.QUARANTINED, "a quarantine")
    put = lab.pool().shared.records.read(lab.one.key).quarantine
    assert put is not None
    assert put.reason.startswith("found attached and does not answer; does not answer (reconn")
    until(lambda: lab.pool().read_statuses()[0].holder is None, "its lock")
    assert lab.said[0] == (
        "  recover  one: it is attached and does not answer; another one is used meanwhile"
    )
    assert lab.said.count(lab.said[0]) == 1
    assert lab.one.most == 1


def test_a_machine_that_only_was_slow_is_free_again(lab: Lab) -> None:
    """It answers after all: no step of the recovery is taken."""
    works(lab.two)
    with lab.pool().reserve():
        pass
    works(lab.one)

    until(lambda: lab.states()["one"] is MachineState.FREE, "the end of the care")
    assert lab.one.calls == ["alive", "alive"]
    assert len(lab.said) == 1


def test_a_job_whose_machine_failed_goes_on_at_once(lab: Lab) -> None:
    """Its second attempt is over while the first machine is still asked whether it lives."""
    works(lab.one)
    works(lab.two)
    seen: list[str] = []

    def work(lease: Lease) -> str:
        seen.append(lease.name)
        if lease is lab.two:
            return "done"
        lab.one.gate.clear()
        lab.one.answers = False
        msg = "link lost"
        raise InfrastructureFailure(msg)

    assert run_with_retries(lab.pool(), work, say=lab.said.append) == "done"
    assert seen == ["one", "two"]
    assert lab.states() == {"one": MachineState.HELD, "two": MachineState.FREE}

    lab.one.gate.set()
    until(lambda: lab.states()["one"] is MachineState.QUARANTINED, "a quarantine")
    put = lab.pool().shared.records.read(lab.one.key).quarantine
    assert put is not None
    assert put.reason.startswith("link lost; does not answer (reconnected; ")


def test_a_machine_that_others_hold_is_waited_for(lab: Lab) -> None:
    """Its job will end; no one knows that of a machine that does not answer."""
    works(lab.two)
    got: list[Lease] = []

    def wait() -> None:
        with lab.pool().reserve() as lease:
            got.append(lease)

    standing = lab.pool().read_statuses()[1]
    with lab.pool().hold(standing):
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        until(lambda: any(line.startswith("waiting for phones") for line in lab.said), "a wait")
        assert got == []
    waiting.join(10)
    assert got == [lab.two]


@pytest.mark.parametrize("late_s", [0.0, 0.4])
def test_a_machine_that_is_back_sooner_is_taken(lab: Lab, late_s: float) -> None:
    """Sooner than another one that is held; the second time it is asked in peace."""
    got: list[Lease] = []
    lab.one.late_s = late_s

    def wait() -> None:
        with lab.pool(say_every_s=60.0).reserve() as lease:
            got.append(lease)

    with lab.pool().hold(lab.pool().read_statuses()[1]):
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        until(lambda: any(line.startswith("waiting for phones") for line in lab.said), "a wait")
        works(lab.one)
        waiting.join(5)
        assert got == [lab.one]
    assert sum("another one is used" in line for line in lab.said) == 1


def test_where_no_machine_is_left_the_care_is_waited_for(lab: Lab) -> None:
    """Both are dead: the second is recovered at once, the first in the background; both end."""
    failures: list[NoUsableMachine] = []

    def wait() -> None:
        try:
            with lab.pool().reserve():
                pass
        except NoUsableMachine as failure:
            failures.append(failure)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    until(lambda: "being brought back" in lab.text("one"), "the care of the first")
    lab.two.gate.set()
    until(lambda: lab.states()["two"] is MachineState.QUARANTINED, "a quarantine of the second")
    assert failures == []
    lab.one.gate.set()
    waiting.join(10)

    assert "  recover  two: it is attached and does not answer" in lab.said
    assert "one: quarantined" in failures[0].message
    assert "two: quarantined" in failures[0].message


def test_a_job_gets_the_last_machine_when_its_care_helped(lab: Lab) -> None:
    """The other one was given up meanwhile."""
    lab.two.gate.set()
    lab.one.cured_by = "reconnect"
    got: list[Lease] = []

    def wait() -> None:
        with lab.pool().reserve() as lease:
            got.append(lease)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    until(lambda: lab.states()["two"] is MachineState.QUARANTINED, "a quarantine of the second")
    lab.one.gate.set()
    waiting.join(10)
    assert got == [lab.one]
    assert "  recover  one: it answers again" in lab.said


def test_the_only_machine_is_cared_for_in_the_foreground(lab: Lab) -> None:
    """The job has nowhere to go; nothing is held when it learns that."""
    lab.attached = [lab.one]
    lab.one.gate.set()
    pool = lab.pool()
    with pytest.raises(NoUsableMachine), pool.reserve():
        pass
    assert pool.background.keys == frozenset()
    assert lab.states() == {"one": MachineState.QUARANTINED}
    assert lab.said[0] == "  recover  one: it is attached and does not answer"


def test_care_that_is_not_possible_frees_the_machine(lab: Lab) -> None:
    """Such as without an adb server: that is no fault of the machine, and no quarantine."""
    works(lab.two)
    with lab.pool().reserve():
        until(lambda: "being brought back" in lab.text("one"), "the care")

        def gone() -> ConnectionState:
            msg = "no adb server"
            raise InfrastructureFailure(msg)

        lab.one.presence = gone  # type: ignore[method-assign]
        lab.one.gate.set()
        until(lambda: "  recover  one: not possible: no adb server" in lab.said, "the news")
    del lab.one.presence
    until(lambda: lab.states() == {"one": MachineState.FREE, "two": MachineState.FREE}, "its lock")


def test_a_machine_put_aside_during_the_wait_is_not_used(lab: Lab) -> None:
    """Whatever the last look at all of them said."""
    works(lab.one)
    works(lab.two)
    got: list[Lease] = []

    def wait() -> None:
        asked = make_spec(lab.tmp_path, said=lab.said, timeouts=replace(QUICK, say_every_s=60.0))
        with make_pool(asked, kind="fake", find=lab.find).reserve() as lease:
            got.append(lease)

    pool = lab.pool()
    with pool.hold(pool.read_statuses()[1]), pool.hold(pool.read_statuses()[0]):
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        until(lambda: any(line.startswith("waiting for phones") for line in lab.said), "a wait")
        pool.shared.records.quarantine(lab.one.key, "one", "it burns", Author.PERSON)
    waiting.join(10)
    assert got == [lab.two]


ENDING = """
import os, sys, threading
from pathlib import Path
from megtrim.devices.pool.device_pool import make_pool
from unit.devices.machines import FakeMachine, make_spec

class Frozen(FakeMachine):
    def alive(self):
        threading.Event().wait()

folder = Path(sys.argv[1])
machines = [Frozen("one", folder), FakeMachine("two", folder)]
with make_pool(make_spec(folder), kind="fake", find=lambda: machines).reserve() as lease:
    print(lease.name, flush=True)
    {end}
"""


@pytest.mark.parametrize(
    ("end", "rc"),
    [("pass", 0), ("raise KeyboardInterrupt", 130), ("os.kill(os.getpid(), 9)", 137)],
)
def test_the_end_of_the_process_frees_what_is_cared_for(tmp_path: Path, end: str, rc: int) -> None:
    """It waits for no care, and leaves nothing that is half written."""
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    argv = (sys.executable, "-c", ENDING.replace("{end}", end), str(tmp_path))
    outcome = ProcessRunner(env).run(Command(argv=argv, timeout_s=20.0))

    assert not outcome.timed_out
    assert (outcome.rc, outcome.stdout) == (rc, "two\n"), outcome.stderr
    assert "Fatal" not in outcome.stderr
    state = tmp_path / "state"
    queue = Queue(state, Clock())
    assert (queue.holder("fake:one"), queue.holder("fake:two")) == (None, None)
    assert queue.tickets() == ()
    assert not list(state.rglob("*.tmp"))


def test_nothing_is_reported_after_the_end_of_the_process() -> None:
    """Its streams are being closed then."""
    said: list[str] = []
    companion = BackgroundRecovery(said.append)
    companion.say("a")
    companion._end()
    companion.say("b")
    assert said == ["a"]


def test_who_cannot_be_asked_does_not_answer(tmp_path: Path) -> None:
    """The recovery reports what is missing, because it asks again."""

    class Unaskable(FakeMachine):
        def alive(self) -> bool:
            msg = "there is no program"
            raise InputError(msg)

    assert answers(FakeMachine("one", tmp_path), 10.0) is None
    ended = answers(Unaskable("two", tmp_path), 10.0)
    assert ended is not None
    ended()
