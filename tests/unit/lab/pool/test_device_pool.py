import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from megtrim.lab.pool.device_pool import (
    MachineState,
    MachineStatus,
    Pool,
    age,
    make_pool,
    merge_devices,
    open_pool_state,
    report_wait,
)
from megtrim.lab.pool.leases import Holder, slug
from megtrim.lab.pool.recovery import UNAUTHORIZED, Author, Quarantine
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.device import (
    ConnectionState,
    Lease,
    Machine,
    MachineBusy,
    NoUsableMachine,
    Timeouts,
)
from megtrim.places.devices.local import Local
from megtrim.places.devices.retry import run_with_retries
from support.clock import until
from unit.places.devices.machines import NOON, QUICK, Clock, FakeMachine, make_spec


class Lab:
    """Two phones, and pools of them as several jobs would make them."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.one = FakeMachine("one", tmp_path / "runs")
        self.two = FakeMachine("two", tmp_path / "runs")
        self.attached: list[FakeMachine] = [self.one, self.two]
        self.clock = Clock()
        self.said: list[str] = []

    def pool(self, name: str = "phones", said: list[str] | None = None) -> Pool:
        asked = make_spec(
            self.tmp_path, name=name, now=self.clock, said=self.said if said is None else said
        )
        return make_pool(asked, kind="fake", find=self.find)

    def find(self) -> Sequence[Machine]:
        return list(self.attached)

    def put_aside(self) -> Quarantine:
        put = self.pool().shared.records.read(self.one.key).quarantine
        assert put is not None
        return put

    def states(self) -> dict[str, MachineState]:
        return {each.name: each.state for each in self.pool().read_statuses()}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def failing(_lease: Lease) -> str:
    msg = "link lost"
    raise InfrastructureFailure(msg)


def test_two_jobs_get_two_machines_and_give_them_back(lab: Lab) -> None:
    with lab.pool().reserve() as first:
        assert lab.states() == {"one": MachineState.HELD, "two": MachineState.FREE}
        with lab.pool().reserve() as second:
            assert (first, second) == (lab.one, lab.two)

    assert lab.states() == {"one": MachineState.FREE, "two": MachineState.FREE}
    assert lab.said == []


def test_a_wait_is_reported_and_ends(lab: Lab) -> None:
    lab.attached = [lab.one]
    said: list[str] = []
    got: list[Lease] = []

    def wait() -> None:
        with lab.pool("pixel-6", said).reserve() as lease:
            got.append(lease)

    with lab.pool().reserve():
        lab.clock.pass_(minutes=4)
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        until(lambda: said, "a word about the wait")
        standing = lab.pool().read_statuses()[0]
    waiting.join(10)

    assert got == [lab.one]
    assert said[0] == f"waiting for pixel-6: held by {standing.holder} for 4 min"
    assert standing.text(lab.clock()) == f"held: by {standing.holder} since 12:00:00 UTC"


def test_a_wait_that_is_too_long_ends_with_the_holder(lab: Lab) -> None:
    asked = make_spec(lab.tmp_path, timeouts=replace(QUICK, wait_s=0.3))
    pool = make_pool(asked, kind="fake", find=lab.find)
    with (
        lab.pool().reserve(),
        lab.pool().reserve(),
        pytest.raises(
            InfrastructureFailure, match=r"phones: waited 0 s .* held by .* \(pid \d+\) for 0 s"
        ),
    ):
        run_with_retries(pool, lambda lease: lease.name, say=lab.said.append)
    assert lab.said == []


def test_a_dead_machine_is_put_aside_and_the_job_goes_to_another(lab: Lab) -> None:
    lab.one.answers = False
    with lab.pool().reserve() as lease:
        assert lease is lab.two

    put = lab.put_aside()
    assert (put.by, put.since) == (Author.MACHINE, NOON)
    assert put.reason.startswith(
        "found attached and does not answer; does not answer (reconnected; waited 0 s; rebooted;"
    )
    with lab.pool().reserve() as lease:
        assert lease is lab.two
    assert lab.states() == {"one": MachineState.QUARANTINED, "two": MachineState.FREE}


def test_a_machine_that_comes_back_is_used(lab: Lab) -> None:
    lab.attached = [lab.one]
    lab.one.attached = ConnectionState.OFFLINE
    lab.one.cured_by = "reconnect"
    with lab.pool().reserve() as lease:
        assert lease is lab.one

    assert lab.said == [
        "  recover  one: it is offline",
        "  recover  one: reconnected",
        "  recover  one: it answers again",
    ]


def test_a_job_that_fails_is_tried_on_another_machine(lab: Lab) -> None:
    seen: list[str] = []

    def work(lease: Lease) -> str:
        seen.append(lease.name)
        return lease.name if len(seen) > 1 else failing(lease)

    assert run_with_retries(lab.pool(), work, say=lab.said.append) == "two"
    assert seen == ["one", "two"]
    assert lab.states() == {"one": MachineState.FREE, "two": MachineState.FREE}
    assert "  again one failed (link lost); attempt 2" in lab.said


def test_a_machine_that_dies_under_a_job_is_put_aside_while_it_is_held(lab: Lab) -> None:
    lab.attached = [lab.one]

    def work(lease: Lease) -> None:
        lab.one.answers = False
        failing(lease)

    with pytest.raises(InfrastructureFailure) as failure:
        run_with_retries(lab.pool(), work, say=lab.said.append)

    assert lab.put_aside().reason.startswith("link lost; does not answer (reconnected; ")
    assert len(failure.value.attempts) == 2
    assert failure.value.attempts[0] == "one: link lost"
    assert failure.value.attempts[1].startswith(
        "phones: no device of phones can be used: one: quarantined: since 2026-05-04 12:00 UTC"
    )


def test_a_machine_that_works_is_asked_for_another_job_first_thing(lab: Lab) -> None:
    """Its life is not asked for again in the same process: each call costs time."""
    lab.attached = [lab.one]
    pool = lab.pool()
    for _ in range(3):
        with pool.reserve():
            pass
    assert lab.one.calls == ["alive"]


def test_a_machine_that_failed_is_asked_again_whether_it_lives(lab: Lab) -> None:
    pool = lab.pool()
    with pytest.raises(InfrastructureFailure), pool.reserve() as lease:
        failing(lease)
    with pool.reserve() as lease:
        assert lease is lab.two
    with pool.reserve() as lease:
        assert lease is lab.one
    assert lab.one.calls == ["alive", "alive", "alive"]


def test_what_is_no_fault_of_the_machine_does_not_touch_it(lab: Lab) -> None:
    for error in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(error), lab.pool().reserve():
            raise error
    assert lab.one.calls == ["alive", "alive"]
    assert lab.states()["one"] is MachineState.FREE


def test_an_unauthorized_phone_is_put_aside_at_once(lab: Lab) -> None:
    lab.one.attached = ConnectionState.UNAUTHORIZED
    with lab.pool().reserve() as lease:
        assert lease is lab.two

    assert lab.put_aside().reason == UNAUTHORIZED
    assert lab.one.calls == []


def test_a_phone_that_is_elsewhere_is_skipped(lab: Lab) -> None:
    lab.one.attached = ConnectionState.ABSENT
    with lab.pool().reserve() as lease:
        assert lease is lab.two
    lab.two.attached = ConnectionState.ABSENT

    with (
        pytest.raises(NoUsableMachine, match="one: not found; two: not found"),
        lab.pool().reserve(),
    ):
        pass
    assert lab.one.calls == []
    assert lab.states() == {"one": MachineState.ABSENT, "two": MachineState.ABSENT}


def test_a_phone_that_was_here_a_moment_ago_may_come_back(lab: Lab) -> None:
    """The server reconnects; one that was unplugged works again when it is attached."""
    lab.attached = [lab.one]
    pool = lab.pool()
    with pool.reserve():
        pass
    lab.one.attached = ConnectionState.ABSENT
    lab.one.cured_by = "reconnect"
    with pool.reserve() as lease:
        assert lease is lab.one

    lab.one.attached = ConnectionState.ABSENT
    lab.one.cured_by = ""
    with pytest.raises(NoUsableMachine), pool.reserve():
        pass
    lab.one.attached = ConnectionState.READY
    with pool.reserve() as lease:
        assert lease is lab.one


def test_nothing_is_attached(lab: Lab) -> None:
    lab.attached = []
    with pytest.raises(NoUsableMachine) as failure, lab.pool("pixel-6").reserve():
        pass
    assert failure.value.message == "no device of pixel-6 can be used: pixel-6: not found"


@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [
        (
            InfrastructureFailure("no adb server"),
            NoUsableMachine,
            "phones: not found: no adb server",
        ),
        (InputError("there is no program 'adb'"), InputError, "no program"),
    ],
    ids=["no server", "no tool"],
)
def test_where_no_one_can_look_that_is_the_reason(
    lab: Lab, error: Exception, raised: type[Exception], said: str
) -> None:
    """A tool that is missing is for the person who called to get."""

    def find() -> Sequence[Machine]:
        raise error

    pool = make_pool(make_spec(lab.tmp_path), kind="fake", find=find)
    with pytest.raises(raised, match=said), pool.reserve():
        pass


def test_what_the_job_failed_of_is_what_counts(lab: Lab) -> None:
    lab.attached = [lab.one]

    def gone() -> ConnectionState:
        msg = "no adb server"
        raise InfrastructureFailure(msg)

    with pytest.raises(InfrastructureFailure, match="link lost"), lab.pool().reserve() as lease:
        lab.one.presence = gone  # type: ignore[method-assign]
        failing(lease)
    assert lab.said == ["  recover  one: not possible: no adb server"]


def test_a_quarantine_that_cannot_be_noted_ends_nothing(lab: Lab) -> None:
    lab.one.answers = lab.two.answers = False
    (lab.tmp_path / "state" / "machines").mkdir(parents=True)
    for machine in (lab.one, lab.two):
        (lab.tmp_path / "state" / "machines" / f"{slug(machine.key)}.lock").mkdir()

    with pytest.raises(NoUsableMachine), lab.pool().reserve():
        pass
    assert sum("cannot be noted" in line for line in lab.said) == 2


def test_a_damaged_record_costs_its_machine_alone(lab: Lab) -> None:
    record = lab.tmp_path / "state" / "machines" / f"{slug(lab.one.key)}.json"
    record.parent.mkdir(parents=True)
    record.write_text("{", encoding="utf-8")

    with lab.pool().reserve() as lease:
        assert lease is lab.two
    standing = lab.pool().read_statuses()[0]
    assert standing.state is MachineState.DAMAGED
    assert standing.text(NOON).startswith(f"unknown: {record}: Invalid JSON")
    assert record.read_text(encoding="utf-8") == "{"


def test_those_who_wait_learn_that_the_machine_was_put_aside(lab: Lab) -> None:
    lab.attached = [lab.one]
    failures: list[NoUsableMachine] = []

    def wait() -> None:
        try:
            with lab.pool().reserve():
                pass
        except NoUsableMachine as failure:
            failures.append(failure)

    with lab.pool().reserve():
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        until(lambda: lab.said, "someone who waits")
        lab.pool().shared.records.quarantine(lab.one.key, "one", "it burns", Author.PERSON)
        until(lambda: failures, "the news")
    waiting.join(10)

    assert "by a person because it burns" in failures[0].message


def test_a_machine_can_be_held_for_care_in_quarantine(lab: Lab) -> None:
    pool = lab.pool()
    pool.shared.records.quarantine(lab.one.key, "one", "it burns", Author.MACHINE)
    standing = pool.read_statuses()[0]
    with pool.hold(standing) as machine:
        assert machine is lab.one
        with pytest.raises(MachineBusy, match=r"held by .* \(pid"), pool.hold(standing, wait=False):
            pass
    with pool.hold(standing, wait=False):
        pass


def test_pools_of_a_class_become_one(lab: Lab) -> None:
    left = make_pool(make_spec(lab.tmp_path, name="a"), kind="fake", find=lambda: [lab.one])
    right = make_pool(make_spec(lab.tmp_path, name="b"), kind="fake", find=lambda: [lab.two])
    both = merge_devices([left, right])

    assert isinstance(both, Pool)
    assert (both.name, both.kind, both.retries) == ("armv82-pool", "fake", 2)
    assert both.identity() == {"kind": "fake", "class": "armv82", "devices": "a, b"}
    assert both.facts() == {"devices": "a, b", "class": "armv82"}
    with both.reserve() as first, both.reserve() as second:
        assert {first, second} == {lab.one, lab.two}
    assert merge_devices([left]) is left


def test_this_machine_stands_for_itself(lab: Lab, tmp_path: Path) -> None:
    """It is never busy, so it needs no pool."""
    local = Local("here", ProcessRunner({}), tmp_path)
    assert merge_devices([local, lab.pool()]) is local
    assert isinstance(merge_devices([lab.pool(), local]), Pool)


def test_a_wait_names_who_holds_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    shared = open_pool_state(make_spec(tmp_path, said=said, timeouts=Timeouts()))
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    since = NOON - timedelta(minutes=3)
    holders = [
        Holder(pid=7, since=since, name="o/r run 5"),
        Holder(pid=0, since=since, name="an unknown process"),
    ]
    held = "held by o/r run 5 (pid 7) for 3 min; an unknown process for 3 min"
    reporter = report_wait("phones", shared)
    for passed_s in (0.0, 1.0, shared.timeouts.say_every_s):
        clock[0] = 100.0 + passed_s
        reporter(holders)
    assert said == [f"waiting for phones: {held}"] * 2

    clock[0] = 100.0 + shared.timeouts.wait_s
    with pytest.raises(MachineBusy) as busy:
        reporter(holders)
    assert busy.value.message == f"phones: waited 20 min for a device that is {held}"
    assert busy.value.exit_code == 3


FREE = MachineStatus(
    entry="phones",
    name="pixel-6",
    kind="adb",
    key="adb:A1",
    machine=None,
    presence=ConnectionState.READY,
)
QUARANTINE = Quarantine(reason="it is old", since=NOON - timedelta(hours=3), by=Author.PERSON)
OWNER = Holder(pid=12, since=NOON, name="ci")
OFFLINE = ConnectionState.OFFLINE


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, MachineState.FREE),
        ({"holder": OWNER}, MachineState.HELD),
        ({"presence": ConnectionState.ABSENT}, MachineState.ABSENT),
        ({"presence": OFFLINE, "holder": OWNER}, MachineState.OFFLINE),
        ({"presence": ConnectionState.UNAUTHORIZED}, MachineState.UNAUTHORIZED),
        ({"presence": OFFLINE, "quarantine": QUARANTINE}, MachineState.QUARANTINED),
        ({"quarantine": QUARANTINE, "detail": "damaged"}, MachineState.DAMAGED),
        ({"key": "", "detail": "no adb", "presence": ConnectionState.ABSENT}, MachineState.ABSENT),
    ],
)
def test_the_most_important_comes_first(changes: dict[str, Any], state: MachineState) -> None:
    assert replace(FREE, **changes).state is state


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "free"),
        ({"holder": OWNER}, "held: by ci (pid 12) since 12:00:00 UTC"),
        (
            {"quarantine": QUARANTINE, "holder": OWNER},
            (
                "quarantined: since 2026-05-04 09:00 UTC (3 h) by a person because it is old, "
                "held by ci (pid 12) since 12:00:00 UTC"
            ),
        ),
        ({"presence": OFFLINE}, "offline"),
        ({"detail": "m.json: damaged"}, "unknown: m.json: damaged"),
    ],
)
def test_the_line_says_why(changes: dict[str, Any], text: str) -> None:
    assert replace(FREE, **changes).text(NOON) == text


@pytest.mark.parametrize(
    ("lasted", "text"),
    [
        (timedelta(seconds=-5), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=119), "1 h"),
        (timedelta(hours=24), "1 day"),
        (timedelta(hours=49), "2 days"),
    ],
)
def test_an_age_is_in_the_largest_unit_that_fits(lasted: timedelta, text: str) -> None:
    assert age(lasted) == text
