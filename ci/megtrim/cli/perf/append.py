"""``megtrim perf append``: add runs to the history."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.cli.history_options import HistorySelector, history_options
from megtrim.cli.perf.options import load_run
from megtrim.util.errors import EXIT_PASS


@click.command(
    epilog="""\b
Examples:
  megtrim perf append run.json
  megtrim perf append runs/*.json --branch perf-history
"""
)
@click.argument(
    "files", nargs=-1, metavar="FILE...", required=True, type=click.Path(path_type=Path)
)
@history_options
def append(selector: HistorySelector, files: tuple[Path, ...]) -> int:
    """Add runs to the history, each as a file of its own. Runs that it has are left as they are.

    A branch may be appended to by many jobs at once, and is made if there is none. Nothing of the
    branch or of the project is executed.
    """
    runs = [load_run(path) for path in files]
    where = selector.append(runs)
    show("\n".join(f"{run.path} in {where}" for run in runs))
    return EXIT_PASS
