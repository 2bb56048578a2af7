"""``megtrim ci github wait``, ``environment`` and ``propose``: what jobs ask of GitHub."""

import time
from collections.abc import Mapping
from pathlib import Path

from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import PendingReason
from megtrim.core.cli.echo import open_console, show, show_command
from megtrim.core.cli.environment import open_processes
from megtrim.core.config.config_id import id_of
from megtrim.core.evidence.evidence import expect_configuration
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import dump_folder, parse_folder, read_folder
from megtrim.core.report.keepset_diff import Proposal, body
from megtrim.hosting.caller_texts import DEVICE_ENVIRONMENT, warn_of_environment
from megtrim.hosting.cli.github.client import open_job, read_verdict
from megtrim.hosting.github.api import Api
from megtrim.hosting.github.jobs import PollingLimits, WaitResult, is_open
from megtrim.hosting.github.jobs import wait as wait_for_jobs
from megtrim.hosting.github.proposal import (
    FolderChange,
    ProposalResult,
    PullRequestProposer,
    PullRequestState,
)
from megtrim.hosting.github.runner import annotation, write_output
from megtrim.libs.render.markup import code
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import (
    EXIT_PASS,
    InfrastructureFailure,
    InputError,
    Interrupted,
    MegtrimError,
)
from megtrim.libs.util.wording import one_line
from megtrim.places.github_event import Event

_BY_ITSELF = "They start by themselves: this pull request was opened with a token of its own."
_BY_DISPATCH = (
    "GitHub starts none for a pull request that a job's own token opened, so the refresh starts "
    "{workflow} on this branch itself. Where it did not, start that workflow by hand on this "
    "branch with this pull request's number, or close and reopen this pull request."
)
_BY_HAND = (
    "GitHub starts none for a pull request that a job's own token opened: close and reopen this "
    "pull request to start them."
)


def wait(jobs: int, pickup: float, run_minutes: float, config: str) -> int:
    console = open_console()
    limits = PollingLimits(
        jobs=jobs, pickup_s=60 * pickup, run_s=60 * run_minutes, config_id=id_of(config)
    )
    ended = _wait(limits, console)
    if ended.failure is not None:
        console.warn(one_line(str(ended.failure), most=1000))
    write_output(open_processes().env, "pending", ended.pending or "")
    show(f"device jobs: {ended.text}" + (f" ({ended.pending})" if ended.pending else ""))
    return EXIT_PASS


def _wait(limits: PollingLimits, console: Console) -> WaitResult:
    try:
        _, event, api = open_job()
        if limits.jobs:
            _look_at_environment(api, event)
        return wait_for_jobs(
            api, event, limits, pause=time.sleep, clock=time.monotonic, say=console.say
        )
    except Interrupted:
        raise
    except MegtrimError as error:
        failure = InfrastructureFailure(error.message, hint=error.hint)
        return WaitResult(pending=PendingReason.LATE, text="GitHub did not answer", failure=failure)


def _look_at_environment(api: Api, event: Event) -> bool | None:
    """Warn if it is open, and tell whether it is."""
    found = is_open(api, event.repository, DEVICE_ENVIRONMENT)
    if found:
        text = warn_of_environment(f"{event.server_url}/{event.repository}")
        show_command(annotation("warning", text, title="Devices are not protected"))
    return found


_ENVIRONMENT: Mapping[bool | None, str] = {
    True: "it asks no one",
    False: "it has rules",
    None: "GitHub does not show its rules",
}


def environment(jobs: int) -> int:
    if not jobs:
        show("there are no device jobs")
        return EXIT_PASS
    try:
        _, event, api = open_job()
        found = _look_at_environment(api, event)
    except MegtrimError as error:
        open_console().warn(one_line(str(error), most=1000))
        return EXIT_PASS
    show(f"environment {DEVICE_ENVIRONMENT}: {_ENVIRONMENT[found]}")
    return EXIT_PASS


def propose(
    keep_set: Path,
    report: Path,
    config: Path | None,
    project: Path,
    branch: str,
    base: str,
    workflow: str,
    token_starts_checks: bool,
) -> int:
    console = open_console()
    env, event, api = open_job()
    proposer = PullRequestProposer(api, event.repository)
    path = _inside(keep_set, project)
    keep = read_folder(keep_set)
    verdict = read_verdict(report)
    if config is not None:
        _expect_of(str(config), path, verdict.invocation)
    base = base or _base(event)
    if event.default_branch not in ("", base):
        branch = f"{branch}-{base}"  # each base has a proposal of its own
    if branch == base:
        msg = f"branch {branch} cannot be proposed to itself"
        raise InputError(msg, hint="name another branch with --branch")
    base_commit = proposer.head(base)
    if base_commit is None:
        msg = f"there is no branch {one_line(base)!r}"
        raise InputError(msg, hint="name the branch to propose to with --base")
    change = FolderChange(
        path=path, texts=dump_folder(keep), base=base, branch=branch, title=f"Refresh {path}"
    )
    committed = _parse_committed(proposer.fetch_texts(change, base_commit), console)
    proposed = PullRequestState(outcome=ProposalResult.UNCHANGED)
    if committed != keep:
        text = body(
            Proposal(
                path=path,
                branch=branch,
                previous=committed,
                current=keep,
                verdict=verdict,
                starts=_starts(workflow, token_starts_checks=token_starts_checks),
            )
        )
        proposed = proposer.propose(change, base_commit, text)
    if proposed.number and workflow and not token_starts_checks:
        _start(proposer, proposed, workflow, branch, console)
    write_output(env, "outcome", proposed.outcome)
    write_output(env, "pull-request", str(proposed.number or ""))
    if proposed.outcome is ProposalResult.UNCHANGED:
        show(f"{path} is what {one_line(base)} has: nothing to propose")
    else:
        show(f"pull request {proposed.number}: {proposed.outcome}")
    return EXIT_PASS


def _base(event: Event) -> str:
    if event.pull_request is None and event.ref.startswith("refs/heads/"):
        return event.ref.removeprefix("refs/heads/")
    return event.default_branch


def _inside(keep_set: Path, project: Path) -> str:
    try:
        return keep_set.resolve().relative_to(project.resolve()).as_posix()
    except ValueError:
        msg = f"{keep_set} is not in {project}"
        raise InputError(msg, hint="name the checkout that contains it with --project") from None


def _expect_of(config: str, keep_set: str, traced: Invocation) -> None:
    expect_configuration("the report", traced.config, config)
    if traced.keep_set != keep_set:
        msg = f"--keep-set: found {keep_set}, and {config} names {traced.keep_set}"
        raise InputError(msg, hint="name that folder as the workflow's input keep-set")


def _parse_committed(texts: Mapping[str, str] | None, console: Console) -> KeepSet | None:
    if not texts:
        return None
    try:
        return parse_folder(texts, source="the committed keep set")
    except InputError as error:
        console.warn(one_line(str(error), most=1000))
        return None


def _starts(workflow: str, *, token_starts_checks: bool) -> str:
    if token_starts_checks:
        return _BY_ITSELF
    return _BY_DISPATCH.format(workflow=code(workflow)) if workflow else _BY_HAND


def _start(
    proposer: PullRequestProposer,
    proposed: PullRequestState,
    workflow: str,
    branch: str,
    console: Console,
) -> None:
    try:
        started = proposer.start_checks(proposed, workflow, branch)
    except InfrastructureFailure as failure:
        reason = one_line(str(failure), most=1000)
        console.warn(f"{one_line(workflow)} was not started on {branch}: {reason}")
        return
    now = "started" if started else "was already started"
    console.say(f"{one_line(workflow)} {now} on {branch} for pull request {proposed.number}")
