"""The options of every command about devices, as one value."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from megtrim.cli.devices.options import DeviceSelector, asking
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
    """Other parameters of a command stay its own."""
    answer = CliRunner().invoke(command, arguments)

    assert answer.output == f"{said}\n"


def test_a_command_keeps_its_name_and_help() -> None:
    """With the options of all."""
    text = CliRunner().invoke(command, ["--help"]).output

    assert command.name == "command"
    assert "Show what was asked." in text
    assert all(option in text for option in ("--match", "--class", "--config", "--out", "--json"))


def test_without_the_usual_configuration_there_are_phones(bench: Bench) -> None:
    """A named one must be there."""
    (bench.shell.folder / "megtrim.yaml").unlink()
    selector = DeviceSelector(
        config=Path("megtrim.yaml"), out=Path("out"), match=(), cpu_class=None, quiet=True
    )

    [row] = selector.select_rows(selector.stock(), ())
    assert (row.entry.configured, row.standing.key) == (False, "adb:1A2B")
    assert bench("list", "--config", "other.yaml").status == 2
