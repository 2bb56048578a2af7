"""``megtrim export`` and ``megtrim release``: what writes releases and verifies them."""

import re
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
from megtrim.core.cli.options import PATH, common, device_option, examples, trimming
from megtrim.core.cli.session.each_toolchain import each_toolchain
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


def _expect_new(_context: click.Context, _argument: click.Parameter, path: Path) -> Path:
    expect_new(path)
    return path


def _join(results: Mapping[str, Path | None]) -> str:
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


@examples(
    "megtrim export trimmed",
    "megtrim export trimmed --committed",
    "megtrim export trimmed --config megtrim.yaml#android-arm64",
)
@click.command()
@each_toolchain(_join)
@trimming
@click.argument("folder", type=PATH, callback=_expect_new)
def export(options: Options, folder: Path) -> int:
    """Trim, and write programs, libraries, headers and a CMake package to FOLDER.

    Next to them are the keep set, the configuration, licences, sizes, the report, and a README that
    lists what it can run. Nothing is written if the verdict is a failure.

    If the configuration has several toolchains, each gets its own folder in FOLDER. The shared
    libraries for Android are joined in FOLDER/MegEngineTrimmed.aar.
    """
    session, status = trim_for_release(options, folder)
    return status or leave(collect_export(session), folder)


def trim_for_release(options: Options, folder: Path) -> tuple[Session, int]:
    session, codes = run_chain(replace(options, records=True), Stage.REPORT)
    status = worst_exit_code(codes)
    if status != EXIT_PASS:
        session.services.console.warn(f"nothing was written to {folder}: the trim did not succeed")
    return session, status


def leave(files: tuple[ReleaseFile, ...], path: Path) -> int:
    if is_archive(path):
        write_archive(files, path)
    else:
        write_folder(files, path)
    show(f"{count(len(files), 'file')} in {path}")
    return EXIT_PASS


@examples(
    "megtrim release build camera-1.4",
    "megtrim release build camera-1.4.tar.gz --committed",
    "megtrim release build draft --committed --draft",
)
@click.command()
@trimming
@click.argument("release", type=PATH, callback=_expect_new)
@click.option(
    "--draft",
    is_flag=True,
    help="Write a draft that devices elsewhere have to prove; `megtrim release prove` makes it"
    " a release.",
)
def build(options: Options, release: Path, draft: bool) -> int:
    """Trim, and write a RELEASE: the export, its bill of materials and provenance, and SHA256SUMS.

    It is a folder, or one file if its name ends with .tar.gz. Equal inputs give equal bytes, in
    any folder. Nothing is written unless every scenario passed.
    """
    session, status = trim_for_release(options, release)
    if status:
        return status
    files = collect_release(session, megtrim=version("megtrim"), draft=draft)
    return leave(files, release)


@examples(
    "megtrim release prove draft camera-1.4 --verdict report/verdict.json"
    " --proofs report/evidence.json",
    "megtrim release prove draft camera-1.4.tar.gz --verdict report/verdict.json"
    " --again other-draft",
)
@click.command()
@click.argument("draft", type=PATH)
@click.argument("release", type=PATH)
@click.option(
    "--verdict",
    type=PATH,
    required=True,
    metavar="FILE",
    help="The verdict that `megtrim ci evidence join` left.",
)
@click.option("--proofs", type=PATH, metavar="FILE", help="The evidence.json that it left.")
@click.option(
    "--again",
    type=PATH,
    metavar="FOLDER",
    help="A draft that was built from the same inputs elsewhere; it must be equal.",
)
def prove(
    draft: Path, release: Path, verdict: Path, proofs: Path | None, again: Path | None
) -> int:
    """Make DRAFT a release, with the evidence of devices elsewhere.

    Nothing is written unless the draft is complete and equal to the one that was built again, and
    every scenario passed on exactly its programs.
    """
    return leave(prove_release(draft, verdict, proofs=proofs, again=again), release)


@examples(
    "megtrim release aar MegEngineTrimmed.aar camera-1.4-arm64.tar.gz camera-1.4-armv7.tar.gz",
)
@click.command()
@click.argument("file", type=PATH, callback=_expect_new)
@click.argument("releases", type=PATH, nargs=-1, required=True)
def aar(file: Path, releases: tuple[Path, ...]) -> None:
    """Write one AAR with the libraries of several RELEASES, each of another ABI.

    The releases are folders or .tar.gz files. They are verified first, and must come from one
    engine. Equal releases give equal bytes, so anyone who has them can check the AAR by making it
    again.
    """
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


def _read_digest(_context: click.Context, _option: click.Parameter, given: str | None) -> str:
    """Return the digest in small letters. An empty one, as of an unset variable, is a mistake."""
    if given is None:
        return ""
    if not re.fullmatch(r"[0-9a-f]{64}", digest := given.lower()):
        msg = f"found {given!r:.80}, expected the 64 hex digits of a sha256"
        raise click.BadParameter(msg)
    return digest


@examples(
    "megtrim release verify camera-1.4.tar.gz",
    "megtrim release verify camera-1.4 --model models/scene.mge",
    "megtrim release verify camera-1.4.tar.gz --file app/lib/arm64-v8a/liblite_shared.so",
    "megtrim release verify camera-1.4 --rebuild --engine ../MegEngine",
    "megtrim release verify camera-1.4 --rebuild --device virtual-phone",
)
@click.command()
@common
@device_option
@click.argument("release", type=PATH)
@click.option(
    "--sha256",
    callback=_read_digest,
    metavar="DIGEST",
    help="The sha256 of its SHA256SUMS, as its makers published it.",
)
@click.option("--model", type=PATH, metavar="FILE", help="A model that it must be able to run.")
@click.option(
    "--file",
    "files",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="A file from a package; print which file of the release it is.",
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Build it again here, by the configuration and the keep set, and compare every file.",
)
def verify(
    options: Options,
    release: Path,
    sha256: str,
    model: Path | None,
    files: tuple[Path, ...],
    rebuild: bool,
) -> int:
    """Check offline that the RELEASE, a folder or .tar.gz, is complete, unchanged and proven.

    Files that are damaged, missing, added, renamed or of another release are named, and so is each
    file that cannot be compared completely. Without --sha256, a release that someone forged
    completely looks like any other.

    A FILE with the same bytes as a program, library or companion file of the release is proven. If
    it was stripped since, its loaded parts are compared, and it is called stripped after the
    release.

    With --rebuild, the release is built again from nothing and run, as `megtrim release build`
    does, in the folder rebuilt of the results. Every file must have the same bytes, and there may
    be no other file. --device names another device to run it on. The other options are for that
    build.
    """
    if options.device is not None and not rebuild:
        msg = "--device runs the release that was built again: it needs --rebuild"
        raise click.UsageError(msg)
    if options.reuse is not None and rebuild:
        msg = "--reuse takes earlier results, and cannot be combined with --rebuild"
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
