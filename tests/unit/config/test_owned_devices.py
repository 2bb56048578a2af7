from pathlib import Path

import pytest

from megtrim.config.device import DeviceSettings, PowerPort
from megtrim.config.load import OwnedDevices, load_owned_devices
from megtrim.util.errors import InputError

OWNER = """\
boards:
  - {name: rock-5, host: rock.lan, user: tester, key: ~/.ssh/board, known_hosts: /etc/known}
  - {name: rock-6, host: rock6.lan, port: 2222, power: {hub: 1-1, port: 2}}
phones:
  - {serial: 1A2B, power: {hub: 1-1, port: 4}}
"""
ASKED = DeviceSettings.model_validate(
    {
        "host": "evil.lan",
        "port": 23,
        "user": "root",
        "key": "/bundle/key",
        "known_hosts": "/bundle/known",
        "power": {"hub": "9-9", "port": 9},
        "cpus": "4-7",
    }
)


@pytest.fixture
def machine(tmp_path: Path) -> OwnedDevices:
    path = tmp_path / "boards.yaml"
    path.write_text(OWNER, encoding="utf-8")
    return load_owned_devices(str(path))


def test_the_way_to_a_board_is_its_owners(machine: OwnedDevices) -> None:
    first, second = (machine.settle(name, "ssh", ASKED) for name in ("rock-5", "rock-6"))

    assert first == DeviceSettings(
        host="rock.lan",
        user="tester",
        key=Path("~/.ssh/board"),
        known_hosts=Path("/etc/known"),
        cpus="4-7",
    )
    assert second == DeviceSettings(
        host="rock6.lan", port=2222, power=PowerPort(hub="1-1", port=2), cpus="4-7"
    )


@pytest.mark.parametrize("name", ["rock-7", "rock.lan", "ROCK-5", ""])
def test_a_board_that_the_owner_does_not_name_is_refused(machine: OwnedDevices, name: str) -> None:
    for owner in (machine, OwnedDevices(), load_owned_devices("/nowhere/boards.yaml")):
        with pytest.raises(InputError, match="owner names no such board"):
            owner.settle(name, "ssh", ASKED)


@pytest.mark.parametrize(
    ("settings", "power"),
    [
        (DeviceSettings(serial="1A2B", power=PowerPort(hub="9", port=9)), "1-1"),
        (DeviceSettings(serial="1A2B"), "1-1"),
        (DeviceSettings(serial="3C4D", power=PowerPort(hub="9", port=9)), None),
        (DeviceSettings(match={"a": "b"}, power=PowerPort(hub="9", port=9)), None),
    ],
)
def test_the_power_of_a_phone_is_switched_where_its_owner_says(
    machine: OwnedDevices, settings: DeviceSettings, power: str | None
) -> None:
    settled = machine.settle("rock-5", "adb", settings)
    assert (settled.power and settled.power.hub) == power
    assert settled.serial == settings.serial


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boards: [{name: a}]", r"boards.yaml:1: boards\[0\].host: found nothing"),
        ("boards: [{name: a, host: b, prot: 2}]", "did you mean port"),
        ("boards: [{name: a, host: b, key: id}]", r"boards.yaml:1: boards\[0\].key: found id"),
        ("boards: [{name: a, host: -oProxyCommand=x}]", r"boards\[0\].host"),
        ("phones: [{serial: a}]", r"phones\[0\].power: found nothing"),
        ("boards: []\nboards: []", "boards.yaml:2: "),
        ("- a", "found a list"),
    ],
)
def test_a_mistake_of_the_owner_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "boards.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_owned_devices(str(path))


def test_a_file_of_the_owner_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    """It is not missing, so it does not mean that there are no boards."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "boards.yaml", tmp_path / f"{'b' * 300}.yaml", tmp_path):
        with pytest.raises(InputError, match="MEGTRIM_BOARDS"):
            load_owned_devices(str(path))
