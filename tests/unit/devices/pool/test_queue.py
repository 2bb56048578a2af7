"""The queue: who gets which machine, and when. Real processes are in the integration tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.devices.pool.queue import Queue, QueuePosition, QueueSlot, assign
from megtrim.devices.pool.state_dir import lock_file
from megtrim.errors import InfrastructureFailure, InputError
from support.waiting import until
from unit.devices.machines import NOON, Clock

KEYS = st.sampled_from("ABCD")
_LONGER_THAN_ALL_S = 600.0
"""A job that went by itself would bring what a test waits for."""
TICKETS = st.dictionaries(st.integers(1, 99), st.lists(KEYS, max_size=4).map(tuple), max_size=6)


@pytest.mark.parametrize(
    ("tickets", "free", "given_out"),
    [
        ({1: ("A",), 2: ("A",)}, {"A"}, {1: "A"}),
        ({2: ("A",), 1: ("A",)}, {"A"}, {1: "A"}),
        ({1: ("A", "B"), 2: ("A", "B")}, {"A", "B"}, {1: "A", 2: "B"}),
        ({1: ("B", "A"), 2: ("A", "B")}, {"A", "B"}, {1: "B", 2: "A"}),
        ({1: ("A",), 2: ("B",)}, {"B"}, {2: "B"}),
        ({1: ("A", "B"), 2: ("B",)}, {"B"}, {1: "B"}),
        ({1: ()}, {"A"}, {}),
        ({}, {"A"}, {}),
    ],
)
def test_in_order_of_arrival_each_gets_the_first_that_is_free(
    tickets: dict[int, tuple[str, ...]], free: set[str], given_out: dict[int, str]
) -> None:
    """No one who wants something else waits for them."""
    assert assign(tickets, free) == given_out


@given(tickets=TICKETS, free=st.sets(KEYS))
def test_no_one_is_overtaken(tickets: dict[int, tuple[str, ...]], free: set[str]) -> None:
    """No machine goes to two, and none to a later one while an earlier one wants it."""
    given_out = assign(tickets, free)

    assert len(set(given_out.values())) == len(given_out)
    for number, key in given_out.items():
        assert key in free
        assert key in tickets[number]
        earlier = [n for n in tickets if n < number and key in tickets[n]]
        assert all(n in given_out for n in earlier)
    for number in tickets.keys() - given_out.keys():
        assert set(tickets[number]) & free <= set(given_out.values())


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path, Clock())


def wanting(*keys: str) -> Callable[[], Sequence[str]]:
    return lambda: keys


def test_a_machine_can_be_kept_when_the_block_is_left(queue: Queue) -> None:
    """By whoever was handed the lock, and people see what for."""
    with queue.acquire("a phone", wanting("A")) as slot:
        lock = slot.lock.hand_over()
    queue.mark_recovering("A", lock)
    holder = queue.holder("A")
    assert holder is not None
    assert (holder.pid, holder.recovering) == (os.getpid(), True)

    lock.release()
    lock.release()
    assert queue.holder("A") is None
    with queue.acquire("a phone", wanting("A")):
        assert (mine := queue.holder("A")) is not None
        assert not mine.recovering


def test_a_machine_is_held_until_the_block_is_left(queue: Queue) -> None:
    """Everyone can see by whom, and since when."""
    with queue.acquire("a phone", wanting("A")) as slot:
        assert (slot.key, slot.number) == ("A", 1)
        holder = queue.holder("A")
        assert holder is not None
        assert (holder.pid, holder.since, holder.key) == (os.getpid(), NOON, "A")
        assert queue.tickets() == ()

    assert queue.holder("A") is None
    assert queue.holder("never seen") is None


def test_a_machine_is_free_although_a_child_has_its_file(queue: Queue) -> None:
    """A program that was started at that moment holds every open file until it runs."""
    with queue.acquire("a phone", wanting("A")) as slot:
        childs = os.dup(slot.lock.descriptor)
    try:
        assert queue.holder("A") is None
    finally:
        os.close(childs)


def test_a_machine_that_someone_was_quicker_to_take_is_waited_for(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It seemed to be free when it was looked at."""
    holding = Job(queue, "A")
    until(lambda: holding.slot, "the first")
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "_holder", lambda _queue, _key: None)
        second = Job(queue, "A")
        until(lambda: len(second.waits) > 1, "two looks of the second")

    assert second.slot is None
    holding.leave()
    until(lambda: second.slot, "the second's turn")
    second.leave()


def test_a_failing_job_frees_its_machine(queue: Queue) -> None:
    """And the error goes its way."""
    with pytest.raises(ZeroDivisionError), queue.acquire("a phone", wanting("A")):
        raise ZeroDivisionError

    assert queue.holder("A") is None


class Job(threading.Thread):
    """A job of this process that takes a machine and keeps it until it is asked to leave."""

    def __init__(self, queue: Queue, *keys: str, number: int | None = None) -> None:
        super().__init__(daemon=True)
        self.queue, self.keys, self.number = queue, keys, number
        self.slot: QueueSlot | None = None
        self.waits: list[QueuePosition] = []
        self.enough = threading.Event()
        self.start()

    def run(self) -> None:
        with self.queue.acquire("job", wanting(*self.keys), self.waits.append, self.number) as slot:
            self.slot = slot
            self.enough.wait(_LONGER_THAN_ALL_S)

    def leave(self) -> None:
        """End the job."""
        self.enough.set()
        self.join(20)


def test_those_who_wait_see_how_many_come_first(queue: Queue) -> None:
    """The one that has it and those before; not those who want something else."""
    first = Job(queue, "A")
    until(lambda: first.slot, "the first")
    other = Job(queue, "B")
    until(lambda: other.slot, "the other")
    second = Job(queue, "A")
    until(lambda: second.waits, "the second")
    third = Job(queue, "A", "B")
    until(lambda: third.waits, "the third")

    assert [holder.key for holder in second.waits[-1].holders] == ["A"]
    assert second.waits[-1].ahead == 1
    assert [holder.key for holder in third.waits[-1].holders] == ["A", "B"]
    assert third.waits[-1].ahead == 3
    looked = len(second.waits)
    until(lambda: len(second.waits) > looked, "another look")
    assert second.waits[-1].ahead == 1
    assert [ticket.wants for ticket in queue.tickets()] == [("A",), ("A", "B")]
    assert {ticket.pid for ticket in queue.tickets()} == {os.getpid()}

    first.leave()
    until(lambda: second.slot, "the second's turn")
    assert third.slot is None
    second.leave()
    until(lambda: third.slot, "the third's turn")
    assert third.slot is not None
    assert third.slot.key == "A"
    other.leave()
    third.leave()


def test_a_number_is_kept_for_another_try(queue: Queue) -> None:
    """Whoever got a machine that turned out dead is not sent to the end."""
    with queue.acquire("first", wanting("A")) as slot:
        number = slot.number
    holding = Job(queue, "A")
    until(lambda: holding.slot, "someone")
    late = Job(queue, "A")
    until(lambda: late.waits, "one who came later")
    again = Job(queue, "A", number=number)
    until(lambda: again.waits, "the first again")

    holding.leave()
    until(lambda: again.slot, "the first's turn")
    assert late.slot is None
    again.leave()
    late.leave()
    assert late.slot is not None


def test_what_the_wish_raises_ends_the_waiting(queue: Queue) -> None:
    """And no ticket is left."""

    def nothing() -> Sequence[str]:
        msg = "all of them are gone"
        raise InfrastructureFailure(msg)

    with pytest.raises(InfrastructureFailure, match="all of them"), queue.acquire("a", nothing):
        pass

    assert queue.tickets() == ()


def test_who_stopped_looking_keeps_a_place_and_is_passed_by(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that someone suspended must not stop everybody."""
    monkeypatch.setattr("megtrim.devices.pool.queue._ASLEEP_AFTER_S", 0.8)
    holding = Job(queue, "A")
    until(lambda: holding.slot, "the first")
    morning = threading.Event()
    slept: list[QueuePosition] = []
    woken: list[str] = []

    def sleep(wait: QueuePosition) -> None:
        slept.append(wait)
        morning.wait(_LONGER_THAN_ALL_S)

    def doze() -> None:
        with queue.acquire("sleepy", wanting("A"), sleep) as slot:
            woken.append(slot.key)

    asleep = threading.Thread(target=doze, daemon=True)
    asleep.start()
    until(lambda: slept, "the one that falls asleep")
    awake = Job(queue, "A")
    until(lambda: awake.waits and awake.waits[-1].ahead == 2, "both are before it")
    until(lambda: awake.waits[-1].ahead == 1, "one is passed by")

    holding.leave()
    until(lambda: awake.slot, "the later one")
    morning.set()
    awake.leave()
    asleep.join(20)
    assert woken == ["A"]


def test_a_ticket_that_a_person_removed_is_taken_again(queue: Queue, tmp_path: Path) -> None:
    """Cleaning up under a waiting job costs it its place at most."""
    holding = Job(queue, "A")
    until(lambda: holding.slot, "the first")
    waiting = Job(queue, "A")
    until(lambda: waiting.waits, "the second")
    for path in (tmp_path / "queue" / "tickets").iterdir():
        path.unlink()
    until(lambda: len(queue.tickets()) == 1, "the new ticket")
    holding.leave()
    until(lambda: waiting.slot, "its turn")
    waiting.leave()


def test_a_living_ticket_that_is_damaged_is_named(queue: Queue, tmp_path: Path) -> None:
    """It was not megtrim that wrote it."""
    holding = Job(queue, "A")
    until(lambda: holding.slot, "the first")

    def spoil() -> Sequence[str]:
        for path in (tmp_path / "queue" / "tickets").iterdir():
            path.write_text('{"version": 2}', encoding="utf-8")
            spoiled.append(path)
        return ("A",)

    spoiled: list[Path] = []
    seen: list[str] = []

    def looked(_wait: QueuePosition) -> None:
        spoil()
        with pytest.raises(InputError) as refused:
            queue.tickets()
        seen.append(refused.value.message)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), queue.acquire("b", wanting("A"), looked):
        pass

    assert seen == [f"{spoiled[0]}: version: Input should be 1, expected what megtrim writes there"]
    holding.leave()


def test_a_queue_that_is_locked_for_ever_is_named(
    queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of a wait without an end."""
    monkeypatch.setattr("megtrim.devices.pool.state_dir._LONGEST_LOCK_S", 0.05)
    with (
        lock_file(queue._order),
        pytest.raises(InfrastructureFailure, match=r"order\.lock has been"),
    ):
        queue.tickets()
