"""``virtual-phone``: phones to rehearse with, and what may go wrong with them.

It also runs in an image with little more than Python, click, filelock, ``process`` and ``errors``.
"""

import json
import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from megtrim.libs.util.errors import InputError, MegtrimError
from megtrim.libs.util.process import ProcessRunner
from virtual_phone import manager
from virtual_phone.adb_server import AdbServer, connect, private_server
from virtual_phone.faults.request import ABOUT, FaultTrigger, make_request
from virtual_phone.manager import RunningPhone
from virtual_phone.spec import PhoneSpec
from virtual_phone.system import rootfs as roots

_MIB = 1024 * 1024
_WAIT_S = 1.0
_FAULTS = "\b\nFaults:\n" + "\n".join(f"  {fault:<13} {about}" for fault, about in ABOUT.items())
_FAULT_EXAMPLES = """\
\b
Examples:
  virtual-phone fault mine freeze --for 20
  virtual-phone fault mine vanish --when push --after 3000000
  virtual-phone fault mine reset
"""


class _Program(click.Group):
    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except MegtrimError as error:
            click.echo(f"virtual-phone: {error}", err=True)
            context.exit(error.exit_code)


@click.group(
    "virtual-phone",
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def main() -> None:
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


@main.command(
    "root",
    epilog="""\b
Examples:
  virtual-phone root
  virtual-phone root --mirror https://mirror.example/debian
""",
)
@_mirror
def make_root(mirror: str | None) -> None:
    """Make the files that phones share, from Debian's packages, and print their folder."""
    click.echo(roots.provide(ProcessRunner(os.environ), mirror=mirror))


@main.command(
    "check",
    epilog="""\b
Example:
  virtual-phone check
""",
)
def check_machine() -> None:
    """Print the programs that play phones on this machine; exit with 2 if something is missing."""
    processes = ProcessRunner(os.environ)
    played_by = manager.emulator(processes) or "this machine's own CPU"
    click.echo(f"{roots.describe(processes)}; arm64 programs by {played_by}")


@main.command(
    epilog="""\b
Examples:
  virtual-phone start
  virtual-phone start mine --cpu cortex-a76 --property "ro.product.model=Mine"
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
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="Folder with the system of an Android, for programs that need its loader.",
)
@click.option(
    "--adb-server",
    metavar="ADB",
    help="Also run an adb server of this program, on a port of its own, connected to the phone.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write serial and adb_port as JSON to this file once the phone can be used.",
)
@_mirror
@_root_folder
def start(
    name: str,
    mirror: str | None,
    folder: Path | None,
    adb_server: str | None,
    ready_file: Path | None,
    android: str | None,
    storage: int,
    properties: tuple[str, ...],
    **options: Any,
) -> None:
    """Run a phone until Ctrl-C. `adb connect` takes the address that is printed."""
    processes = ProcessRunner(os.environ)
    asked = PhoneSpec(
        name=name,
        android=android or "",
        data_bytes=storage * _MIB,
        properties=dict(words.partition("=")[::2] for words in properties),
        **options,
    )
    root = folder or roots.provide(processes, mirror=mirror)
    with ExitStack() as stack:
        phone = stack.enter_context(manager.run_phone(processes, root, asked))
        server = None
        if adb_server:
            server = stack.enter_context(private_server(processes, adb_server, parent=phone.folder))
            connect(processes, server, phone.serial)
        _announce(phone, server, ready_file)
        # Ctrl-C is how it is meant to end.
        with suppress(KeyboardInterrupt):
            while phone.alive():
                time.sleep(_WAIT_S)


def _announce(phone: RunningPhone, server: AdbServer | None, ready_file: Path | None) -> None:
    reach = f"adb -P {server.port} -s {phone.serial}" if server else f"adb connect {phone.serial}"
    click.echo(f"phone {phone.name} runs: {reach}")
    if ready_file:
        address = {"serial": phone.serial, **({"adb_port": server.port} if server else {})}
        new = ready_file.with_suffix(".new")
        try:
            new.write_text(json.dumps(address), encoding="utf-8")
            # Those who wait for it never see half of it.
            new.rename(ready_file)
        except OSError as error:
            msg = f"{ready_file} cannot be written: {error.strerror}"
            raise InputError(msg) from None


@main.command(epilog=f"{_FAULT_EXAMPLES}\n{_FAULTS}")
@click.argument("name")
@click.argument("fault", metavar="FAULT")
@click.argument("value", type=float, required=False)
@click.option(
    "--when",
    "moment",
    metavar="MOMENT",
    help=f"Not now, but then: {', '.join(list(FaultTrigger)[1:])}.",
)
@click.option("--nth", default=1, show_default=True, help="At which of these moments, counted.")
@click.option("--after", "after_bytes", type=int, help="So many bytes into a push or a pull.")
@click.option("--delay", "delay_s", default=0.0, help="So many seconds after the moment.")
@click.option("--for", "for_s", type=float, help="Undo it after so many seconds.")
def fault(name: str, fault: str, **more: Any) -> None:
    """Make something go wrong with a phone, or right again."""
    request = make_request(fault, **more)
    manager.find(ProcessRunner(os.environ), name).give(request)


@main.command(
    "list",
    epilog="""\b
Example:
  virtual-phone list
""",
)
def list_phones() -> None:
    """List the phones that run: name, address, state, faults still to come."""
    for phone in manager.running(ProcessRunner(os.environ)):
        status = phone.status()
        waiting = [", ".join(status["waiting"])] if status["waiting"] else []
        click.echo("\t".join((phone.name, phone.serial, status["state"], *waiting)))


def run() -> None:
    # Whoever ends it by a signal, such as a cancelled job, means what Ctrl-C means.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGINT:
            signal.signal(number, signal.default_int_handler)
    main(prog_name="virtual-phone")
