"""``megtrim export`` and ``megtrim release``: what writes releases and verifies them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import click

from megtrim.core.chain.cleanup import clear_results
from megtrim.core.chain.graph import Stage
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.echo import open_console, show
from megtrim.core.cli.stage import run_chain
from megtrim.core.size.aar_format import AarPart, make_aar
from megtrim.libs.util.errors import EXIT_PASS, InputError, ProductFailure, worst_exit_code
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.wording import count
from megtrim.ship.crashes.lookup import escape
from megtrim.ship.release.aar import collect_part, explain_missing, read_exported
from megtrim.ship.release.archive import (
    ReleaseFile,
    expect_new,
    is_archive,
    list_released,
    open_release,
    write_archive,
    write_file,
    write_folder,
)
from megtrim.ship.release.check import ReleaseCheck, check_release, expect_whole
from megtrim.ship.release.collect import collect_export, collect_release
from megtrim.ship.release.contents import AAR_PATH, RELEASE_FILE, ReleaseContents
from megtrim.ship.release.packaged import describe_packaged
from megtrim.ship.release.prove import compare_rebuild, is_traced, prove_release


def expect_new_path(_context: click.Context, _argument: click.Parameter, path: Path) -> Path:
    expect_new(path)
    return path


def join_toolchains(results: Mapping[str, Path | None]) -> str:
    top: Path = click.get_current_context().params["folder"]
    exported = [top / name for name in results if (top / name / RELEASE_FILE).is_file()]
    parts = [part for folder in exported if (part := read_exported(folder)) is not None]
    if len(exported) < len(results):
        return f"not every toolchain was exported, so {top} has no AAR of all of them"
    if not parts:
        return f"{count(len(exported), 'toolchain')} in {top}"
    file = top / PurePosixPath(AAR_PATH).name
    return f"{count(len(exported), 'toolchain')} in {top}; {file} is for {_write_aar(parts, file)}"


def _write_aar(parts: Sequence[AarPart], file: Path) -> str:
    write_file(make_aar(parts), file)
    return ", ".join(sorted(part.library.target.abi for part in parts))


def export(options: Options, folder: Path) -> int:
    session, status = trim_for_release(options, folder)
    return status or leave(collect_export(session), folder)


def trim_for_release(options: Options, folder: Path) -> tuple[Session, int]:
    session, codes = run_chain(replace(options, records=True), Stage.REPORT)
    status = worst_exit_code(codes)
    if status != EXIT_PASS:
        session.console.warn(f"nothing was written to {folder}: the trim did not succeed")
    return session, status


def leave(files: tuple[ReleaseFile, ...], path: Path) -> int:
    if is_archive(path):
        write_archive(files, path)
    else:
        write_folder(files, path)
    show(f"{count(len(files), 'file')} in {path}")
    return EXIT_PASS


def build(options: Options, release: Path, draft: bool) -> int:
    session, status = trim_for_release(options, release)
    if status:
        return status
    files = collect_release(session, megtrim=version("megtrim"), draft=draft)
    return leave(files, release)


def prove(
    draft: Path, release: Path, verdict: Path, proofs: Path | None, again: Path | None
) -> int:
    return leave(prove_release(draft, verdict, proofs=proofs, again=again), release)


def aar(file: Path, releases: tuple[Path, ...]) -> None:
    parts = [_read_part(release) for release in releases]
    abis = _write_aar(parts, file)
    show(f"{file}: {parts[0].library.file} for {abis}")


def _read_part(release: Path) -> AarPart:
    with open_release(release) as folder:
        found = check_release(folder)
        contents = expect_whole(found, release)
        files = list_released(folder, found.files)
        part = collect_part(contents, files)
        if part is None:
            why = explain_missing(contents, files) or "it has no shared library for Android"
            msg = f"{release} has nothing for an AAR: {why}"
            raise InputError(msg, hint="name releases of the toolchain ndk with a shared library")
    return part


_MOST_PACKAGED_BYTES = 4 * 1024**3
_REBUILT = "rebuilt"
"""Folder in that of results: what was built again, which nothing else is taken for."""
_BY_ITSELF = "what it says of itself, which anyone could write: compare its digest (--sha256)"


def verify(
    options: Options,
    release: Path,
    sha256: str,
    model: Path | None,
    files: tuple[Path, ...],
    rebuild: bool,
) -> int:
    if options.device is not None and not rebuild:
        msg = "--device runs the release that was built again: it needs --rebuild"
        raise click.UsageError(msg)
    if options.reuse is not None and rebuild:
        msg = "--reuse uses earlier results, so it cannot be combined with --rebuild"
        raise click.UsageError(msg)
    with open_release(release) as folder:
        found = check_release(folder, expected=sha256, model=model)
        contents = expect_whole(found, release)
        packaged, changed = _compare_packaged(files, contents, found, folder)
    devices = ", ".join(device.name for device in contents.devices)
    by = "what the release of this digest says" if sha256 else _BY_ITSELF
    show(f"{release}: {count(len(found.files), 'file')} as released")
    show(f"every scenario is proven: {len(contents.scenarios)} on {devices}, by {by}")
    if contents.patch is not None:
        show(f"patched after a crash, and keeps: {', '.join(contents.patch.kept)}")
    for line in found.unproven:
        show(f"not proven: {line}")
    for line in packaged:
        show(line)
    show(f"sha256 of its SHA256SUMS: {found.sha256}")
    _expect_none(changed)
    return _rebuild(found, contents, release, options) if rebuild else EXIT_PASS


def _compare_packaged(
    files: Sequence[Path], contents: ReleaseContents, found: ReleaseCheck, folder: Path
) -> tuple[list[str], list[ProductFailure]]:
    """Return a line for each of the files that is of the release, and the error of each other."""

    def read(name: str) -> bytes:
        return (folder / name).read_bytes()

    lines = []
    changed = []
    for path in files:
        data = read_bytes(path, most_bytes=_MOST_PACKAGED_BYTES, expected="a file of the release")
        try:
            said = describe_packaged(data, contents, found.files, read, shown=str(path))
        except ProductFailure as error:
            changed.append(error)
        else:
            lines.append(f"{path}: {said}")
    return lines, changed


def _expect_none(changed: Sequence[ProductFailure]) -> None:
    """Raise what is wrong with the files of packages, all at once."""
    if changed:
        raise ProductFailure("\n".join(each.message for each in changed), hint=changed[0].hint)


def _rebuild(
    found: ReleaseCheck, contents: ReleaseContents, release: Path, options: Options
) -> int:
    patch = contents.patch
    fresh = replace(
        options,
        out=options.out / _REBUILT,
        recompile=True,
        committed=not is_traced(found),
        kept=tuple(map(escape, patch.kept)) if patch else (),
    )
    clear_results(fresh.out, open_console(quiet=options.quiet).say)  # they would only be read
    session, codes = run_chain(fresh, Stage.VERDICT)
    status = worst_exit_code(codes)
    if status != EXIT_PASS:
        return status
    differences = compare_rebuild(
        found, session, megtrim=version("megtrim"), by_other_device=options.device is not None
    )
    if differences:
        listed = "\n".join(f"  {difference}" for difference in differences)
        msg = f"{release} is not what is built here:\n{listed}"
        raise ProductFailure(msg, hint="take the engine, toolchain and project that it names")
    # SHA256SUMS, which does not name itself, was compared as well.
    show(f"built again: {len(found.files) + 1} files have the same bytes")
    if options.device is not None:
        show(f"proven again: {count(len(contents.scenarios), 'scenario')} on {options.device}")
    return EXIT_PASS
