"""Options for the history that a command reads or appends to."""

from datetime import date
from functools import wraps
from pathlib import Path
from typing import Any

import click

from megtrim.core.cli.later import call_later
from megtrim.core.cli.options import PATH, Command, add_options

DEFAULT_FOLDER = "perf-history"


def history_options(command: Command) -> Command:
    select = call_later("core.cli.history_selector:HistorySelector")

    @wraps(command)
    def call_with_selector(**values: Any) -> Any:
        keys = ("folder", "branch", "remote", "repository")
        return command(select(**{key: values.pop(key) for key in keys}), **values)

    return add_options(
        call_with_selector,
        click.option(
            "--history",
            "folder",
            type=PATH,
            default=Path(DEFAULT_FOLDER),
            show_default=True,
            help="Folder of the history.",
        ),
        click.option("--branch", default="", help="Branch of the history, instead of a folder."),
        click.option(
            "--remote", default="origin", show_default=True, help="Remote that has the branch."
        ),
        click.option(
            "--repository",
            type=PATH,
            default=Path(),
            help="Checkout with that remote. [default: the current folder]",
        ),
    )


def parse_day(_ctx: click.Context, _param: click.Parameter, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        msg = f"found {text!r}, expected a day such as 2026-10-01"
        raise click.BadParameter(msg) from None
