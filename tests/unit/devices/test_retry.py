from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from megtrim.devices import Lease
from megtrim.devices.device import NoUsableMachine
from megtrim.devices.retry import (
    ProgramKilled,
    expect_not_killed,
    keep_first_failure,
    run_with_retries,
)
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.util.errors import InfrastructureFailure, ProductFailure
from unit.trim.stages.fake_device import FakeDevice


class Pool(FakeDevice):
    """Gives out machines by turns; the first of them are dead."""

    def __init__(self, *, dead: int, retries: int) -> None:
        super().__init__(name="pool", retries=retries)
        self.left = [f"phone-{number}" for number in range(1, 9)]
        self.dead = dead

    @contextmanager
    def reserve(self) -> Iterator[FakeDevice]:
        name = self.left.pop(0)
        yield FakeDevice(name=name, interrupt=int(name[-1]) <= self.dead)


def work(lease: Lease) -> str:
    if getattr(lease, "interrupt", False):
        msg = "the link was lost"
        raise InfrastructureFailure(msg, hint="look at its cable")
    return lease.name


def test_work_is_delivered_by_the_first_machine_that_is_well() -> None:
    said: list[str] = []

    assert run_with_retries(Pool(dead=2, retries=2), work, say=said.append) == "phone-3"
    assert said == [
        "  again phone-1 failed (the link was lost); attempt 2",
        "  again phone-2 failed (the link was lost); attempt 3",
    ]


def test_the_last_failure_knows_all_attempts() -> None:
    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Pool(dead=9, retries=2), work, say=lambda _text: None)

    assert caught.value.attempts == tuple(f"phone-{n}: the link was lost" for n in (1, 2, 3))
    assert caught.value.message == "the link was lost (attempt 3 of 3)"
    assert caught.value.hint == "look at its cable"


def test_a_device_without_retries_is_tried_once() -> None:
    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Pool(dead=9, retries=0), work, say=lambda _text: None)

    assert caught.value.message == "the link was lost"
    assert caught.value.attempts == ("phone-1: the link was lost",)


def killed(rc: int, **changes: Any) -> ProgramRun:
    values = {"stdout": "", "stderr": "", "wall_s": 0.1, "timed_out": False}
    return ProgramRun(argv=("load_and_run",), rc=rc, **{**values, **changes})


@pytest.mark.parametrize(
    ("rc", "name"), [(137, "9 (SIGKILL)"), (143, "15 (SIGTERM)"), (-9, "9 (SIGKILL)")]
)
def test_a_program_that_was_killed_says_nothing(rc: int, name: str) -> None:
    with pytest.raises(ProgramKilled) as caught:
        expect_not_killed("phone-1", killed(rc))

    assert caught.value.message == (
        f"phone-1: load_and_run was ended by signal {name}, which megtrim did not send"
    )
    assert "a program that sends the signal to itself looks the same" in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "run",
    [killed(0), killed(1), killed(133), killed(134), killed(139), killed(137, timed_out=True)],
)
def test_any_other_end_is_the_programs_own(run: ProgramRun) -> None:
    expect_not_killed("phone-1", run)


@pytest.mark.parametrize(("retries", "attempts"), [(0, 2), (1, 2), (2, 3)])
def test_a_program_that_was_killed_is_tried_again_everywhere(retries: int, attempts: int) -> None:
    """This machine has no retries else: what killed it may be over by then."""

    def work(lease: Lease) -> str:
        expect_not_killed(lease.name, killed(137))
        return lease.name

    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Pool(dead=0, retries=retries), work, say=lambda _text: None)
    assert len(caught.value.attempts) == attempts


@pytest.mark.parametrize("ending", [ProductFailure("trap"), KeyboardInterrupt(), ValueError()])
def test_nothing_else_is_tried_again(ending: BaseException) -> None:
    tried: list[str] = []

    def fails(lease: Lease) -> str:
        tried.append(lease.name)
        raise ending

    with pytest.raises(type(ending)):
        run_with_retries(Pool(dead=0, retries=2), fails, say=lambda _text: None)
    assert tried == ["phone-1"]


def test_a_device_that_gives_out_nothing_is_tried_again_too() -> None:
    class Empty(FakeDevice):
        @contextmanager
        def reserve(self) -> Iterator[FakeDevice]:
            msg = "no phone is attached"
            raise InfrastructureFailure(msg)
            yield self

    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Empty(name="pixels", retries=1), work, say=lambda _text: None)
    assert caught.value.attempts == ("pixels: no phone is attached",) * 2


def test_where_no_machine_is_left_nothing_is_tried_again() -> None:
    class Last(Pool):
        @contextmanager
        def reserve(self) -> Iterator[FakeDevice]:
            if self.left[0] != "phone-1":
                msg = "every phone is in quarantine"
                raise NoUsableMachine(msg)
            with super().reserve() as lease:
                yield lease

    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Last(dead=1, retries=5), work, say=lambda _text: None)
    assert caught.value.attempts == (
        "phone-1: the link was lost",
        "pool: every phone is in quarantine",
    )


@pytest.mark.parametrize(
    ("seen", "ended", "reported"),
    [
        ([], "good", "good"),
        ([], "bad", "bad"),
        (["trap"], "good", "trap"),
        (["trap"], "bad", "bad"),
    ],
)
def test_a_bad_end_is_not_hidden_by_a_good_one(seen: list[str], ended: str, reported: str) -> None:
    assert keep_first_failure(seen, lambda: ended, good=lambda end: end == "good") == reported


def test_a_bad_end_is_not_hidden_by_a_machine_that_fails() -> None:
    seen: list[str] = []

    def fails() -> str:
        msg = "the link was lost"
        raise InfrastructureFailure(msg)

    with pytest.raises(InfrastructureFailure, match="the link was lost"):
        keep_first_failure(seen, fails, good=lambda _end: True)
    seen += ["trap", "another"]
    assert keep_first_failure(seen, fails, good=lambda _end: True) == "trap"
