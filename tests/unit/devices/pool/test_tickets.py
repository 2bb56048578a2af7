"""Tickets and locks of the queue as files: each is held by a kernel lock, or by no one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from megtrim.devices.pool.queue import Queue
from megtrim.devices.pool.state_dir import lock_file, open_shared, read_descriptor, slug, try_lock
from megtrim.devices.pool.tickets import MachineLock, Ticket, TicketHandle, waiters
from megtrim.errors import InfrastructureFailure
from unit.devices.machines import NOON, Clock


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path, Clock())


def wanting(*keys: str) -> Callable[[], Sequence[str]]:
    return lambda: keys


def test_a_ticket_without_an_owner_is_removed(queue: Queue, tmp_path: Path) -> None:
    """Whatever it says: its owner is dead."""
    tickets = tmp_path / "queue" / "tickets"
    tickets.mkdir(parents=True)
    (tickets / "0000000001.ticket").write_text("rubbish", encoding="utf-8")
    (tickets / "notes").write_text("mine", encoding="utf-8")

    with queue.acquire("a", wanting("A")) as slot:
        assert slot.key == "A"

    assert [path.name for path in tickets.iterdir()] == ["notes"]


def test_a_lock_whose_text_is_damaged_is_still_a_lock(queue: Queue, tmp_path: Path) -> None:
    """The text is for people; whose it is cannot be shown then."""
    lock = tmp_path / "queue" / "machines" / f"{slug('A')}.lock"
    with queue.acquire("a", wanting("A")):
        assert json.loads(lock.read_text(encoding="utf-8"))["pid"] == os.getpid()
        lock.write_text("rubbish", encoding="utf-8")
        holder = queue.holder("A")
        assert holder is not None
        assert holder.pid == 0


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_plain_file_is_no_lock(queue: Queue, tmp_path: Path, kind: str) -> None:
    """Nothing waits on a pipe, nothing is written through a link."""
    order = tmp_path / "queue" / "order.lock"
    order.parent.mkdir()
    match kind:
        case "pipe":
            os.mkfifo(order)
        case "link":
            order.symlink_to(tmp_path / "elsewhere")
        case _:
            order.mkdir()

    with pytest.raises(InfrastructureFailure, match=r"order\.lock cannot be used"):
        queue.tickets()

    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def counter(tmp_path: Path) -> Iterator[int]:
    with lock_file(tmp_path / "counter") as descriptor:
        yield descriptor


def ticket(label: str = "phones") -> Ticket:
    return Ticket(pid=os.getpid(), since=NOON, label=label, wants=("A", "B"))


def test_tickets_are_read_in_order_of_arrival(tmp_path: Path, counter: int) -> None:
    """Each with its number; who leaves is no longer there."""
    first, second = TicketHandle(tmp_path / "q", None), TicketHandle(tmp_path / "q", None)
    for each in (first, second):
        each.take(ticket(), counter)

    assert [each.number for each in waiters(tmp_path / "q")] == [1, 2]
    assert waiters(tmp_path / "q")[0].ticket == ticket()
    first.leave()
    assert [each.number for each in waiters(tmp_path / "q")] == [2]
    second.leave()
    assert list((tmp_path / "q").iterdir()) == []


def test_a_number_is_never_given_out_twice(tmp_path: Path, counter: int) -> None:
    """Unless a job asks for its own again, and no one has it."""
    gone = TicketHandle(tmp_path / "q", None)
    gone.take(ticket(), counter)
    gone.leave()
    new, again, late = (TicketHandle(tmp_path / "q", number) for number in (None, 1, 1))
    for each in (new, again, late):
        each.take(ticket(), counter)

    assert (gone.number, new.number, again.number, late.number) == (1, 2, 1, 3)
    assert read_descriptor(counter) == b"3\n"


def test_a_ticket_is_updated_in_place(tmp_path: Path, counter: int) -> None:
    """A new file would be a new lock, and a new place in the queue."""
    handle = TicketHandle(tmp_path / "q", None)
    handle.take(ticket("a long label"), counter)
    handle.take(ticket("b"), counter)

    [waiter] = waiters(tmp_path / "q")
    assert (waiter.number, waiter.ticket.label) == (1, "b")


def test_a_lock_that_was_handed_over_is_released_by_its_new_owner(tmp_path: Path) -> None:
    """The old one has no effect any more."""
    path = tmp_path / "lock"
    first = MachineLock(open_shared(path))
    assert try_lock(first.descriptor)
    second = first.hand_over()
    first.release()
    other = open_shared(path)

    assert not try_lock(other)
    second.release()
    second.release()
    assert try_lock(other)
    os.close(other)
