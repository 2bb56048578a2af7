"""What is remembered of machines: quarantines, who set them, and reboots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.devices.pool import leases
from megtrim.devices.pool.leases import slug
from megtrim.devices.pool.quarantine import Author, Quarantine, Record, Records
from megtrim.util.errors import InfrastructureFailure, InputError
from unit.devices.machines import NOON, Clock

KEY = "adb:1A2B"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def records(tmp_path: Path, clock: Clock) -> Records:
    return Records(tmp_path, clock)


def file_of(tmp_path: Path, key: str = KEY) -> Path:
    return tmp_path / "machines" / f"{slug(key)}.json"


def test_nothing_is_remembered_of_a_new_machine(records: Records) -> None:
    """And asking leaves no file."""
    assert records.read(KEY) == Record(key=KEY)
    assert records.list_records() == ()


def test_a_quarantine_has_a_reason_a_beginning_and_an_author(
    records: Records, tmp_path: Path
) -> None:
    """It is there for the next process, too."""
    put = records.quarantine(KEY, "pixel-6", "does not\nanswer", Author.MACHINE)

    assert put == Quarantine(reason="does not answer", since=NOON, by=Author.MACHINE)
    again = Records(tmp_path, Clock())
    assert again.read(KEY) == Record(key=KEY, name="pixel-6", quarantine=put)
    assert again.list_records() == (again.read(KEY),)
    assert records.read("adb:other").quarantine is None


def test_the_age_is_that_of_the_trouble(records: Records, clock: Clock) -> None:
    """Finding it broken again adds a reason, not a new beginning."""
    records.quarantine(KEY, "pixel-6", "first", Author.MACHINE)
    clock.pass_(hours=5)
    assert records.quarantine(KEY, "pixel-6", "second", Author.MACHINE) == Quarantine(
        reason="second", since=NOON, by=Author.MACHINE
    )


def test_a_person_has_the_last_word(records: Records, clock: Clock) -> None:
    """A passed check does not lift what a person decided, and a failure does not change it."""
    records.quarantine(KEY, "pixel-6", "flaky", Author.MACHINE)
    clock.pass_(hours=1)
    mine = records.quarantine(KEY, "pixel-6", "battery is swollen", Author.PERSON)
    assert mine.since == clock()

    assert records.quarantine(KEY, "pixel-6", "no answer", Author.MACHINE) == mine
    assert records.restore(KEY, Author.MACHINE) is None
    assert records.read(KEY).quarantine == mine
    assert records.restore(KEY, Author.PERSON) == mine
    assert records.read(KEY).quarantine is None
    assert records.restore(KEY, Author.PERSON) is None


def test_a_check_lifts_what_megtrim_set(records: Records) -> None:
    """Its name and reboots stay."""
    records.note_reboot(KEY, "pixel-6")
    put = records.quarantine(KEY, "pixel-6", "no answer", Author.MACHINE)

    assert records.restore(KEY, Author.MACHINE) == put
    assert records.read(KEY) == Record(key=KEY, name="pixel-6", reboots=(NOON,))


def test_three_reboots_a_day(records: Records, clock: Clock) -> None:
    """Remembered between processes; a day later it may again."""
    for hour in range(3):
        assert records.note_reboot(KEY, "pixel-6"), hour
        clock.pass_(hours=1)
    assert not records.note_reboot(KEY, "pixel-6")

    clock.pass_(hours=20, minutes=59)
    assert not records.note_reboot(KEY, "pixel-6")
    clock.pass_(minutes=1)
    assert records.note_reboot(KEY, "pixel-6")
    assert len(records.read(KEY).reboots) == 3
    assert not records.note_reboot(KEY, "pixel-6")


def test_reboots_of_the_future_count(records: Records, clock: Clock) -> None:
    """A clock that was set back does not open the way to a reboot loop."""
    for _ in range(3):
        records.note_reboot(KEY, "pixel-6")
    clock.pass_(days=-400)

    assert not records.note_reboot(KEY, "pixel-6")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Invalid JSON: EOF while parsing a value at line 1 column 0"),
        ("[]", "Input should be an object"),
        ('{"version": 2, "key": "adb:1A2B"}', "version: Input should be 1"),
        ('{"version": 1}', "key: Field required"),
        ('{"version": 1, "key": "adb:1A2B", "x": 1}', "x: Extra inputs are not permitted"),
        ('{"version": 1, "key": "adb:other"}', "key: found 'adb:other'"),
        (
            '{"version": 1, "key": "adb:1A2B", "reboots": ["2026-05-04T12:00:00"]}',
            "reboots.0: Input should have timezone info",
        ),
        (
            '{"version": 1, "key": "k", "quarantine": {"reason": "", "since": 1, "by": "megtrim"}}',
            "quarantine.reason: String should have at least 1 character",
        ),
        (" " * 70_000, "found more than 65,536 bytes"),
    ],
)
def test_a_damaged_record_is_named_and_kept(
    records: Records, tmp_path: Path, text: str, said: str
) -> None:
    """The message names the file; nothing that is written later replaces it unasked."""
    file_of(tmp_path).parent.mkdir()
    file_of(tmp_path).write_text(text, encoding="utf-8")

    for act in (
        lambda: records.read(KEY),
        lambda: records.quarantine(KEY, "p", "r", Author.PERSON),
        lambda: records.note_reboot(KEY, "p"),
    ):
        with pytest.raises(InputError) as refused:
            act()
        assert refused.value.message == (
            f"{file_of(tmp_path)}: {said}, expected what megtrim writes there"
        )
    assert file_of(tmp_path).read_text(encoding="utf-8") == text
    assert records.list_records() == ()

    moved = records.mend(KEY)
    assert moved is not None
    assert moved.read_text(encoding="utf-8") == text
    assert records.read(KEY) == Record(key=KEY)
    assert records.mend(KEY) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(data=st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_a_record_or_an_input_error(tmp_path: Path, data: bytes) -> None:
    """Never a traceback."""
    file_of(tmp_path).parent.mkdir(exist_ok=True)
    file_of(tmp_path).write_bytes(data)
    with pytest.raises(InputError, match="expected what megtrim writes there"):
        Records(tmp_path, Clock()).read(KEY)


@given(
    reason=st.text(max_size=3000),
    key=st.text(min_size=1, max_size=200).filter(lambda key: "\ud800" not in key),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_whatever_is_written_can_be_read(tmp_path: Path, reason: str, key: str) -> None:
    """Whatever a phone calls itself."""
    records = Records(tmp_path, Clock())
    put = records.quarantine(key, "p", reason, Author.PERSON)

    assert records.read(key).quarantine == put
    assert 1 <= len(put.reason) <= 2000


def test_a_record_is_one_line_per_value(records: Records, tmp_path: Path) -> None:
    """People read it, too."""
    records.quarantine(KEY, "pixel-6", "no answer", Author.PERSON)

    assert json.loads(file_of(tmp_path).read_text(encoding="utf-8")) == {
        "version": 1,
        "key": KEY,
        "name": "pixel-6",
        "quarantine": {"reason": "no answer", "since": "2026-05-04T12:00:00Z", "by": "person"},
        "reboots": [],
    }


def test_a_link_in_the_place_of_a_record_costs_that_machine_alone(
    records: Records, tmp_path: Path
) -> None:
    """It is not followed, and other machines are found all the same."""
    records.quarantine("adb:other", "other", "hot", Author.PERSON)
    file_of(tmp_path).symlink_to(file_of(tmp_path, "adb:other"))

    with pytest.raises(InputError, match="it cannot be read"):
        records.read(KEY)
    assert [each.key for each in records.list_records()] == ["adb:other"]
    assert records.mend(KEY) is not None
    assert records.read(KEY) == Record(key=KEY)
    assert records.read("adb:other").quarantine is not None


def test_a_record_that_another_holds_for_ever_is_a_failure(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped there does not stop all others."""
    monkeypatch.setattr(leases, "_LONGEST_LOCK_S", 0.2)
    lock = file_of(tmp_path).with_suffix(".lock")

    with (
        leases.lock_file(lock),
        pytest.raises(InfrastructureFailure, match="has been locked for"),
    ):
        records.quarantine(KEY, "pixel", "hot", Author.MACHINE)
    records.quarantine(KEY, "pixel", "hot", Author.MACHINE)
