"""What the command line prints as its result, on stdout."""

from __future__ import annotations

import os
import sys

import click

from megtrim.console import CLEAR_LINE


def show(text: str) -> None:
    """Print a result. A reader that ended (``| head``) does not change the exit status."""
    if sys.stderr.isatty():
        click.echo(CLEAR_LINE, err=True, nl=False)  # progress may be shown there
    try:
        click.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again when it ends, and needs something to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
