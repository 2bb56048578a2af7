"""``megtrim virtual-phone``: phones to rehearse with, and what may go wrong with them.

It is also a program of its own, in an image that has little more than Python: nothing here may
import what needs the rest of megtrim's packages.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.environment import open_processes
from megtrim.errors import EXIT_PASS, MegtrimError
from virtual_phone import manager
from virtual_phone.faults.request import ABOUT, FaultTrigger, make_request
from virtual_phone.manager import PhoneRequest, RunningPhone
from virtual_phone.system import rootfs as roots

_MIB = 1024 * 1024
_WAIT_S = 1.0
_FAULTS = "\b\nFaults:\n" + "\n".join(f"  {fault:<13} {about}" for fault, about in ABOUT.items())
_FAULT_EXAMPLES = """\
\b
Examples:
  megtrim virtual-phone fault mine freeze --for 20
  megtrim virtual-phone fault mine vanish --when push --after 3000000
  megtrim virtual-phone fault mine reset
"""


@click.group("virtual-phone")
def virtual_phone() -> None:
    """Run a phone without a phone: a real adbd, arm64 programs through qemu, faults on command."""


_mirror = click.option(
    "--mirror", help="Debian mirror to get packages from. Default: this machine's own."
)
_root_folder = click.option(
    "--root",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Use this folder of unpacked packages instead of making one.",
)


@virtual_phone.command(
    "root",
    epilog="""\b
Examples:
  megtrim virtual-phone root
  megtrim virtual-phone root --mirror https://mirror.example/debian
""",
)
@_mirror
def make_root(mirror: str | None) -> int:
    """Make the files that phones share, from Debian's packages, and print where they are."""
    show(str(roots.provide(open_processes(), mirror=mirror).path))
    return EXIT_PASS


@virtual_phone.command(
    epilog="""\b
Examples:
  megtrim virtual-phone start
  megtrim virtual-phone start mine --cpu cortex-a76 --property "ro.product.model=Mine"
"""
)
@click.argument("name", default="phone")
@click.option("--cpu", default="max", show_default=True, help="CPU to be, as qemu names it.")
@click.option("--port", default=0, help="Port to connect to. Default: any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--rooted", is_flag=True, help="Its shell is root, and may set governors.")
@click.option("--storage", default=1024, show_default=True, help="Storage of /data in MiB.")
@click.option("--boot", "boot_s", default=2.0, show_default=True, help="Seconds a reboot takes.")
@click.option("--property", "properties", multiple=True, metavar="KEY=VALUE", help="For getprop.")
@click.option(
    "--android",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with the system of an Android, for programs that need its loader.",
)
@_mirror
@_root_folder
def start(name: str, mirror: str | None, folder: Path | None, **wish: Any) -> int:
    """Run a phone until Ctrl-C. `adb connect` takes the address that is printed."""
    processes = open_processes()
    properties = dict(each.partition("=")[::2] for each in wish.pop("properties"))
    asked = PhoneRequest(
        name=name, data_bytes=wish.pop("storage") * _MIB, properties=properties, **wish
    )
    root = folder or roots.provide(processes, mirror=mirror).path
    with manager.run_phone(processes, root, asked) as phone:
        show(f"phone {phone.name} runs: adb connect {phone.serial}")
        # Ctrl-C is how it is meant to end.
        with suppress(KeyboardInterrupt):
            while phone.alive():
                time.sleep(_WAIT_S)
    return EXIT_PASS


@virtual_phone.command(epilog=f"{_FAULT_EXAMPLES}\n{_FAULTS}")
@click.argument("name")
@click.argument("fault", metavar="FAULT")
@click.argument("value", type=float, required=False)
@click.option(
    "--when",
    "moment",
    metavar="MOMENT",
    help=f"Not now, but then: {', '.join(list(FaultTrigger)[1:])}.",
)
@click.option("--nth", default=1, show_default=True, help="At the how-manieth of these moments.")
@click.option("--after", "after_bytes", type=int, help="So many bytes into a push or a pull.")
@click.option("--delay", "delay_s", default=0.0, help="So many seconds after the moment.")
@click.option("--for", "for_s", type=float, help="Undo it after so many seconds.")
def fault(name: str, fault: str, **more: Any) -> int:
    """Make something go wrong with a phone, or right again."""
    request = make_request(fault, **more)
    manager.find(open_processes(), name).control.give(request)
    return EXIT_PASS


@virtual_phone.command(
    "list",
    epilog="""\b
Example:
  megtrim virtual-phone list
""",
)
def list_phones() -> int:
    """List the phones that run: name, address, state, faults still to come."""
    for phone in manager.running(open_processes()):
        show(_line(phone))
    return EXIT_PASS


def _line(phone: RunningPhone) -> str:
    status = phone.control.status()
    waiting = ", ".join(status["waiting"])
    return f"{phone.name}\t{phone.serial}\t{status['state']}" + (f"\t{waiting}" if waiting else "")


class _Alone(click.Group):
    """The group as the whole program, which makes an exit status of a failure itself."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except MegtrimError as error:
            click.echo(f"virtual-phone: {error}", err=True)
            context.exit(error.exit_code)


if __name__ == "__main__":
    _Alone(virtual_phone.name, commands=virtual_phone.commands, help=virtual_phone.help)()
