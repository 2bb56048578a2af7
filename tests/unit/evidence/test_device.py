"""A device as a bundle describes it: all that a runner needs, and nothing of another shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megtrim.config.device import CoolDown, DeviceSettings, PowerPort
from megtrim.evidence.bundle import dump_bundle, parse_bundle
from megtrim.util.errors import InputError
from unit.evidence.support import bundle, changed, device, put

PHONE = DeviceSettings(
    sysroot=Path("~/roots"),
    match={"ro.product.model": "Pixel 6", "ro.build.version.sdk": "33"},
    power=PowerPort(hub="1-1.4", port=2),
    cool_down=CoolDown.model_construct(below_c=38.0, within_s=600.0),
    governor="performance",
    cpus="4-7",
)
BOARD = DeviceSettings(
    host="board.lab",
    port=2222,
    user="pi",
    key=Path("~/.ssh/board"),
    known_hosts=Path("/etc/hosts.pub"),
)
PHONES = dump_bundle(bundle(devices=(device(kind="adb", settings=PHONE),)))
BOARDS = dump_bundle(bundle(devices=(device(kind="ssh", settings=BOARD),)))


def refused(text: str, *path: str | int, value: Any) -> str:
    """Return what is said of a document with that value at ``devices[0].settings``."""
    with pytest.raises(InputError) as caught:
        parse_bundle(changed(text, put("devices", 0, "settings", *path, value=value)), source="b")
    return caught.value.message


@pytest.mark.parametrize("text", [PHONES, BOARDS])
def test_it_comes_back_as_it_went(text: str) -> None:
    """With every key that its kind has."""
    assert dump_bundle(parse_bundle(text, source="b")) == text
    assert parse_bundle(PHONES, source="b").devices[0].settings == PHONE
    assert parse_bundle(BOARDS, source="b").devices[0].settings == BOARD


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("match",), {"-r": "x"}, "the name of an Android property"),
        (("match",), {"ro.a": ""}, "the property's whole value"),
        (("match",), {"ro.a": "x" * 201}, "the property's whole value"),
        (("match",), {"ro.a": "x\ny"}, "the property's whole value"),
        (("match",), {"ro.a": "x\x1b"}, "one line"),
        (("match",), {f"ro.{n}": "1" for n in range(33)}, "at most 32 entries"),
        (("power", "hub"), "/dev/bus/usb", "a hub as uhubctl names it"),
        (("power", "hub"), "1-1\n", "a hub as uhubctl names it"),
        (("power", "port"), 0, "a whole number from 1 to 64"),
        (("power", "port"), 65, "a whole number from 1 to 64"),
        (("power", "port"), True, "a whole number"),
        (("power", "volts"), 5, "no such key"),
        (("cool_down", "below"), 9.0, "10 or more"),
        (("cool_down", "below"), 121.0, "120 or less"),
        (("cool_down", "below"), "40", "a number"),
        (("cool_down", "within"), "0 s", "a duration of more than no time"),
        (("cool_down", "within"), "86401 s", "a duration of at most a day"),
        (("governor",), "x;reboot", "a governor"),
        (("cpus",), "4-7;8", "numbers of CPUs"),
        (("sysroot",), "roots", "a path of the runner"),
        (("sysroot",), "/a/../b", "a path of the runner"),
    ],
)
def test_a_phone_of_another_shape_is_refused(
    path: tuple[str, ...], value: Any, expected: str
) -> None:
    """These end up on command lines of the runner."""
    assert f"expected {expected}" in refused(PHONES, *path, value=value)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("host", "-oProxyCommand=id", "a host's name or address"),
        ("host", "a b", "a host's name or address"),
        ("host", "h" * 201, "a host's name or address"),
        ("port", 0, "a whole number from 1 to 65535"),
        ("port", 65_536, "a whole number from 1 to 65535"),
        ("user", "root@h", "the name of a user"),
        ("user", "-l", "the name of a user"),
        ("key", "keys/board", "a path of the runner: /... or ~/..."),
        ("key", "~root/key", "a path of the runner: /... or ~/..."),
        ("key", "~/../key", "a path of the runner: /... or ~/..."),
        ("key", "/a\x00", "one line"),
        ("known_hosts", "-x", "a path of the runner: /... or ~/..."),
    ],
)
def test_a_board_of_another_shape_is_refused(key: str, value: Any, expected: str) -> None:
    """These end up on command lines of the runner."""
    assert f"expected {expected}" in refused(BOARDS, key, value=value)


@pytest.mark.parametrize(
    ("text", "key", "value", "said"),
    [
        (PHONES, "host", "board", "device pixel-6: host: found 'adb', expected a kind that has it"),
        (BOARDS, "serial", "1A", "device pixel-6: serial: found 'ssh', expected a kind that has"),
        (PHONES, "match", {}, "device pixel-6: found [], expected serial or match"),
        (PHONES, "serial", "1A", "found ['serial', 'match'], expected serial or match"),
        (BOARDS, "host", None, "device pixel-6: found 'no host', expected one"),
    ],
)
def test_keys_fit_the_kind(text: str, key: str, value: Any, said: str) -> None:
    """As in the configuration: a phone that no one names could be any."""
    assert said in refused(text, key, value=value)


def test_only_keys_that_are_set_are_written() -> None:
    """As in megtrim.yaml, whose keys they are."""
    assert DeviceSettings().list_given_keys() == ()
    assert PHONE.list_given_keys() == ("power", "sysroot", "match", "cool_down", "governor", "cpus")
    assert BOARD.list_given_keys() == ("host", "port", "user", "key", "known_hosts")
