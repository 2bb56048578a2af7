"""Which devices there are, and how they are chosen."""

import json
from pathlib import Path

import pytest

from megtrim.devices.device import ConnectionState
from unit.cli.devices.bench import Bench


def test_without_the_usual_configuration_there_are_phones(bench: Bench) -> None:
    (bench.shell.folder / "megtrim.yaml").unlink()
    [row] = json.loads(bench("list", "--json").out)["devices"]

    assert (row["configured"], row["key"]) == (False, "adb:1A2B")
    assert bench("list", "--config", "other.yaml").status == 2


def test_the_listing_says_how_each_device_stands(bench: Bench) -> None:
    bench.phone.attached = ConnectionState.OFFLINE
    answer = bench("list")

    assert (answer.status, answer.out) == (
        0,
        "here   local  any   free\npixel  adb    fast  offline\n",
    )


def test_where_no_one_can_look_for_phones_that_is_said(bench: Bench) -> None:
    bench.phone.attached = ConnectionState.ABSENT
    answer = bench("list").expect(0)
    assert answer.out.endswith("pixel  adb    fast  not found\n")
    assert answer.err == "phones outside the configuration: no adb server listens\n"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("1A2B",), ["pixel"]),
        (("pixel", "here"), ["here", "pixel"]),
        (("--class", "fast"), ["pixel"]),
    ],
)
def test_devices_are_chosen_by_name_serial_or_class(
    bench: Bench, words: tuple[str, ...], names: list[str]
) -> None:
    rows = json.loads(bench("list", *words, "--json").out)["devices"]
    assert [row["name"] for row in rows] == names


def test_without_a_configuration_there_are_the_phones(bench: Bench) -> None:
    (bench.shell.folder / "megtrim.yaml").unlink()
    bench.phone.name = "1A2B"
    assert bench("list").out == "1A2B  adb  -  free\n"
    assert bench("run", "--", bench.program("echo hi")).out == "hi\n"
    assert not (Path("megtrim-out")).exists()
