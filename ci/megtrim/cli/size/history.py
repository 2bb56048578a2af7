"""``megtrim size history``: how sizes changed over the commits whose sizes were kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from megtrim.build_spec import Variant
from megtrim.cli.echo import show
from megtrim.config.units import format_bytes, format_growth
from megtrim.errors import EXIT_PASS, InputError
from megtrim.pipeline.filenames import SIZES_FILE
from megtrim.report.formatting import align_columns, group_digits
from megtrim.size.baseline import load_sizes
from megtrim.size.history import SizeTrend, make_trends
from megtrim.strict_json import encode

_COMMIT_DIGITS = 12


@click.command(
    epilog="""\b
Files of earlier runs: gh run download --name megtrim-baseline --dir runs/1234 1234

\b
Examples:
  megtrim size history runs
  megtrim size history runs --variant plain --json
"""
)
@click.argument(
    "files", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
)
@click.option(
    "--variant",
    default=Variant.REDUCED.value,
    show_default=True,
    type=click.Choice([each.value for each in Variant]),
    help="The build whose sizes are shown.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all points as JSON.")
def history(files: tuple[Path, ...], variant: str, as_json: bool) -> int:
    """Print the size of each artifact at each commit, oldest first.

    PATH is a sizes.json, such as runs of the default branch store in megtrim-baseline, or a folder
    with some at any depth. Two of one commit count once; what says no commit is left out, and so
    are quick trims.
    """
    stored = [load_sizes(path, shown=str(path)) for path in _list_files(files)]
    trends = make_trends(stored, variant=variant)
    show(
        json.dumps({"version": 1, "trends": encode(trends)}, indent=1)
        if as_json
        else "\n\n".join("\n".join(_draw(each)) for each in trends) or "no sizes say their commit"
    )
    return EXIT_PASS


def _list_files(paths: tuple[Path, ...]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.rglob(SIZES_FILE)) if path.is_dir() else [path]
        if not found:
            msg = f"{path}: found no {SIZES_FILE} in this folder, expected at least one"
            raise InputError(msg, hint="download the artifacts that runs stored into it")
        yield from found


def _draw(trend: SizeTrend) -> Iterator[str]:
    rows = [
        (
            each.committed_at[:10],
            each.commit[:_COMMIT_DIGITS],
            group_digits(each.size_bytes),
            format_bytes(each.size_bytes),
            "" if each.growth_bytes is None else format_growth(each.growth_bytes),
        )
        for each in trend.points
    ]
    yield f"{trend.artifact} {trend.variant}"
    yield from align_columns(("day", "commit", "bytes", "size", "change"), rows, ("day", "commit"))
