"""``megtrim ci github publish``: shows a report, and never changes a verdict.

What cannot be published is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import click

from megtrim.cli.ci.github.client import open_api, open_event
from megtrim.cli.echo import open_console, show, show_command
from megtrim.cli.environment import open_processes
from megtrim.cli.session.job_summary import read_page
from megtrim.cli.session.origin import read_event_origin
from megtrim.github import runner
from megtrim.github.api import Api, Forbidden
from megtrim.github.comment import DEFAULT_AUTHOR, key_of, upsert
from megtrim.github.event import Event, PullRequest, pull_request_of
from megtrim.github.log_text import one_line
from megtrim.render.markup import block
from megtrim.report.annotations import Annotation
from megtrim.report.comment import Links
from megtrim.util.console import Console
from megtrim.util.errors import EXIT_PASS, MegtrimError, worst_exit_code

T = TypeVar("T")

_FORK = (
    "no comment: the token of a pull request from a fork may not write one; "
    "the job summary has the same text"
)


class _PublishFailures:
    """What could not be published, for the log, the job summary and the exit status."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines: list[str] = []
        self._codes: list[int] = []

    def attempt(self, action: Callable[[], T]) -> T | None:
        """Return the result of an action; None, with a warning, if it failed."""
        try:
            return action()
        except MegtrimError as error:
            self.problem(error)
            return None

    def problem(self, error: MegtrimError) -> None:
        """Report a failure. A token that may not write is never more than a warning."""
        if not isinstance(error, Forbidden):
            self._codes.append(error.exit_code)
        self.note(str(error), warn=True)

    def note(self, text: str, *, warn: bool = False) -> None:
        """Print it in the log now, and in the job summary at the end."""
        # A runner takes commands from every line of a log, and parts of these are foreign.
        safe = "\n  ".join(one_line(line, most=1000) for line in text.splitlines())
        self._lines.append(safe)
        (self._console.warn if warn else self._console.say)(safe)

    def page(self) -> str:
        """Return all of it as Markdown; empty if there is nothing."""
        return block("\n".join(self._lines), limit=10_000) if self._lines else ""

    def exit_code(self) -> int:
        """Return the exit status if everything has to be published."""
        return worst_exit_code(self._codes)


def _number(_context: click.Context, _option: click.Parameter, value: str) -> int | None:
    """Read a number that a workflow leaves empty if it has none."""
    if not value.strip():
        return None
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 16 else 0
    if number < 1:
        msg = f"found {value[:40]!r}, expected the number of a pull request"
        raise click.BadParameter(msg)
    return number


@click.command(
    epilog="""\b
Examples:
  megtrim ci github publish megtrim-out/final
  megtrim ci github publish report --config trim/megtrim.yaml --artifact megtrim-report
  megtrim ci github publish report --pull-request 17 --strict
"""
)
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--config",
    "-c",
    default="megtrim.yaml",
    show_default=True,
    help="The configuration, relative to the top of the repository; each has a comment of its own.",
)
@click.option(
    "--pull-request",
    default="",
    metavar="N",
    callback=_number,
    help="Comment on N if the event names no pull request and N is at this run's commit.",
)
@click.option("--artifact", default="", help="Artifact of this run that holds the report.")
@click.option(
    "--annotated",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Report of this run that was published before: what it annotated is not annotated again.",
)
@click.option(
    "--comment/--no-comment", "comments", default=True, help="Write the comment.", show_default=True
)
@click.option(
    "--author",
    default=DEFAULT_AUTHOR,
    show_default=True,
    help="Login that the token writes as; comments of others are not touched.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with 3 (or 2) if something could not be published."
)
def publish(
    report: Path, config: str, pull_request: int | None, artifact: str, annotated: Path | None,
    comments: bool, author: str, strict: bool,
) -> int:  # fmt: skip
    """Publish REPORT as job summary, annotations and a comment on the pull request.

    REPORT is a folder with a verdict.json, or with the ending.json of a run without a verdict.
    Publishing never changes a verdict: a failure is a warning.

    To comment, the job needs `permissions: pull-requests: write`. The token comes from
    GITHUB_TOKEN, the event and the summary from the runner's variables.
    """
    env = open_processes().env
    failures = _PublishFailures(open_console())
    event = failures.attempt(lambda: open_event(env))
    links = Links(run="" if event is None else event.run_url, artifact=artifact)
    known = read_event_origin(env, config)
    known = replace(known, pull_request=known.pull_request or pull_request or 0)
    page = read_page(report, config=config, links=links, known=known)
    for problem in page.problems:
        failures.problem(problem)
    # First, and without the network: if something below fails, the text is there.
    failures.attempt(lambda: runner.add_summary(env, page.text))
    before = None if annotated is None else read_page(annotated, config=config, links=links)
    _annotate(page.annotations, before.annotations if before else ())
    if event is not None and comments:
        comment = _Comment(key=key_of(config), text=page.text, author=author)
        failures.attempt(lambda: _comment(env, event, pull_request, comment, failures))
    if failures.page():
        failures.attempt(lambda: runner.add_summary(env, failures.page()))
    return failures.exit_code() if strict else EXIT_PASS


def _annotate(found: Sequence[Annotation], before: Sequence[Annotation]) -> None:
    for each in found:
        if each in before:
            continue
        show_command(
            runner.annotation(
                each.level, each.message, title=each.title, file=each.file, line=each.line
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comment:
    key: str
    text: str
    author: str


def _comment(
    env: Mapping[str, str],
    event: Event,
    given: int | None,
    comment: _Comment,
    failures: _PublishFailures,
) -> None:
    number = event.pull_request.number if event.pull_request else given
    if number is None:
        return
    if event.pull_request is not None and event.pull_request.fork:
        failures.note(_FORK)
        return
    api = open_api(env, event)
    now = _pull_request(api, event.repository, number)
    if now.fork:
        failures.note(_FORK)
    elif now.head_sha != event.head_sha:
        # An overtaken run still ends; it must not overwrite the comment of the newer one.
        failures.note(
            f"no comment: pull request {number} is at {now.head_sha[:12]}, "
            f"this run is of {event.head_sha[:12]}"
        )
    else:
        outcome = upsert(api, event.repository, number, comment.key, comment.text, comment.author)
        show(f"comment on pull request {number}: {outcome}")


def _pull_request(api: Api, repository: str, number: int) -> PullRequest:
    return pull_request_of(api.get(f"/repos/{repository}/pulls/{number}"))
