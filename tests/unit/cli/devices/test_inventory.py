"""Which devices there are, and how they are chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from megtrim.devices.pool.machine import ConnectionState
from unit.cli.devices.bench import Bench


def test_the_listing_says_how_each_device_stands(bench: Bench) -> None:
    """One line each, from which its columns can be read."""
    bench.phone.attached = ConnectionState.OFFLINE
    answer = bench("list")

    assert (answer.status, answer.out) == (
        0,
        "here   local  any   free\npixel  adb    fast  offline\n",
    )


def test_where_no_one_can_look_for_phones_that_is_said(bench: Bench) -> None:
    """On the side: the listing is for all devices."""
    bench.phone.attached = ConnectionState.ABSENT
    answer = bench("list")

    assert answer.status == 0
    assert answer.out.endswith("pixel  adb    fast  not found\n")
    assert answer.err == "phones outside the configuration: no adb server listens\n"


@pytest.mark.parametrize(
    ("pair", "names"),
    [
        ("ro.product.model=Pixel 6", ["pixel"]),
        ("kind=local", ["here"]),
        ("serial=1A2B", ["pixel"]),
        ("class=fast", ["pixel"]),
        ("fingerprint=fake/pixel", ["pixel"]),
        ("system=Linux", ["here"]),
    ],
)
def test_devices_are_chosen_by_what_they_are(bench: Bench, pair: str, names: list[str]) -> None:
    """By properties, by facts, and by what the configuration says."""
    rows = json.loads(bench("list", "--match", pair, "--json").out)["devices"]
    assert [row["name"] for row in rows] == names


def test_without_a_configuration_there_are_the_phones(bench: Bench) -> None:
    """By their serials, in no class."""
    (bench.shell.folder / "megtrim.yaml").unlink()
    bench.phone.name = "1A2B"
    assert bench("list").out == "1A2B  adb  -  free\n"
    assert bench("run", "--", bench.program("echo hi")).out == "hi\n"
    assert not (Path("megtrim-out")).exists()
