"""What the command line prints as its result, on stdout."""

from __future__ import annotations

import os
import sys

import click


def show(text: str) -> None:
    """Print a result. A reader that left (``| head``) changes nothing about the exit status."""
    try:
        click.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more when it ends, and must find something that takes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
