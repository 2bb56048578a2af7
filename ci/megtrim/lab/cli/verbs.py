"""The verbs of ``megtrim devices``: their options and help."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

import click

from megtrim.core.cli.later import call_later, do_later
from megtrim.core.cli.options import (
    PATH,
    Command,
    add_options,
    examples,
    json_option,
    out_option,
    quiet_option,
)

CONFIG = Path("megtrim.yaml")
_CONFIG_HELP = "The configuration; if there is none, attached phones are used."


def asking(command: Command) -> Command:
    select = call_later("lab.cli.inventory:DeviceSelector")

    @wraps(command)
    def call_with_selector(**values: Any) -> Any:
        keys = ("names", "config", "out", "cpu_class", "quiet")
        return command(select(**{key: values.pop(key) for key in keys}), **values)

    return add_options(
        call_with_selector,
        click.option(
            "--class", "cpu_class", metavar="NAME", help="Only devices of this CPU class."
        ),
        click.option(
            "--config", "-c", type=PATH, default=CONFIG, show_default=True, help=_CONFIG_HELP
        ),
        out_option("Folder for runs on this machine itself."),
        json_option,
        quiet_option,
    )


PROGRAM = "megtrim.devices.program"
"""Where a click context keeps what stood behind ``--``."""


class WithProgram(click.Command):
    """A command whose line ends with ``-- PROGRAM [ARG]...``, none of which are options."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        here = args.index("--") if "--" in args else len(args)
        context.meta[PROGRAM] = tuple(args[here + 1 :])
        return super().parse_args(context, args[:here])


_names_argument = click.argument("names", nargs=-1, metavar="[NAME]...")


@click.group()
def devices() -> None:
    """List devices, check them, run programs on them, and look after them."""


@examples("megtrim devices list", "megtrim devices list --facts --class armv82-dotprod")
@devices.command("list")
@_names_argument
@click.option(
    "--facts",
    "with_facts",
    is_flag=True,
    help="Also ask each machine for its facts, such as model and temperature.",
)
@asking
@do_later("lab.cli.group:list_devices")
def list_devices() -> None:
    """Print every device with its state, and the reason for it.

    The list has the devices of the configuration and all phones that adb shows. A phone with
    several addresses is one device. `free` means that no job uses it; `megtrim devices check` shows
    whether it works.
    """


@examples("megtrim devices check", "megtrim devices check pixel-6 --json")
@devices.command()
@_names_argument
@click.option("--no-wait", is_flag=True, help="Skip devices that a job uses.")
@asking
@do_later("lab.cli.group:check")
def check() -> None:
    """Check that devices answer, store files, and run programs with the exact exit status.

    A device that passes is restored if megtrim itself put it in quarantine; if a person did, a
    person restores it. Exits with 3 if a device fails.
    """


@examples("megtrim devices recover pixel-6", "megtrim devices recover --class armv82-dotprod")
@devices.command()
@_names_argument
@asking
@do_later("lab.cli.group:recover")
def recover() -> None:
    """Recover devices: reconnect, wait, switch power, reboot; then check them.

    Power is switched if `power` is configured. A device is rebooted once, and at most three times a
    day. Without names, it recovers all devices that are not free. Exits with 3 if a device stays
    offline.
    """


@examples(
    "megtrim devices run pixel-6 -- ./benchmark --threads 4",
    "megtrim devices run --class armv82-dotprod --put model.mge -- load_and_run model.mge",
)
@devices.command(cls=WithProgram, options_metavar="[OPTIONS]")
@click.argument("names", nargs=-1, metavar="[NAME]... -- PROGRAM [ARG]...")
@click.option(
    "--put",
    multiple=True,
    metavar="FILE",
    type=PATH,
    help="A file to copy next to the program, under its own name; repeatable.",
)
@click.option(
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="Environment variable for the program; repeatable.",
)
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    type=click.IntRange(1, 7 * 86_400),
    default=600,
    show_default=True,
    help="Longest time that a run may take.",
)
@asking
@click.pass_context
@do_later("lab.cli.group:run")
def run() -> None:
    """Copy a local program to a device, run it there, and print its output.

    The first matching device that is free runs it. Exits with 1 if the program fails, and prints
    its exit status or signal; exits with 3 if the device fails.
    """


@examples("megtrim devices clean --attached", "megtrim devices clean pixel-6")
@devices.command()
@_names_argument
@click.option(
    "--attached",
    is_flag=True,
    help="Clean every phone that adb shows and every board that the owner of this machine lists, "
    "configured or not.",
)
@asking
@do_later("lab.cli.group:clean")
def clean() -> None:
    """End stray programs on phones and boards, and remove all files that megtrim copied there.

    Those that a job uses are skipped. One that cannot be cleaned is put in quarantine. Exits
    with 3 if nothing was cleaned and nothing is in use.
    """


_required_names = click.argument("names", nargs=-1, metavar="NAME...", required=True)


@examples('megtrim devices quarantine pixel-6 --reason "battery is swollen"')
@devices.command()
@_required_names
@click.option("--reason", required=True, help="Reason, which `devices list` shows.")
@asking
@do_later("lab.cli.quarantine:quarantine")
def quarantine() -> None:
    """Give devices no more jobs until a person restores them. A running job is not interrupted."""


@examples("megtrim devices restore pixel-6")
@devices.command()
@_required_names
@asking
@do_later("lab.cli.quarantine:restore")
def restore() -> None:
    """Lift a quarantine, whoever set it.

    If the record of a device is damaged, it is moved aside, and a new one is begun.
    """
