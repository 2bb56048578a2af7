"""The recovery: which steps are taken, in which order, and when it is given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from megtrim.config.device import PowerPort
from megtrim.devices.device import Timeouts
from megtrim.devices.pool.machine import ConnectionState
from megtrim.devices.pool.quarantine import Records
from megtrim.devices.pool.recovery import UNAUTHORIZED, RecoveryPolicy
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import ProcessRunner
from unit.devices.machines import Clock, FakeMachine

TIMEOUTS = Timeouts()


@dataclass(slots=True)
class Time:
    """Seconds that pass only by sleeping."""

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
    """A machine and the recovery that is to bring it back."""

    machine: FakeMachine
    recovery: RecoveryPolicy
    time: Time
    said: list[str]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    time, said = Time(), list[str]()
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


def uhubctl(tmp_path: Path, rc: int = 0) -> Path:
    program = tmp_path / "uhubctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/power\nexit {rc}\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path / "power"


def test_a_machine_that_answers_is_left_alone(scene: Scene) -> None:
    """The failure was not its own."""
    scene.machine.answers = True
    result = scene.recovery.recover(scene.machine)

    assert (result.healthy, result.steps, result.text) == (True, (), "answers")
    assert scene.machine.calls == ["alive"]
    assert scene.said == []


def test_reconnecting_is_the_first_step(scene: Scene) -> None:
    """And the last where it helps."""
    scene.machine.cured_by = "reconnect"
    result = scene.recovery.recover(scene.machine)

    assert (result.healthy, result.text) == (True, "answers (reconnected)")
    assert scene.machine.calls == ["alive", "reconnect", "alive"]
    assert scene.said == ["  recover  pixel-6: reconnected", "  recover  pixel-6: it answers again"]


def test_a_link_that_is_lost_for_half_a_minute_comes_back_by_itself(scene: Scene) -> None:
    """No one has to do anything, and nothing is rebooted."""
    scene.time.at[30.0] = lambda: setattr(scene.machine, "answers", True)
    result = scene.recovery.recover(scene.machine)

    assert (result.healthy, result.steps) == (True, ("reconnected", "waited 30 s"))
    assert "reboot" not in scene.machine.calls
    assert scene.machine.calls.count("reconnect") == 3


def test_a_reboot_is_the_last_step_and_happens_once(scene: Scene) -> None:
    """It may take as long as a boot takes."""

    def reboot() -> None:
        scene.machine.calls.append("reboot")
        scene.time.at[scene.time.now_s + 100] = lambda: setattr(scene.machine, "answers", True)

    scene.machine.reboot = reboot  # type: ignore[method-assign]
    result = scene.recovery.recover(scene.machine)

    assert result.healthy
    assert result.steps == ("reconnected", "waited 40 s", "rebooted", "waited 100 s")
    assert scene.machine.calls.count("reboot") == 1
    assert len(scene.recovery.records.read("fake:pixel-6").reboots) == 1


def test_it_gives_up_within_bounds(scene: Scene) -> None:
    """Each step has an end, so their sum has one."""
    result = scene.recovery.recover(scene.machine)

    assert not result.healthy
    assert result.text == "does not answer (reconnected; waited 40 s; rebooted; waited 180 s)"
    assert scene.time.now_s == TIMEOUTS.reconnect_s + TIMEOUTS.boot_s


def test_the_day_has_three_reboots(scene: Scene) -> None:
    """However many jobs fail on it."""
    for _ in range(3):
        scene.recovery.recover(scene.machine)
    result = scene.recovery.recover(scene.machine)

    assert scene.machine.calls.count("reboot") == 3
    assert result.steps[-1] == "not rebooted: it was 3 times within a day"


@pytest.mark.parametrize("attached", [ConnectionState.ABSENT, ConnectionState.OFFLINE])
def test_without_a_way_to_it_no_reboot_is_spent(scene: Scene, attached: ConnectionState) -> None:
    """It could not be asked to reboot."""
    scene.machine.attached = attached
    result = scene.recovery.recover(scene.machine)

    assert result.steps == ("reconnected", "waited 40 s")
    assert result.presence is attached
    assert scene.recovery.records.read("fake:pixel-6").reboots == ()


def test_a_step_that_cannot_be_tried_is_reported_and_passed(scene: Scene) -> None:
    """With the reason; a reboot that was not begun is not waited for."""
    scene.machine.broken = frozenset({"reconnect", "reboot"})
    result = scene.recovery.recover(scene.machine)

    assert result.steps == (
        "not reconnected: no way to reconnect",
        "waited 40 s",
        "not rebooted: no way to reboot",
    )


def test_power_is_switched_where_it_is_configured(scene: Scene, tmp_path: Path) -> None:
    """Before a reboot, at the port that was named."""
    power = uhubctl(tmp_path)
    scene.machine.power = PowerPort(hub="1-1.4", port=2)
    result = scene.recovery.recover(scene.machine)

    assert power.read_text(encoding="utf-8") == "-l 1-1.4 -p 2 -a cycle -d 5\n"
    assert result.steps[:4] == (
        "reconnected",
        "waited 40 s",
        "power switched off and on",
        "waited 180 s",
    )


def test_power_that_cannot_be_switched_is_reported(scene: Scene, tmp_path: Path) -> None:
    """The recovery goes on."""
    uhubctl(tmp_path, rc=1)
    scene.machine.power = PowerPort(hub="1-1.4", port=2)
    result = scene.recovery.recover(scene.machine)

    assert result.steps[2].startswith("not power switched off and on: uhubctl -l 1-1.4")
    assert "rebooted" in result.steps


def test_an_unauthorized_phone_is_not_tried_at_all(scene: Scene) -> None:
    """A person must tap."""
    scene.machine.attached = ConnectionState.UNAUTHORIZED
    result = scene.recovery.recover(scene.machine)

    assert (result.healthy, result.text, result.steps) == (False, UNAUTHORIZED, ())
    assert scene.machine.calls == []


def test_a_phone_that_comes_back_unauthorized_ends_the_recovery(scene: Scene) -> None:
    """As after a reset: waiting on changes nothing."""
    scene.time.at[10.0] = lambda: setattr(scene.machine, "attached", ConnectionState.UNAUTHORIZED)
    result = scene.recovery.recover(scene.machine)

    assert result.verdict == UNAUTHORIZED
    assert result.steps == ("reconnected", "waited 10 s")


def test_what_its_kind_knows_of_the_trouble_is_reported(scene: Scene) -> None:
    """Such as a key that was refused, and what to do."""
    scene.machine.trouble = "its key changed\n  remove the old one"
    assert scene.recovery.recover(scene.machine).verdict == (
        "does not answer: its key changed; remove the old one"
    )
    scene.machine.attached = ConnectionState.UNAUTHORIZED
    assert scene.recovery.recover(scene.machine).text == "its key changed; remove the old one"


def test_where_no_one_can_look_no_machine_is_at_fault(scene: Scene) -> None:
    """A missing adb server must not put every phone in quarantine."""

    def presence() -> ConnectionState:
        msg = "no adb server"
        raise InfrastructureFailure(msg)

    scene.machine.presence = presence  # type: ignore[method-assign]
    with pytest.raises(InfrastructureFailure, match="no adb server"):
        scene.recovery.recover(scene.machine)
