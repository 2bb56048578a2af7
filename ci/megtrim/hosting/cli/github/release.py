"""``megtrim ci github release`` and ``release-files``: published under the tag of this run."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from megtrim.core.cli.echo import show
from megtrim.core.keep.keepset_files import parse_keep_set
from megtrim.hosting.cli.github.client import open_job, read_tag
from megtrim.hosting.github.releases import ReleasePublisher, WantedRelease
from megtrim.hosting.github.runner import add_summary, write_output
from megtrim.libs.util.errors import EXIT_PASS, InputError, ProductFailure
from megtrim.libs.util.input_files import decode, read_bytes, read_text
from megtrim.ship.release.archive import open_release
from megtrim.ship.release.check import check_release, expect_whole
from megtrim.ship.release.contents import KEEP_SET_PATH, RELEASE_FILE, parse_contents
from megtrim.ship.release.documents import (
    BILL_FILE,
    CHECKSUMS_FILE,
    STATEMENT_FILE,
    DescribedRelease,
    parse_checksums,
    render_notes,
)

_KEEP_SET_FILE = Path(KEEP_SET_PATH).name
_ALONE = (CHECKSUMS_FILE, RELEASE_FILE, KEEP_SET_PATH, BILL_FILE, STATEMENT_FILE)
"""Documents that are also published as files of their own: the next notes are made from them."""
_LARGEST_FILE_BYTES = 512 * 1024 * 1024
_MOST_NOTES_BYTES = 120_000
"""GitHub takes a text of 125,000 characters."""


def release(archive: Path) -> int:
    env, event, api = open_job()
    tag = read_tag(event)
    publisher = ReleasePublisher(api, event.repository)
    with open_release(archive) as folder:
        found = check_release(folder)
        expect_whole(found, archive)
        texts = {name: (folder / name).read_bytes() for name in _ALONE}
    now = _describe(tag, texts[RELEASE_FILE], texts[KEEP_SET_PATH])
    before = _find_before(publisher, tag)
    notes = render_notes(now, before, archive=archive.name, sha256=found.sha256)
    assets = {Path(name).name: data for name, data in texts.items()}
    wanted = WantedRelease(
        tag=tag, commit=event.sha, notes=notes, assets=assets | {archive.name: archive.read_bytes()}
    )
    _publish(publisher, wanted, env)
    write_output(env, "sha256", found.sha256)
    return EXIT_PASS


def _publish(publisher: ReleasePublisher, wanted: WantedRelease, env: Mapping[str, str]) -> None:
    url = publisher.publish(wanted)
    write_output(env, "url", url)
    add_summary(env, f"# {wanted.tag}\n\n{wanted.notes}")
    show(f"published {url}")


def _find_before(publisher: ReleasePublisher, tag: str) -> DescribedRelease | None:
    found = publisher.find_last(tag, holding=(RELEASE_FILE, _KEEP_SET_FILE))
    if found is None:
        return None
    contents, keep = (
        publisher.download(found.assets[name]) for name in (RELEASE_FILE, _KEEP_SET_FILE)
    )
    try:
        return _describe(found.tag, contents, keep)
    except InputError:  # another version of megtrim made it: these notes then compare nothing
        return None


def _describe(tag: str, contents: bytes, keep: bytes) -> DescribedRelease:
    return DescribedRelease(
        tag=tag,
        contents=parse_contents(decode(contents, shown=RELEASE_FILE), source=RELEASE_FILE),
        keep=parse_keep_set(decode(keep, shown=KEEP_SET_PATH), source=KEEP_SET_PATH),
    )


def release_files(folder: Path, notes: Path) -> int:
    env, event, api = open_job()
    tag = read_tag(event)
    text = read_text(notes, most_bytes=_MOST_NOTES_BYTES, expected="the notes of a release")
    assets = _read_files(folder, leaving_out=notes)
    wanted = WantedRelease(tag=tag, commit=event.sha, notes=text, assets=assets)
    _publish(ReleasePublisher(api, event.repository), wanted, env)
    return EXIT_PASS


def _read_files(folder: Path, *, leaving_out: Path) -> dict[str, bytes]:
    sums = folder / CHECKSUMS_FILE
    found = read_bytes(sums, most_bytes=_MOST_NOTES_BYTES, expected="the sha256 of each file")
    stated = parse_checksums(decode(found, shown=str(sums)), source=str(sums))
    named = {path.name for path in folder.iterdir() if path.absolute() != leaving_out.absolute()}
    if named != {*stated, CHECKSUMS_FILE}:
        differing = sorted((named ^ {*stated}) - {CHECKSUMS_FILE})[:10]
        msg = f"{sums} does not name the files of {folder}: {', '.join(differing)}"
        raise InputError(msg, hint="build the files again, into a new folder")
    assets = {CHECKSUMS_FILE: found}
    for name, sha256 in stated.items():
        data = read_bytes(folder / name, most_bytes=_LARGEST_FILE_BYTES, expected="a file")
        if hashlib.sha256(data).hexdigest() != sha256:
            msg = f"{folder / name} is not the file that {CHECKSUMS_FILE} names: nothing published"
            raise ProductFailure(msg, hint="run the job that built it again")
        assets[name] = data
    return assets
