"""``megtrim size append``: add the sizes of commits to the history."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.cli.history_options import HistorySelector, history_options
from megtrim.cli.size.stored_files import load_commit_sizes
from megtrim.errors import EXIT_PASS


@click.command(
    epilog="""\b
Examples:
  megtrim size append megtrim-out/final/sizes.json
  megtrim size append runs --branch perf-history
"""
)
@click.argument(
    "files", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
)
@history_options
def append(selector: HistorySelector, files: tuple[Path, ...]) -> int:
    """Add the sizes of commits to the history, each as a file of its own.

    PATH is a sizes.json, or a folder with some at any depth. What says no commit, or is of files
    that differ from it, has no place in a history: it is named and left out. Sizes that are there
    already are left as they are. A branch may be appended to by many jobs at once.
    """
    entries = load_commit_sizes(files)
    if not entries:
        show("found no sizes of a commit: the history stays as it is")
        return EXIT_PASS
    where = selector.append(entries)
    show("\n".join(f"{each.path} in {where}" for each in entries))
    return EXIT_PASS
