"""``megtrim size backfill``: add to the history what former runs of the workflow stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

import click

from megtrim.cli.ci.github.client import open_api_at
from megtrim.cli.echo import show
from megtrim.cli.history_options import HistorySelector, history_options
from megtrim.cli.session.console import open_console
from megtrim.cli.session.environment import open_processes
from megtrim.config_id import DEFAULT_CONFIG, suffix_of
from megtrim.console import Console
from megtrim.errors import EXIT_PASS, InfrastructureFailure
from megtrim.github.baselines.backfill import Backfill, BackfillTally
from megtrim.github.baselines.stored import StoredBaselines, fetch_home
from megtrim.github.event import DEFAULT_API, REPOSITORY
from megtrim.size.commit_sizes import SIZE_FILES, CommitSizes

_BATCH = 25
"""Sizes of so many commits are added at once: what was read stays if the search breaks off."""


def _parse_repository(_context: click.Context, _option: click.Parameter, text: str) -> str:
    if not REPOSITORY.fullmatch(text):
        msg = f"found {text[:80]!r}, expected OWNER/NAME"
        raise click.BadParameter(msg)
    return text


@click.command(
    epilog="""\b
Examples:
  megtrim size backfill acme/phone --branch perf-history
  megtrim size backfill acme/phone --config android/megtrim.yaml --branch perf-history.android

From the environment: GITHUB_TOKEN, which may read actions and contents of the repository, and
GITHUB_API_URL, for a server other than github.com.
"""
)
@click.argument("repository_name", metavar="OWNER/NAME", callback=_parse_repository)
@history_options
@click.option(
    *("--config", "-c"),
    default=DEFAULT_CONFIG,
    show_default=True,
    help="The configuration, from the top of the repository; each has artifacts of its own.",
)
@click.option(
    "--artifact",
    default="",
    help="Name of the artifacts. [default: megtrim-baseline, and what names of the configuration "
    "end with]",
)
@click.option(
    "--most",
    type=click.IntRange(min=1, max=1000),
    default=200,
    show_default=True,
    help="Artifacts that are opened; each takes three requests.",
)
def backfill(
    selector: HistorySelector, repository_name: str, config: str, artifact: str, most: int
) -> int:
    """Add to the history the sizes that former runs of the size check stored as artifacts.

    Runs of the default branch of OWNER/NAME count, and those alone: what a fork or a pull request
    stored is not opened. What expires first is added first; what the history has is not asked for
    again, so a second call adds nothing. If GitHub stops answering, what was read until then is
    added; call it again to go on.
    """
    console = open_console(quiet=False)
    env = open_processes().env
    api = open_api_at(env, env.get("GITHUB_API_URL", "").strip() or DEFAULT_API)
    home = fetch_home(api, repository_name)
    config = str(PurePosixPath(config))
    stored = selector.read(SIZE_FILES, may_be_missing=True).entries
    known = {each.commit for each in stored if each.config == config}
    search = Backfill(
        StoredBaselines(api, home),
        artifact=artifact or f"megtrim-baseline{suffix_of(config)}",
        branch=home.default_branch,
        config=config,
        known=known,
        most=most,
    )
    failure = _add(search, selector, console)
    for line in search.tally.refused:
        console.warn(f"left out: {line}")
    show("\n".join(_describe(search.tally)))
    if failure is not None:
        raise failure
    return EXIT_PASS


def _add(
    search: Backfill, selector: HistorySelector, console: Console
) -> InfrastructureFailure | None:
    """Add what is found in batches; return why the search broke off, if it did."""
    batch: list[CommitSizes] = []
    failure: InfrastructureFailure | None = None
    try:
        for each in search.find():
            console.say(f"{each.committed_at[:10]} {each.commit[:12]}")
            batch.append(each)
            if len(batch) == _BATCH:
                selector.append(batch)
                batch = []
    except InfrastructureFailure as broken:
        failure = broken
    if batch:
        selector.append(batch)
    return failure


def _describe(tally: BackfillTally) -> Iterator[str]:
    yield f"{tally.listed} artifacts, {tally.added} commits added"
    for count, what in (
        (tally.known, "are in the history already"),
        (tally.expired, "have expired: their sizes are gone"),
        (tally.elsewhere, "are of other branches"),
        (len(tally.untrusted), "are of no run of the branch itself, and were not opened"),
        (len(tally.refused), "were refused"),
        (tally.left, "were not opened: call it again to go on"),
    ):
        if count:
            yield f"  {count} {what}"
