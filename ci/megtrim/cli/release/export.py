"""``megtrim export``: what was trimmed, under stable names, in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, trimming
from megtrim.cli.stage.chain import run_chain
from megtrim.errors import EXIT_PASS, worst_exit_code
from megtrim.packaging.archive import is_archive, write_archive
from megtrim.packaging.collect import collect_export
from megtrim.packaging.files import ReleaseFile, expect_new, write_folder
from megtrim.pipeline.session import Session
from megtrim.plan.graph import Stage


@click.command(
    epilog="""\b
Examples:
  megtrim export trimmed
  megtrim export trimmed --committed
"""
)
@trimming
@click.argument("folder", type=click.Path(path_type=Path))
def export(folder: Path, **options: Any) -> int:
    """Trim, and write programs, libraries, headers and a CMake package to FOLDER.

    Next to them are the keep set, the configuration, licences, sizes, the report, and a README
    that says what this can run. Nothing is written if the verdict is a failure.
    """
    session, status = trim_for_release(Options(**options), folder)
    return status or leave(collect_export(session), folder)


def trim_for_release(options: Options, folder: Path) -> tuple[Session, int]:
    """Run the chain; return it with its exit status: anything but 0, and nothing is written."""
    expect_new(folder)
    session, codes = run_chain(options, Stage.REPORT, as_json=False, accept=False)
    status = worst_exit_code(codes)
    if status != EXIT_PASS:
        session.services.console.warn(f"nothing was written to {folder}: the trim did not succeed")
    return session, status


def leave(files: tuple[ReleaseFile, ...], path: Path) -> int:
    """Write the files to a folder or an archive, and say where they are."""
    (write_archive if is_archive(path) else write_folder)(files, path)
    show(f"{len(files)} files in {path}")
    return EXIT_PASS
