"""``megtrim ci github release``: a proven release, published under the tag that this run is for."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.ci.github.client import open_api, open_event, read_tag
from megtrim.cli.echo import show
from megtrim.cli.environment import open_processes
from megtrim.github.releases import ReleasePublisher, WantedRelease
from megtrim.github.runner import add_summary, write_output
from megtrim.regions.keepset import parse_keep_set
from megtrim.release.archive import open_release
from megtrim.release.bill_of_materials import BILL_FILE
from megtrim.release.check import check_release, expect_whole
from megtrim.release.contents import KEEP_SET_PATH, RELEASE_FILE, parse_contents
from megtrim.release.documents import CHECKSUMS_FILE
from megtrim.release.pages import DescribedRelease, render_notes
from megtrim.release.statement import STATEMENT_FILE
from megtrim.util.errors import EXIT_PASS, InputError
from megtrim.util.input_files import decode

_KEEP_SET_FILE = Path(KEEP_SET_PATH).name
_ALONE = (CHECKSUMS_FILE, RELEASE_FILE, KEEP_SET_PATH, BILL_FILE, STATEMENT_FILE)
"""Documents that are also published as files of their own: the next notes are made from them."""


@click.command(
    epilog="""\b
Example:
  megtrim ci github release vision-app-v1.4.0.tar.gz

\b
Outputs of the step:
  url     the page of the release
  sha256  of its SHA256SUMS, by which it is verified

From the environment: GITHUB_EVENT_PATH and the runner's other variables, and GITHUB_TOKEN,
which needs `permissions: contents: write`.
"""
)
@click.argument("archive", type=click.Path(path_type=Path))
def release(archive: Path) -> int:
    """Publish a release, ARCHIVE, under the tag that this run is for.

    It is published with all of its files or not at all. Run again, it mends what an earlier
    attempt left; a release that is there with other files is refused, and so is a tag that moved.
    """
    env = open_processes().env
    event = open_event(env)
    tag = read_tag(event)
    publisher = ReleasePublisher(open_api(env, event), event.repository)
    with open_release(archive) as folder:
        found = check_release(folder)
        expect_whole(found, archive)
        texts = {name: (folder / name).read_bytes() for name in _ALONE}
    now = _describe(tag, texts[RELEASE_FILE], texts[KEEP_SET_PATH])
    before = _find_before(publisher, tag)
    notes = render_notes(now, before, archive=archive.name, sha256=found.sha256)
    assets = {Path(name).name: data for name, data in texts.items()}
    wanted = WantedRelease(
        tag=tag,
        commit=event.sha,
        notes=notes,
        assets=assets | {archive.name: archive.read_bytes()},
    )
    url = publisher.publish(wanted)
    write_output(env, "url", url)
    write_output(env, "sha256", found.sha256)
    add_summary(env, f"# {tag}\n\n{notes}")
    show(f"published {url}")
    return EXIT_PASS


def _find_before(publisher: ReleasePublisher, tag: str) -> DescribedRelease | None:
    """Return the last release of this configuration; None without one."""
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
