"""Leases: who holds which machine. Real processes are in the integration tests."""

import errno
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from megtrim.lab.pool.leases import (
    Holder,
    Leases,
    lock_file,
    name_holder,
    open_shared,
    read_saved,
    slug,
    try_lock,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.state_folder import VARIABLE
from megtrim.places.devices.device import MachineId
from unit.places.devices.machines import NOON, Clock, FakeMachine


def test_different_keys_have_different_files() -> None:
    assert slug("adb:1A2B") == "adb_1A2B-" + slug("adb:1A2B")[-8:]
    assert slug("adb:a/b") != slug("adb:a_b")
    assert not slug("../x").startswith(".")


def test_a_state_folder_that_cannot_be_written_is_infrastructure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InfrastructureFailure, match="cannot be used") as refused,
        lock_file(tmp_path / "file" / "lock"),
    ):
        pass
    assert VARIABLE in refused.value.hint


def test_a_lock_is_held_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("megtrim.lab.pool.leases._LONGEST_LOCK_S", 0.05)
    path = tmp_path / "folder" / "lock"
    with lock_file(path) as descriptor:
        assert try_lock(descriptor)
        other = open_shared(path)
        assert not try_lock(other)
        os.close(other)
        with (
            pytest.raises(InfrastructureFailure, match="has been locked for") as failed,
            lock_file(path),
        ):
            pass
    assert failed.value.hint.startswith(f"`fuser {path}`")
    with lock_file(path):
        pass


def test_a_pipe_in_a_files_place_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InfrastructureFailure, match="it is not a plain file"):
        open_shared(tmp_path / "pipe")
    with pytest.raises(InputError, match="expected what megtrim writes there"):
        read_saved(tmp_path / "pipe", Holder)


@pytest.fixture
def leases(tmp_path: Path) -> Leases:
    return Leases(tmp_path, "tester", Clock())


def machine(key: str, *more: str, identity: MachineId | None = None) -> FakeMachine:
    return FakeMachine(key, Path(), key=f"fake:{key}", keys=more, identity=identity)


A, B, C = (machine(key) for key in "ABC")


def wanting(*machines: FakeMachine) -> Callable[[], Sequence[FakeMachine]]:
    return lambda: machines


def test_the_first_machine_that_is_free_is_held_until_the_block_is_left(leases: Leases) -> None:
    with leases.acquire(wanting(A, B)) as first, leases.acquire(wanting(A, B)) as second:
        assert (first, second) == (A, B)
        holder = leases.holder(A)
        assert holder == Holder(pid=os.getpid(), since=NOON, name="tester", keys=("fake:A",))
        assert str(holder) == f"tester (pid {os.getpid()})"

    assert (leases.holder(A), leases.holder(B), leases.holder(C)) == (None, None, None)


def test_a_machine_is_free_although_a_child_has_its_file(leases: Leases, tmp_path: Path) -> None:
    """A program that was started at that moment holds every open file until it runs."""
    path = (tmp_path / "leases" / f"{slug('fake:A')}.lock").resolve()
    with leases.acquire(wanting(A)):
        open_files = {int(link.name): link.resolve() for link in Path("/proc/self/fd").iterdir()}
        child = os.dup(next(number for number, target in open_files.items() if target == path))
    try:
        assert leases.holder(A) is None
    finally:
        os.close(child)


def test_who_waits_sees_the_holders_and_may_give_up(leases: Leases) -> None:
    seen: list[str] = []

    def give_up(holders: Sequence[Holder]) -> None:
        seen.extend(key for holder in holders for key in holder.keys)
        if len(seen) > 2:
            raise ZeroDivisionError

    def nothing() -> Sequence[FakeMachine]:
        msg = "all of them are gone"
        raise InfrastructureFailure(msg)

    with leases.acquire(wanting(A)), leases.acquire(wanting(B)):
        with pytest.raises(ZeroDivisionError), leases.acquire(wanting(A, B), give_up):
            pass
        with pytest.raises(InfrastructureFailure, match="all of them"), leases.acquire(nothing):
            pass
        assert seen == ["fake:A", "fake:B"] * 2
        assert leases.holder(A) is not None


def test_a_machine_whose_holder_cannot_be_written_down_stays_free(
    leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", fail)
        with pytest.raises(InfrastructureFailure, match="No space"), leases.acquire(wanting(A)):
            pass
    assert leases.holder(A) is None


def test_a_lock_whose_text_is_damaged_is_still_a_lock(leases: Leases, tmp_path: Path) -> None:
    lock = tmp_path / "leases" / f"{slug('fake:A')}.lock"
    with leases.acquire(wanting(A)):
        assert json.loads(lock.read_text(encoding="utf-8"))["pid"] == os.getpid()
        lock.write_text("rubbish", encoding="utf-8")
        assert str(leases.holder(A)) == "an unknown process"


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_plain_file_is_no_lock(leases: Leases, tmp_path: Path, kind: str) -> None:
    guard = tmp_path / "leases" / "guard.lock"
    guard.parent.mkdir()
    match kind:
        case "pipe":
            os.mkfifo(guard)
        case "link":
            guard.symlink_to(tmp_path / "elsewhere")
        case _:
            guard.mkdir()

    with pytest.raises(InfrastructureFailure, match=r"guard\.lock cannot be used"):
        leases.holder(A)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7", "USER": "ci"}, "o/r run 7"),
        ({"GITHUB_REPOSITORY": "o/r", "USER": "ci"}, "ci"),
        ({"USER": "a\x1b[31m" + "b" * 300}, None),
        ({}, f"user {os.getuid()}"),
    ],
)
def test_a_holder_has_a_name_that_can_be_printed(env: dict[str, str], name: str | None) -> None:
    given = name_holder(env)
    assert given.isprintable()
    assert len(given) <= 200
    assert name in (None, given)


def refuse(_holders: Sequence[Holder]) -> None:
    raise ZeroDivisionError


ONE = MachineId(serial="S", boot="b1")
ONE_LATER = MachineId(serial="S", boot="b2")
OTHER = MachineId(serial="T", boot="b1")
BOOT_ALONE = MachineId(boot="b1")


@pytest.mark.parametrize(
    ("held", "asked", "same"),
    [
        (machine("usb", identity=ONE), machine("wifi", identity=ONE), True),
        (machine("usb", identity=ONE), machine("wifi", identity=ONE_LATER), False),
        (machine("usb", identity=ONE), machine("wifi", identity=OTHER), False),
        (machine("usb", identity=BOOT_ALONE), machine("wifi", identity=BOOT_ALONE), True),
        (machine("usb", identity=MachineId(serial="S")), machine("wifi", identity=ONE), True),
        (machine("usb", identity=ONE), machine("wifi", identity=MachineId(serial="S")), True),
        (machine("usb", identity=MachineId()), machine("wifi", identity=ONE), False),
        (machine("usb", "fake:S"), machine("wifi", "fake:S"), True),
        (machine("usb", identity=ONE), machine("wifi"), False),
    ],
)
def test_a_lease_is_of_the_machine_whatever_its_address(
    leases: Leases, held: FakeMachine, asked: FakeMachine, same: bool
) -> None:
    seen: list[Holder] = []

    def give_up(holders: Sequence[Holder]) -> None:
        seen.extend(holders)
        raise ZeroDivisionError

    with leases.acquire(wanting(held)):
        with suppress(ZeroDivisionError), leases.acquire(wanting(asked), give_up) as machine:
            assert machine is asked
        assert [holder.keys for holder in seen] == [held.keys] * same


def test_a_lease_outlives_the_reboots_of_its_own_repair(leases: Leases) -> None:
    usb = machine("usb", identity=ONE)
    wifi = machine("wifi", identity=ONE_LATER)
    silent = machine("silent")

    def is_free(other: FakeMachine) -> bool:
        with suppress(ZeroDivisionError), leases.acquire(wanting(other), refuse):
            return True
        return False

    with leases.acquire(wanting(usb)):
        assert [is_free(wifi), is_free(silent)] == [True, True]
        with leases.while_recovering(usb):
            assert [is_free(wifi), is_free(silent)] == [False, False]
            assert is_free(machine("another", identity=OTHER))
            usb.identity = ONE_LATER
        assert [is_free(wifi), is_free(silent)] == [False, True]
        with leases.while_recovering(usb):
            usb.identity = None
        assert not is_free(wifi)
    assert is_free(wifi)


def test_two_jobs_that_find_one_machine_at_once(leases: Leases, tmp_path: Path) -> None:
    other = Leases(tmp_path, "other", Clock())
    usb = machine("usb", identity=ONE)
    wifi = machine("wifi", identity=ONE)

    taken: list[bool] = []

    def identify() -> MachineId:
        with other.acquire(wanting(wifi), refuse):
            taken.append(True)
            del usb.identify
            with pytest.raises(ZeroDivisionError), leases.acquire(wanting(usb), refuse):
                pass
        return ONE

    usb.identify = identify  # type: ignore[method-assign]
    with leases.acquire(wanting(usb)) as held:
        assert held is usb
    assert taken == [True]
