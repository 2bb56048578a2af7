from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from megtrim.config.device import (
    KINDS,
    KINDS_OF_KEY,
    PATH_KEYS,
    CoolDown,
    DeviceConfig,
    DeviceSettings,
    PowerPort,
    is_on_runner,
)
from megtrim.config.problems import ConfigError
from megtrim.util.strict_json import encode
from unit.config.support import ENGINE, MODEL, load

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
        {
            "name": "d",
            "kind": "adb",
            "class": "any",
            "runner": True,
            "match": {"ro.product.model": "Pixel 6", "ro.build.version.sdk": "33"},
            "power": PowerPort(hub="1-1.4", port=2),
            "cool_down": CoolDown.model_validate({"below": 38.0, "within": "5 minutes"}),
            "governor": "performance",
            "cpus": "4",
            "sysroot": "/roots",
        }
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


def test_paths_of_a_device_are_known() -> None:
    assert PATH_KEYS == ("key", "known_hosts", "sysroot")


@pytest.mark.parametrize("path", ["keys/board", "~root/key", "~/../key", "/a/../b", ""])
def test_a_path_that_a_runner_cannot_find(path: str) -> None:
    """It has no checkout, and a path that climbs out of its folder means another one."""
    assert not is_on_runner(path)
    assert is_on_runner("/etc/key")
    assert is_on_runner("~/.ssh/key")


def test_settings_are_written_as_megtrim_yaml_writes_them() -> None:
    written = {"host": "b", "key": "~/k", "cool_down": {"below": 38.5, "within": "90 s"}}
    settings = DeviceSettings.model_validate(written)

    assert encode(settings) == {
        "cool_down": {"below": 38.5, "within": "90 s"},
        "host": "b",
        "key": "~/k",
    }
    assert DeviceSettings.model_validate(encode(settings)) == settings


def test_a_cool_down_is_ten_minutes_at_most_where_nothing_is_said() -> None:
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
