import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.core.config.device import PowerPort
from megtrim.lab.pool.leases import slug
from megtrim.lab.pool.recovery import (
    UNAUTHORIZED,
    Author,
    Quarantine,
    Record,
    Records,
    RecoveryPolicy,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.device import ConnectionState, Timeouts
from unit.places.devices.machines import NOON, Clock, FakeMachine

KEY = "adb:1A2B"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def records(tmp_path: Path, clock: Clock) -> Records:
    return Records(tmp_path, clock)


def file_of(tmp_path: Path, key: str = KEY) -> Path:
    return tmp_path / "machines" / f"{slug(key)}.json"


def test_a_quarantine_has_a_reason_a_beginning_and_an_author(
    records: Records, tmp_path: Path
) -> None:
    put = records.quarantine(KEY, "pixel-6", "does not\nanswer", Author.MACHINE)

    assert put == Quarantine(reason="does not answer", since=NOON, by=Author.MACHINE)
    again = Records(tmp_path, Clock())
    assert again.read(KEY) == Record(key=KEY, name="pixel-6", quarantine=put)
    assert again.list_records() == (again.read(KEY),)
    assert records.read("adb:other").quarantine is None


def test_the_age_is_that_of_the_trouble_and_a_person_has_the_last_word(
    records: Records, clock: Clock
) -> None:
    """Finding it broken again adds a reason, not a new beginning."""
    records.quarantine(KEY, "pixel-6", "flaky", Author.MACHINE)
    clock.pass_(hours=1)
    again = records.quarantine(KEY, "pixel-6", "second", Author.MACHINE)
    assert again == Quarantine(reason="second", since=NOON, by=Author.MACHINE)
    mine = records.quarantine(KEY, "pixel-6", "battery is swollen", Author.PERSON)
    assert mine.since == clock()

    assert records.quarantine(KEY, "pixel-6", "no answer", Author.MACHINE) == mine
    assert records.restore(KEY, Author.MACHINE) is None
    assert records.read(KEY).quarantine == mine
    assert records.restore(KEY, Author.PERSON) == mine
    assert records.read(KEY).quarantine is None
    assert records.restore(KEY, Author.PERSON) is None


def test_a_check_lifts_what_megtrim_set(records: Records) -> None:
    records.note_reboot(KEY, "pixel-6")
    put = records.quarantine(KEY, "pixel-6", "no answer", Author.MACHINE)

    assert records.restore(KEY, Author.MACHINE) == put
    assert records.read(KEY) == Record(key=KEY, name="pixel-6", reboots=(NOON,))


def test_three_reboots_a_day(records: Records, clock: Clock) -> None:
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
    records = Records(tmp_path, Clock())
    put = records.quarantine(key, "p", reason, Author.PERSON)

    assert records.read(key).quarantine == put
    assert 1 <= len(put.reason) <= 2000


def test_a_record_is_one_line_per_value(records: Records, tmp_path: Path) -> None:
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
    records.quarantine("adb:other", "other", "hot", Author.PERSON)
    file_of(tmp_path).symlink_to(file_of(tmp_path, "adb:other"))

    with pytest.raises(InputError, match="it cannot be read"):
        records.read(KEY)
    assert [each.key for each in records.list_records()] == ["adb:other"]
    assert records.mend(KEY) is not None
    assert records.read(KEY) == Record(key=KEY)
    assert records.read("adb:other").quarantine is not None


TIMEOUTS = Timeouts()


@dataclass(slots=True)
class Time:
    now_s: float = 0.0
    at: dict[float, Callable[[], None]] = field(default_factory=dict)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for due in [each for each in self.at if each <= self.now_s]:
            self.at.pop(due)()

    def monotonic(self) -> float:
        return self.now_s


@dataclass(slots=True)
class Scene:
    machine: FakeMachine
    recovery: RecoveryPolicy
    time: Time
    said: list[str]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    time = Time()
    said = list[str]()
    recovery = RecoveryPolicy(
        records=Records(tmp_path / "state", Clock()),
        processes=ProcessRunner({"PATH": f"{tmp_path}:/usr/bin:/bin"}),
        timeouts=TIMEOUTS,
        say=said.append,
        sleep=time.sleep,
        monotonic=time.monotonic,
    )
    machine = FakeMachine("pixel-6", tmp_path / "runs", answers=False)
    return Scene(machine, recovery, time, said)


@pytest.mark.parametrize(
    ("machine", "later", "text"),
    [
        ({"answers": True}, {}, "answers"),
        ({"cured_by": "reconnect"}, {}, "answers (reconnected)"),
        ({}, {30.0: {"answers": True}}, "answers (reconnected; waited 30 s)"),
        ({}, {}, "does not answer (reconnected; waited 40 s; rebooted; waited 180 s)"),
        ({"attached": ConnectionState.ABSENT}, {}, "does not answer (reconnected; waited 40 s)"),
        ({"attached": ConnectionState.OFFLINE}, {}, "does not answer (reconnected; waited 40 s)"),
        (
            {"broken": frozenset({"reconnect", "reboot"}), "trouble": "its key changed; see x"},
            {},
            (
                "does not answer: its key changed; see x (not reconnected: no way to reconnect; "
                "waited 40 s; not rebooted: no way to reboot)"
            ),
        ),
        ({"attached": ConnectionState.UNAUTHORIZED}, {}, UNAUTHORIZED),
        ({"attached": ConnectionState.UNAUTHORIZED, "trouble": "tap it"}, {}, "tap it"),
        (
            {},
            {10.0: {"attached": ConnectionState.UNAUTHORIZED}},
            f"{UNAUTHORIZED} (reconnected; waited 10 s)",
        ),
    ],
)
def test_steps_are_taken_until_it_answers(
    scene: Scene, machine: dict[str, object], later: dict[float, dict[str, object]], text: str
) -> None:
    def change(changes: dict[str, object]) -> None:
        for name, value in changes.items():
            setattr(scene.machine, name, value)

    change(machine)
    for at_s, changes in later.items():
        scene.time.at[at_s] = partial(change, changes)
    result = scene.recovery.recover(scene.machine)

    assert result.text == text
    assert result.healthy == text.startswith("answers")
    assert result.presence is scene.machine.attached
    reported = [f"  recover  pixel-6: {step}" for step in result.steps]
    again = ["  recover  pixel-6: it answers again"] if result.healthy and reported else []
    assert scene.said == [*reported, *again]
    rebooted = "rebooted" in result.steps
    assert scene.machine.calls.count("reboot") == (rebooted or "reboot" in scene.machine.broken)
    assert scene.time.now_s <= TIMEOUTS.reconnect_s + TIMEOUTS.boot_s


def test_a_reboot_is_the_last_step_and_happens_once(scene: Scene) -> None:
    def reboot() -> None:
        scene.machine.calls.append("reboot")
        scene.time.at[scene.time.now_s + 100] = lambda: setattr(scene.machine, "answers", True)

    scene.machine.reboot = reboot  # type: ignore[method-assign]
    result = scene.recovery.recover(scene.machine)

    assert result.healthy
    assert result.steps == ("reconnected", "waited 40 s", "rebooted", "waited 100 s")
    assert scene.machine.calls.count("reboot") == 1
    assert len(scene.recovery.records.read("fake:pixel-6").reboots) == 1


def test_the_day_has_three_reboots(scene: Scene) -> None:
    for _ in range(3):
        scene.recovery.recover(scene.machine)
    result = scene.recovery.recover(scene.machine)

    assert scene.machine.calls.count("reboot") == 3
    assert result.steps[-1] == "not rebooted: it was 3 times within a day"


@pytest.mark.parametrize(
    ("rc", "step"),
    [(0, "power switched off and on"), (1, "not power switched off and on: uhubctl -l 1-1.4")],
)
def test_power_is_switched_where_it_is_configured_before_a_reboot(
    scene: Scene, tmp_path: Path, rc: int, step: str
) -> None:
    program = tmp_path / "uhubctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/power\nexit {rc}\n', encoding="utf-8")
    program.chmod(0o755)
    scene.machine.power = PowerPort(hub="1-1.4", port=2)
    first, second, third, *others = scene.recovery.recover(scene.machine).steps

    assert (tmp_path / "power").read_text("utf-8") == "-l 1-1.4 -p 2 -a cycle -d 5\n"
    assert (first, second) == ("reconnected", "waited 40 s")
    assert third.startswith(step)
    assert others[:2] == ["waited 180 s", "rebooted"]


def test_where_no_one_can_look_no_machine_is_at_fault(scene: Scene) -> None:
    """A missing adb server must not put every phone in quarantine."""

    def presence() -> ConnectionState:
        msg = "no adb server"
        raise InfrastructureFailure(msg)

    scene.machine.presence = presence  # type: ignore[method-assign]
    with pytest.raises(InfrastructureFailure, match="no adb server"):
        scene.recovery.recover(scene.machine)
