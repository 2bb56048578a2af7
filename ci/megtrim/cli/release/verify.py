"""``megtrim release verify``: whether a release is what was released."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, common, device_option
from megtrim.cli.stage.chain import run_chain
from megtrim.errors import EXIT_PASS, ProductFailure, worst_exit_code
from megtrim.packaging.archive import open_release
from megtrim.packaging.check import check_release, expect_whole
from megtrim.packaging.rebuild import compare_rebuild
from megtrim.plan.graph import Stage
from megtrim.release.contents import ReleaseContents
from megtrim.store import cannot_write

_REBUILT = "rebuilt"
"""Folder in that of results: what was built again, which nothing else is taken for."""


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
    help="Build it again here, by the configuration and the committed keep set, and compare.",
)
def verify(release: Path, sha256: str, model: Path | None, rebuild: bool, **options: Any) -> int:
    """Check offline that the RELEASE, a folder or .tar.gz, is whole, unchanged and proven.

    What is damaged, missing, added, renamed or of another release is named. Without --sha256, a
    release that someone wrote newly from end to end looks like any other.

    With --rebuild it is built again from nothing, in the folder rebuilt of the results, and
    compared byte for byte; with --device as well, that device then runs every scenario on exactly
    these bytes. The other options are for that build.
    """
    chosen = Options(**options, committed=True)
    if chosen.device is not None and not rebuild:
        msg = "--device proves what was built again: it needs --rebuild"
        raise click.UsageError(msg)
    if chosen.reuse is not None and rebuild:
        msg = "--reuse takes what was built before: it does not go with --rebuild"
        raise click.UsageError(msg)
    with open_release(release) as folder:
        found = check_release(folder, expected=sha256, model=model)
    contents = expect_whole(found, release)
    show(f"{release}: {len(found.files)} files are as released, every scenario is proven")
    show(f"sha256 of its SHA256SUMS: {found.sha256}")
    return _rebuild(contents, release, chosen) if rebuild else EXIT_PASS


def _rebuild(contents: ReleaseContents, release: Path, chosen: Options) -> int:
    """Build it again and compare; on a device, prove it again, too."""
    proves = chosen.device is not None
    stage = Stage.VERIFY if proves else Stage.REDUCE
    fresh = replace(chosen, out=chosen.out / _REBUILT, recompile=True)
    _clear(fresh.out)
    session, codes = run_chain(fresh, stage, as_json=False, accept=False)
    status = worst_exit_code(codes)
    if status != EXIT_PASS:
        return status
    differences = compare_rebuild(contents, session)
    if differences:
        listed = "\n".join(f"  {each}" for each in differences)
        msg = f"{release} is not what is built here:\n{listed}"
        raise ProductFailure(msg, hint="take the engine, toolchain and project that it names")
    show(f"built again: {len(contents.artifacts)} files have the same bytes")
    if proves:
        show(f"proven again: {len(contents.scenarios)} scenarios on {chosen.device}")
    return EXIT_PASS


def _clear(folder: Path) -> None:
    """Remove what was built again before: results that are there would only be read."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(folder, error) from None
