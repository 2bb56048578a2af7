"""The options of every command about devices: which ones, and where to look for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from megtrim.cli.devices.inventory import Inventory, InventoryRow, choose, take_stock
from megtrim.cli.echo import open_console
from megtrim.cli.environment import open_processes, read_now
from megtrim.cli.options import out_option

_CONFIG = Path("megtrim.yaml")
_MATCH = "Only devices with this Android property, fact, name, kind, class or serial; repeatable."
_CONFIGURED = "The configuration; if there is none, attached phones are used."


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSelector:
    """Which devices a command is about."""

    config: Path
    out: Path
    match: tuple[str, ...]
    cpu_class: str | None
    quiet: bool

    def stock(self, *, configured: bool = True) -> Inventory:
        """Look for everything. Without a configuration of the usual name there are still phones."""
        missing = self.config == _CONFIG and not self.config.exists()
        config = None if missing or not configured else self.config
        console = open_console(quiet=self.quiet)
        scratch = self.out.resolve() / "runs"
        return take_stock(config, scratch, open_processes(), console, read_now)

    def select_rows(self, stock: Inventory, names: Sequence[str]) -> tuple[InventoryRow, ...]:
        """Return the machines that fit."""
        return choose(stock, names, self.match, self.cpu_class)

    @property
    def narrowed(self) -> bool:
        """Whether devices were chosen by more than their names."""
        return bool(self.match) or self.cpu_class is not None


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select devices, and pass them on as one :class:`DeviceSelector`."""
    path = click.Path(path_type=Path)

    def call_with_selector(**values: Any) -> Any:
        keys = ("config", "out", "match", "cpu_class", "quiet")
        asked = DeviceSelector(**{key: values.pop(key) for key in keys})
        return command(asked, **values)

    call_with_selector.__name__, call_with_selector.__doc__ = command.__name__, command.__doc__
    call_with_selector.__dict__.update(command.__dict__)
    found: Callable[..., Any] = call_with_selector
    for option in reversed(
        (
            click.option("--match", multiple=True, metavar="KEY=VALUE", help=_MATCH),
            click.option(
                "--class", "cpu_class", metavar="NAME", help="Only devices of this CPU class."
            ),
            click.option(
                *("--config", "-c"), type=path, default=_CONFIG, show_default=True, help=_CONFIGURED
            ),
            out_option("Folder for runs on this machine itself."),
            click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
            click.option("--quiet", "-q", is_flag=True, help="Print only warnings and results."),
        )
    ):
        found = option(found)
    return found
