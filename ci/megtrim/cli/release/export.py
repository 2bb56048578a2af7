"""``megtrim export``: what was trimmed, under stable names, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any

import click

from megtrim.chain.graph import Stage
from megtrim.chain.session import Session
from megtrim.checks.invocation import Options
from megtrim.cli.echo import show
from megtrim.cli.options import trimming
from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.cli.stage import run_chain
from megtrim.release.aar import make_aar, read_exported
from megtrim.release.archive import (
    ReleaseFile,
    expect_new,
    is_archive,
    write_archive,
    write_file,
    write_folder,
)
from megtrim.release.collect import collect_export
from megtrim.release.contents import AAR_PATH, RELEASE_FILE
from megtrim.util.errors import EXIT_PASS, worst_exit_code
from megtrim.util.wording import count


def _into_new_folder(command: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a folder that holds anything before the first toolchain's work begins."""

    @wraps(command)
    def work(**values: Any) -> Any:
        expect_new(values["folder"])
        return command(**values)

    return work


def _join(results: Mapping[str, Path | None]) -> str:
    """Write one AAR of the toolchains that were exported; return what to print of it."""
    top: Path = click.get_current_context().params["folder"]
    exported = [top / name for name in results if (top / name / RELEASE_FILE).is_file()]
    parts = [part for folder in exported if (part := read_exported(folder)) is not None]
    if len(exported) < len(results):
        return f"not every toolchain was exported, so {top} has no AAR of all of them"
    if not parts:
        return f"{count(len(exported), 'toolchain')} in {top}"
    file = top / PurePosixPath(AAR_PATH).name
    write_file(make_aar(parts), file)
    abis = ", ".join(sorted(part.library.target.abi for part in parts))
    return f"{count(len(exported), 'toolchain')} in {top}; {file} is for {abis}"


@click.command(
    epilog="""\b
Examples:
  megtrim export trimmed
  megtrim export trimmed --committed
  megtrim export trimmed --config megtrim.yaml#android-arm64
"""
)
@_into_new_folder
@each_toolchain(_join)
@trimming
@click.argument("folder", type=click.Path(path_type=Path))
def export(options: Options, folder: Path) -> int:
    """Trim, and write programs, libraries, headers and a CMake package to FOLDER.

    Next to them are the keep set, the configuration, licences, sizes, the report, and a README
    that says what this can run. Nothing is written if the verdict is a failure.

    Of a file with several toolchains, each has a folder of its name in FOLDER. Those for Android
    that have a shared library are joined in FOLDER/MegEngineTrimmed.aar.
    """
    session, status = trim_for_release(options, folder)
    return status or leave(collect_export(session), folder)


def trim_for_release(options: Options, folder: Path) -> tuple[Session, int]:
    """Run the chain; return it with its exit status: anything but 0, and nothing is written."""
    expect_new(folder)
    session, codes = run_chain(options, Stage.REPORT)
    status = worst_exit_code(codes)
    if status != EXIT_PASS:
        session.services.console.warn(f"nothing was written to {folder}: the trim did not succeed")
    return session, status


def leave(files: tuple[ReleaseFile, ...], path: Path) -> int:
    """Write the files to a folder or an archive, and say where they are."""
    (write_archive if is_archive(path) else write_folder)(files, path)
    show(f"{count(len(files), 'file')} in {path}")
    return EXIT_PASS
