"""``megtrim clean``: old results and build trees go, and what the next run needs stays."""

from pathlib import Path

from megtrim.core.chain.cleanup import (
    expect_results,
    list_leftovers,
    list_unmarked,
    remove,
    remove_rest,
)
from megtrim.core.cli.echo import open_console, show
from megtrim.core.config.units import format_bytes
from megtrim.libs.render.formatting import align_columns, group_digits


def clean(out: Path, everything: bool, dry_run: bool, quiet: bool) -> None:
    root = out.resolve()
    console = open_console(quiet=quiet)
    expect_results(root)
    unmarked = list(list_unmarked(root))
    rows = []
    total = 0
    for leftover in list_leftovers(root, everything=everything):
        size_bytes = leftover.size_bytes
        console.note(f"removing {leftover.what}")
        if dry_run or remove(leftover, console.say):
            place = str(leftover.path.relative_to(root))
            rows.append((group_digits(size_bytes), leftover.what, place))
            total += size_bytes
    for path in unmarked:
        console.warn(f"{path.relative_to(root)} stays: an earlier version or a person made it")
    if everything and not dry_run:
        remove_rest(root)
    if rows and not quiet:
        show("\n".join(align_columns(("bytes", "what", "folder"), rows, ("what", "folder"))))
    verb = "would remove" if dry_run else "removed"
    show(f"{verb} {format_bytes(total)} from {out}" if rows else f"{out}: nothing to remove")
