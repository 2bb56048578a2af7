"""The console of this process, apart from all that a session needs: each verb says something."""

from __future__ import annotations

import sys

import click

from megtrim.cli.session.environment import is_in_job
from megtrim.console import Console


def open_console(*, quiet: bool) -> Console:
    """Return the console of this process; until the command ends, no silence lasts long."""
    console = Console(sys.stderr, quiet=quiet, in_job=is_in_job())
    context = click.get_current_context(silent=True)
    if context is not None:
        context.with_resource(console.heartbeat())
    return console
