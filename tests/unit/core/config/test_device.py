from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from megtrim.core.config.device import (
    KINDS,
    KINDS_OF_KEY,
    PATH_KEYS,
    CoolDown,
    DeviceConfig,
    DeviceSettings,
    PowerPort,
    is_on_runner,
)
from megtrim.core.config.load import OwnedDevices, load_owned_devices
from megtrim.core.config.problems import ConfigError
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import encode
from unit.core.config.support import ENGINE, MODEL, load

CLASSES = "classes: [{name: any, qemu_cpu: max}]\n"
NEEDED = {"adb": "serial: 1A2B", "ssh": "host: board"}
"""What a kind cannot do without."""
WRITTEN = {
    "sysroot": "/usr/aarch64-linux-gnu",
    "serial": "3C4D",
    "match": "{ro.product.model: Pixel 6}",
    "host": "10.0.0.7",
    "port": "2222",
    "user": "pi",
    "key": "~/.ssh/board",
    "known_hosts": "/etc/ssh/board_known_hosts",
    "power": "{hub: 1-1.4, port: 2}",
    "cool_down": "{below: 38, within: 10 minutes}",
    "governor": "performance",
    "cpus": "4-7",
}


def _load(folder: Path, keys: str) -> DeviceConfig:
    text = f"{ENGINE}{CLASSES}devices:\n- {{name: d, class: any, {keys}}}\n{MODEL}"
    return load(folder, text).config.devices[0]


def test_a_phone_says_all_that_it_can(tmp_path: Path) -> None:
    device = _load(
        tmp_path,
        "kind: adb, runner: true, match: {ro.product.model: Pixel 6, ro.build.version.sdk: 33}, "
        "power: {hub: 1-1.4, port: 2}, cool_down: {below: 38, within: 5 minutes}, "
        "governor: performance, cpus: 4, sysroot: /roots",
    )

    assert device == DeviceConfig.model_validate(
        yaml.safe_load(
            "{name: d, kind: adb, class: any, runner: true, governor: performance, cpus: '4', "
            "match: {ro.product.model: Pixel 6, ro.build.version.sdk: '33'}, sysroot: /roots, "
            "power: {hub: 1-1.4, port: 2}, cool_down: {below: 38.0, within: 300 s}}"
        )
    )
    assert device.cool_down is not None
    assert (device.cool_down.below_c, device.cool_down.within_s) == (38.0, 300.0)


def test_a_board_says_all_that_it_can(tmp_path: Path) -> None:
    device = _load(
        tmp_path,
        "kind: ssh, host: board-1.lab, port: 2222, user: pi, key: keys/board, known_hosts: hosts",
    )

    assert (device.host, device.port, device.user) == ("board-1.lab", 2222, "pi")
    assert (device.key, device.known_hosts) == (Path("keys/board"), Path("hosts"))


def test_settings_are_what_a_device_says_besides_its_name(tmp_path: Path) -> None:
    device = _load(tmp_path, "kind: ssh, host: b, port: 22, runner: true, key: ~/k, cpus: 4")

    assert device.settings == DeviceSettings(host="b", key=Path("~/k"), cpus="4")
    assert device.settings.list_given_keys() == ("host", "key", "cpus")
    assert device.settings.paths() == {"key": Path("~/k")}
    assert device.settings.resolve_paths(lambda path: Path("/h") / path.name) == DeviceSettings(
        host="b", key=Path("/h/k"), cpus="4"
    )


@pytest.mark.parametrize("path", ["keys/board", "~root/key", "~/../key", "/a/../b", ""])
def test_a_path_that_a_runner_cannot_find(path: str) -> None:
    """It has no checkout, and a path that climbs out of its folder means another one."""
    assert PATH_KEYS == ("key", "known_hosts", "sysroot")
    assert not is_on_runner(path)
    assert is_on_runner("/etc/key")
    assert is_on_runner("~/.ssh/key")


def test_settings_are_written_as_megtrim_yaml_writes_them() -> None:
    written = {"host": "b", "key": "~/k", "cool_down": {"below": 38.5, "within": "90 s"}}
    settings = DeviceSettings.model_validate(written)

    assert encode(settings) == written
    assert DeviceSettings.model_validate(encode(settings)) == settings
    # Where nothing is said, a cool-down takes ten minutes at most.
    assert CoolDown.model_validate({"below": 38}).within_s == 600.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", KINDS_OF_KEY)
def test_a_key_fits_its_kinds_and_no_others(tmp_path: Path, kind: str, key: str) -> None:
    needed = NEEDED.get(kind, "")
    given = "" if needed.startswith(f"{key}:") or (kind, key) == ("adb", "match") else needed
    keys = f"kind: {kind}, {given + ', ' if given else ''}{key}: {WRITTEN[key]}"
    if kind in KINDS_OF_KEY[key]:
        assert _load(tmp_path, keys).kind == kind
        return

    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, keys)

    (problem,) = caught.value.problems
    assert (problem.line, problem.key) == (5, f"devices[0].{key}")
    assert problem.found.startswith("a key of kind ")
    assert problem.found.endswith(f" on a device of kind {kind}")
    assert problem.expected.startswith(f"a key of kind {kind}: name, kind, class")


@given(st.text(max_size=12))
def test_no_text_becomes_an_option_of_a_program(text: str) -> None:
    """Hosts, users, serials, hubs and governors end up on command lines."""
    for key in ("host", "user", "serial", "governor"):
        try:
            device = DeviceConfig.model_validate({"name": "d", "class": "any", key: text})
        except ValidationError:
            continue
        value = getattr(device, key)
        assert value == text
        assert value[0].isalnum() or value[0] in "_:"
        assert not set(value) & set(" \t\n;&|$`'\"\\<>(){}*?!@/=")


OWNER = """\
boards:
  - {name: rock-5, host: rock.lan, user: tester, key: ~/.ssh/board, known_hosts: /etc/known}
  - {name: rock-6, host: rock6.lan, port: 2222, power: {hub: 1-1, port: 2}}
phones:
  - {serial: 1A2B, power: {hub: 1-1, port: 4}}
"""
ASKED = DeviceSettings.model_validate(
    yaml.safe_load(
        "{host: evil.lan, port: 23, user: root, key: /bundle/key, known_hosts: /bundle/known, "
        "power: {hub: 9-9, port: 9}, cpus: 4-7}"
    )
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
        with pytest.raises(InputError, match="has not listed such a board"):
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
