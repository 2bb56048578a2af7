"""Which devices there are, and how they are chosen."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from megtrim.cli.devices.inventory import DeviceSelector, asking
from megtrim.devices.pool.machine import ConnectionState
from unit.cli.devices.bench import Bench


@click.command()
@asking
@click.argument("name", required=False)
def command(asked: DeviceSelector, name: str | None, as_json: bool) -> None:
    """Show what was asked."""
    click.echo(f"{asked.match} {asked.cpu_class} {asked.config} {asked.narrowed} {name} {as_json}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "() None megtrim.yaml False None False"),
        (("pixel", "--json"), "() None megtrim.yaml False pixel True"),
        (("--match", "a=b", "--match", "c=d"), "('a=b', 'c=d') None megtrim.yaml True None False"),
        (("--class", "fast", "-c", "x.yaml"), "() fast x.yaml True None False"),
    ],
)
def test_options_are_passed_on_as_one_value(arguments: tuple[str, ...], said: str) -> None:
    answer = CliRunner().invoke(command, arguments)

    assert answer.output == f"{said}\n"


def test_a_command_keeps_its_name_and_help() -> None:
    text = CliRunner().invoke(command, ["--help"]).output

    assert command.name == "command"
    assert "Show what was asked." in text
    assert all(option in text for option in ("--match", "--class", "--config", "--out", "--json"))


def test_without_the_usual_configuration_there_are_phones(bench: Bench) -> None:
    (bench.shell.folder / "megtrim.yaml").unlink()
    selector = DeviceSelector(
        config=Path("megtrim.yaml"), out=Path("out"), match=(), cpu_class=None, quiet=True
    )

    [row] = selector.select_rows(selector.stock(), ())
    assert (row.entry.configured, row.standing.key) == (False, "adb:1A2B")
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
    rows = json.loads(bench("list", "--match", pair, "--json").out)["devices"]
    assert [row["name"] for row in rows] == names


def test_without_a_configuration_there_are_the_phones(bench: Bench) -> None:
    (bench.shell.folder / "megtrim.yaml").unlink()
    bench.phone.name = "1A2B"
    assert bench("list").out == "1A2B  adb  -  free\n"
    assert bench("run", "--", bench.program("echo hi")).out == "hi\n"
    assert not (Path("megtrim-out")).exists()
