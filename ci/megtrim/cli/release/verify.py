"""``megtrim release verify``: whether a release is what was released."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import click

from megtrim.chain.graph import Stage
from megtrim.checks.invocation import Options
from megtrim.cli.echo import show
from megtrim.cli.options import common, device_option
from megtrim.cli.stage import run_chain
from megtrim.release.archive import open_release
from megtrim.release.check import ReleaseCheck, check_release, expect_whole
from megtrim.release.contents import ReleaseContents
from megtrim.release.prove import compare_rebuild, is_traced
from megtrim.util.errors import EXIT_PASS, ProductFailure, worst_exit_code
from megtrim.util.files import cannot_write
from megtrim.util.wording import count

_REBUILT = "rebuilt"
"""Folder in that of results: what was built again, which nothing else is taken for."""
_BY_ITSELF = "what it says of itself, which anyone could write: compare its digest (--sha256)"


def _read_digest(_context: click.Context, _option: click.Parameter, given: str | None) -> str:
    """Return the digest in small letters. An empty one, as of an unset variable, is a mistake."""
    if given is None:
        return ""
    if not re.fullmatch(r"[0-9a-f]{64}", digest := given.lower()):
        msg = f"found {given!r:.80}, expected the 64 hex digits of a sha256"
        raise click.BadParameter(msg)
    return digest


@click.command(
    epilog="""\b
Examples:
  megtrim release verify camera-1.4.tar.gz
  megtrim release verify camera-1.4 --model models/scene.mge
  megtrim release verify camera-1.4 --rebuild --engine ../MegEngine
  megtrim release verify camera-1.4 --rebuild --device virtual-phone
"""
)
@common
@device_option
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--sha256",
    callback=_read_digest,
    metavar="DIGEST",
    help="The sha256 of its SHA256SUMS, as the one who released it states it.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A model that it must be able to run.",
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Build it again here, by the configuration and the keep set, and compare every file.",
)
def verify(options: Options, release: Path, sha256: str, model: Path | None, rebuild: bool) -> int:
    """Check offline that the RELEASE, a folder or .tar.gz, is whole, unchanged and proven.

    What is damaged, missing, added, renamed or of another release is named. Without --sha256, a
    release that someone wrote newly from end to end looks like any other.

    With --rebuild it is built again from nothing, in the folder rebuilt of the results, and run,
    as `megtrim release build` does; every file must have the same bytes, and there may be no other.
    --device names another device to run it. The other options are for that build.
    """
    if options.device is not None and not rebuild:
        msg = "--device proves what was built again: it needs --rebuild"
        raise click.UsageError(msg)
    if options.reuse is not None and rebuild:
        msg = "--reuse takes what was built before: it does not go with --rebuild"
        raise click.UsageError(msg)
    with open_release(release) as folder:
        found = check_release(folder, expected=sha256, model=model)
    contents = expect_whole(found, release)
    devices = ", ".join(each.name for each in contents.devices)
    by = "what the release of this digest says" if sha256 else _BY_ITSELF
    show(f"{release}: {count(len(found.files), 'file')} as released")
    show(f"every scenario is proven: {len(contents.scenarios)} on {devices}, by {by}")
    show(f"sha256 of its SHA256SUMS: {found.sha256}")
    return _rebuild(found, contents, release, options) if rebuild else EXIT_PASS


def _rebuild(
    found: ReleaseCheck, contents: ReleaseContents, release: Path, options: Options
) -> int:
    fresh = replace(
        options, out=options.out / _REBUILT, recompile=True, committed=not is_traced(found)
    )
    _clear(fresh.out)
    session, codes = run_chain(fresh, Stage.VERDICT)
    status = worst_exit_code(codes)
    if status != EXIT_PASS:
        return status
    differences = compare_rebuild(
        found, session, megtrim=version("megtrim"), by_other_device=options.device is not None
    )
    if differences:
        listed = "\n".join(f"  {each}" for each in differences)
        msg = f"{release} is not what is built here:\n{listed}"
        raise ProductFailure(msg, hint="take the engine, toolchain and project that it names")
    # SHA256SUMS, which does not name itself, was compared as well.
    show(f"built again: {len(found.files) + 1} files have the same bytes")
    if options.device is not None:
        show(f"proven again: {count(len(contents.scenarios), 'scenario')} on {options.device}")
    return EXIT_PASS


def _clear(folder: Path) -> None:
    """Remove what was built again before: results that are there would only be read."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(folder, error) from None
