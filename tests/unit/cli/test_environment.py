"""What is read of the environment, and of the clock."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from megtrim.cli.environment import (
    describe_clock,
    open_processes,
    read_git_ceilings,
    read_now,
    read_today,
)
from megtrim.util.errors import InputError
from support.clock import clock_at


def test_a_hooks_repository_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's own variables are dropped; how high it may look is a person's word."""
    monkeypatch.setenv("GIT_DIR", "/hook/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/hook/.git/index")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/tmp")

    env = open_processes().env

    assert {name for name in env if name.startswith("GIT_")} == {"GIT_CEILING_DIRECTORIES"}


@pytest.mark.parametrize(
    ("value", "ceilings"),
    [("", ()), ("/a", (Path("/a"),)), ("/a::/b/c/", (Path("/a"), Path("/b/c")))],
)
def test_ceilings(monkeypatch: pytest.MonkeyPatch, value: str, ceilings: tuple[Path, ...]) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", value)

    assert read_git_ceilings() == ceilings


def test_the_clock_can_be_set() -> None:
    with clock_at("2027-01-31"):
        assert (read_today(), read_now()) == (date(2027, 1, 31), datetime(2027, 1, 31, tzinfo=UTC))
    with clock_at("2027-01-31T23:59:00"):
        assert read_now() == datetime(2027, 1, 31, 23, 59, tzinfo=UTC)
    with clock_at("2027-01-31T23:59:00-02:00"):
        assert read_now() == datetime(2027, 2, 1, 1, 59, tzinfo=UTC)


def test_a_clock_that_was_set_is_announced() -> None:
    with clock_at("2027-01-31"):
        assert describe_clock().startswith("MEGTRIM_NOW is set: ")
    with clock_at(""):
        before = date.today()
        assert describe_clock() == ""
        assert before <= read_today() <= date.today()


@pytest.mark.parametrize("now", ["soon", "9999-12-31", "0001-01-01", "9999-12-31T23:59:59-14:00"])
def test_a_clock_that_shows_no_time_is_refused(now: str) -> None:
    with clock_at(now), pytest.raises(InputError) as caught:
        read_today()

    assert caught.value.message == (
        f"MEGTRIM_NOW: found {now!r}, expected a day or a time, such as 2027-01-31"
    )
