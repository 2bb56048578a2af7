"""``megtrim ci github base`` and ``regression-issues``: what nights ask of GitHub's issues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from megtrim.cli.ci.github.client import expect_default_branch, open_api, read_runs, read_verdict
from megtrim.cli.echo import open_console, show
from megtrim.cli.environment import open_processes
from megtrim.cli.options import Command, config_path_option
from megtrim.github.api import Api
from megtrim.github.commits import fetch_head, is_ancestor
from megtrim.github.event import Event, read_event
from megtrim.github.issues import IssueTracker, TrackedIssue
from megtrim.github.runner import one_line, write_output
from megtrim.perf.nights.regressions import (
    IssueAction,
    IssueState,
    KnownIssue,
    Night,
    list_bases,
    plan_actions,
)
from megtrim.perf.report.regression_issue import (
    LABEL,
    NightPlace,
    read_record,
    render_issue,
)
from megtrim.util.console import Console
from megtrim.util.errors import EXIT_PASS, InfrastructureFailure

_PATH = click.Path(path_type=Path)
_COMMIT_DIGITS = 12
_MOST_BASES = 10
"""Commits that GitHub is asked about."""
_LONGEST_BRANCH = 80
_WORDS = {
    IssueState.REGRESSED: "updated",
    IssueState.FIXED: "closed: repaired",
    IssueState.DUPLICATE: "closed: another one is open",
}


def _common_options(command: Command) -> Command:
    for option in (
        click.option(
            "--history",
            type=_PATH,
            default=Path("history"),
            show_default=True,
            help="Folder of the history; it may be missing.",
        ),
        config_path_option("each has issues of its own"),
    ):
        command = option(command)
    return command


@click.command(
    epilog="""\b
Example:
  megtrim ci github base --history history

\b
Outputs of the step:
  commit  what this night is compared with; empty: there is nothing earlier
  name    what reports call it

From the environment: GITHUB_EVENT_PATH and the runner's other variables, and GITHUB_TOKEN,
which needs `permissions: contents: read, issues: read`.
"""
)
@_common_options
def base(config: str, history: Path) -> int:
    """Print the commit that a night of performance is compared with.

    It is the last commit that was measured. While the issue of a regression is open it stays the
    one before that, so that the regression is seen until it is repaired or accepted. What is no
    ancestor of the default branch's head is no base, whatever history and issues say.
    """
    env = open_processes().env
    event = read_event(env)
    api = open_api(env, event)
    known = _read_known(IssueTracker(api, event.repository, label=LABEL).list_own())
    found = list_bases(known, read_runs(history), config=config, head=event.head_sha)
    commit = _choose_ancestor(api, event, found)
    write_output(env, "commit", commit)
    branch = one_line(event.default_branch, most=_LONGEST_BRANCH)
    write_output(env, "name", f"{branch} at {commit[:_COMMIT_DIGITS]}" if commit else "")
    show(f"compared with {commit}" if commit else "there is no earlier commit to compare with")
    return EXIT_PASS


def _choose_ancestor(api: Api, event: Event, commits: tuple[str, ...]) -> str:
    """Return the first commit that the default branch has; empty if it has none of them."""
    if not commits:
        return ""
    own, repository = event.of_default_branch, event.repository
    head = event.sha if own else fetch_head(api, repository, event.default_branch)
    for commit in commits[:_MOST_BASES]:
        if is_ancestor(api, repository, commit, head):
            return commit
        text = f"{commit} is not in the history of the default branch: it is no base"
        open_console().warn(text)
    return ""


@click.command(
    "regression-issues",
    epilog="""\b
Example:
  megtrim ci github regression-issues report --base 1a2b3c4... --history history

From the environment: GITHUB_EVENT_PATH and the runner's other variables, and GITHUB_TOKEN,
which needs `permissions: issues: write`.
""",
)
@click.argument("report", type=_PATH)
@_common_options
@click.option("--base", "base_commit", default="", help="Commit that it was compared with.")
@click.option("--artifact", default="", help="Artifact of this run that holds the report.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")
def regression_issues(
    report: Path,
    config: str,
    history: Path,
    base_commit: str,
    artifact: str,
    dry_run: bool,
) -> int:
    """Open, update and close an issue for each scenario that got slower, by REPORT.

    REPORT is a folder with the verdict.json of a night. Only what was measured and decided opens
    or closes an issue; running it again changes nothing. An issue that a person closed is not
    opened again for the same rows and the same base.
    """
    console = open_console()
    env = open_processes().env
    event = read_event(env)
    performance = read_verdict(report).performance
    if performance is None:
        show("no times were measured: all issues stay as they are")
        return EXIT_PASS
    if not dry_run:
        expect_default_branch(event)
    tracker = IssueTracker(open_api(env, event), event.repository, label=LABEL)
    issues = {issue.number: issue for issue in tracker.list_own()}
    night = Night(
        performance=performance,
        config=config,
        base=base_commit,
        head=event.head_sha,
        run=event.run_id,
        attempt=event.run_attempt,
        runs=read_runs(history),
    )
    where = NightPlace(
        repository_url=f"{event.server_url}/{event.repository}",
        run_url=event.run_url,
        artifact=artifact,
        head=event.head_sha,
    )
    actions = plan_actions(night, _read_known(issues.values()))
    if dry_run:
        for action in actions:
            show(f"{_name(action)}\n\n{render_issue(action, where).body}\n")
        return EXIT_PASS
    failures = [
        each for action in actions if (each := _act(tracker, issues, action, where, console))
    ]
    if not actions:
        show("no issue to open, update or close")
    return failures[0].exit_code if failures else EXIT_PASS


def _act(
    tracker: IssueTracker,
    issues: Mapping[int, TrackedIssue],
    action: IssueAction,
    where: NightPlace,
    console: Console,
) -> InfrastructureFailure | None:
    """Do one action; what fails does not keep the others from being done."""
    text = render_issue(action, where)
    try:
        if not action.number:
            number = tracker.open(text.title, text.body)
            show(f"issue {number}: opened for {one_line(action.record.scenario)}")
            return None
        still_open = action.record.state is IssueState.REGRESSED
        changed = tracker.update(issues[action.number], text.title, text.body, is_open=still_open)
    except InfrastructureFailure as failure:
        console.warn(one_line(f"{_name(action)}: {failure}", most=1000))
        return failure
    show(_name(action) if changed else f"issue {action.number}: unchanged")
    return None


def _name(action: IssueAction) -> str:
    if not action.number:
        return f"an issue for {one_line(action.record.scenario)}"
    return f"issue {action.number}: {_WORDS[action.record.state]}"


def _read_known(issues: Iterable[TrackedIssue]) -> tuple[KnownIssue, ...]:
    """Return what megtrim reads of its issues, without those that it cannot read."""
    return tuple(
        KnownIssue(number=issue.number, is_open=issue.is_open, record=record)
        for issue in issues
        if (record := read_record(issue.body)) is not None
    )
