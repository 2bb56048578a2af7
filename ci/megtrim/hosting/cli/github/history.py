"""``megtrim ci github history``, ``base`` and ``regression-issues``: what is kept of nights."""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from megtrim.core.build_spec import Variant
from megtrim.core.chain.filenames import SIZES_FILE, VERDICT_FILE
from megtrim.core.cli.clock import read_now
from megtrim.core.cli.echo import open_console, show, show_command
from megtrim.core.cli.environment import open_processes
from megtrim.core.config.units import WORK
from megtrim.core.size.baseline import load_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.counted import Use
from megtrim.core.size.history import expect_sizes_of, make_commit_sizes
from megtrim.core.size.rows import BudgetRow
from megtrim.core.size.use import compare_work
from megtrim.core.verdict.model import Verdict, to_json
from megtrim.hosting.cli.evidence.join import links, write_forms
from megtrim.hosting.cli.github.client import (
    expect_default_branch,
    open_api,
    open_job,
    read_runs,
    read_verdict,
)
from megtrim.hosting.github.api import Api
from megtrim.hosting.github.baselines import BaselineSource, find
from megtrim.hosting.github.commits import (
    fetch_commit,
    fetch_head,
    fetch_start,
    is_ancestor,
    list_rewrites,
)
from megtrim.hosting.github.issues import IssueTracker, TrackedIssue
from megtrim.hosting.github.runner import annotation, write_output
from megtrim.libs.history.branch import DataBranch
from megtrim.libs.history.entries import HistoryEntry, is_future
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, InputError
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.wording import COMMIT_DIGEST, one_line
from megtrim.places.github_event import Event, read_event
from megtrim.times.cli.history import load_run
from megtrim.times.nights.issue_actions import (
    IssueAction,
    IssueState,
    KnownIssue,
    Night,
    list_bases,
    plan_actions,
)
from megtrim.times.nights.night import NightFacts, add_history, make_runs
from megtrim.times.report.regression_issue import LABEL, NightPlace, read_record, render_issue

RUNS_FOLDER = "runs"
_MOST_RUNS = 200
_COMMIT_DIGITS = 12
_MOST_BASES = 10
_LONGEST_BRANCH = 80
_WORDS = {
    IssueState.REGRESSED: "updated",
    IssueState.FIXED: "closed: repaired",
    IssueState.DUPLICATE: "closed: another one is open",
}


def add(report: Path, history: Path, base_commit: str, artifact: str) -> int:
    verdict = read_verdict(report)
    if verdict.performance is None:
        show("no times were measured: nothing joins the history")
        return EXIT_PASS
    env, event, api = open_job()
    facts = NightFacts(
        commit=fetch_commit(api, event.repository, event.head_sha),
        measured_at=fetch_start(api, event.repository, event.run_id),
        job=str(event.run_id),
    )
    runs = make_runs(verdict, facts)
    for run in runs:
        write_atomically(report / RUNS_FOLDER / f"{run.id}.json", dump(run))
    every = {each.id: each for each in (*read_runs(history), *runs)}
    verdict = add_history(verdict, tuple(every.values()))
    if base_commit and any(row.work for row in verdict.budgets):
        if not COMMIT_DIGEST.fullmatch(base_commit):
            msg = f"--base {one_line(base_commit, most=60)}: found no commit, expected its digits"
            raise InputError(msg)
        of_base = replace(event, sha=base_commit)
        budgets = tuple(_compare_work(api, of_base, report, verdict, artifact))
        verdict = replace(verdict, budgets=budgets)
    write_forms(verdict, report, links(env, event.run_url, artifact))
    write_atomically(report / VERDICT_FILE, to_json(verdict))
    show("\n".join(run.id for run in runs) or "nothing was to be measured")
    return EXIT_PASS


def _compare_work(
    api: Api, of_base: Event, report: Path, verdict: Verdict, artifact: str
) -> Iterator[BudgetRow]:
    now = load_sizes(report / SIZES_FILE, shown=SIZES_FILE)
    config = verdict.invocation.config
    found = find(api, of_base, config=config, artifact=artifact, now_s=read_now().timestamp())
    for warning in found.warnings:
        open_console().warn(one_line(warning, most=1000))
    base = found.stored if found.how is BaselineSource.MERGE_BASE else Baseline(sizes={})
    for row in verdict.budgets:
        known, former = (e.uses.get(row.artifact, Use()).work.get(row.variant) for e in (now, base))
        if known is None or (row.measure, row.variant) != (WORK, Variant.PLAIN):
            yield row
        else:
            yield compare_work(row, known, former, of_base.sha[:_COMMIT_DIGITS])


def push(report: Path, branch: str, repository: Path) -> int:
    paths = sorted((report / RUNS_FOLDER).glob("*.json"))
    if len(paths) > _MOST_RUNS:
        msg = f"{report / RUNS_FOLDER}: found {len(paths)} runs, expected at most {_MOST_RUNS}"
        raise InputError(msg)
    runs = [load_run(path) for path in paths]
    if not runs:
        show("nothing was to be measured: the history stays as it is")
        return EXIT_PASS
    processes = open_processes()
    event = read_event(processes.env)
    expect_default_branch(event)
    commit = _append(processes, event, repository, branch, runs)
    show("\n".join(f"{run.path} in {branch} at {commit[:12]}" for run in runs))
    return EXIT_PASS


def push_sizes(baseline: Path, config: str, branch: str, repository: Path) -> int:
    processes = open_processes()
    event = read_event(processes.env)
    expect_default_branch(event)
    paths = sorted(baseline.rglob(SIZES_FILE))
    if len(paths) > 1:
        msg = f"{baseline}: found {len(paths)} {SIZES_FILE}, expected one"
        raise InputError(msg, hint="name the folder of one configuration's baseline")
    if not paths:
        show("this run stored no sizes: the history stays as it is")
        return EXIT_PASS
    stored = load_sizes(paths[0], shown=SIZES_FILE)
    try:
        found = make_commit_sizes(stored, shown=SIZES_FILE, run=event.run_id)
    except InputError as error:
        open_console().warn(f"left out: {error.message}")
        return EXIT_PASS
    if is_future(found, read_now()):
        said = f"the commit says that it was made on {found.committed_at[:10]}"
        open_console().warn(f"left out: {SIZES_FILE}: {said}")
        return EXIT_PASS
    entry = expect_sizes_of(found, commit=event.head_sha, config=str(PurePosixPath(config)))
    commit = _append(processes, event, repository, branch, [entry])
    show(f"{entry.path} in {branch} at {commit[:12]}")
    return EXIT_PASS


def _append(
    processes: ProcessRunner,
    event: Event,
    repository: Path,
    branch: str,
    entries: Sequence[HistoryEntry],
) -> str:
    token = processes.env.get("GITHUB_TOKEN", "").strip()
    if not token:
        msg = "there is no GitHub token"
        raise InputError(msg, hint="pass the job's own: env GITHUB_TOKEN")
    encoded = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    remote = f"{event.server_url}/{event.repository}"
    header = f"Authorization: basic {encoded}"
    opened = DataBranch(processes, repository, branch, remote=remote, header=header)
    commit = opened.append(entries)
    for rewrite in list_rewrites(open_api(processes.env, event), event.repository, branch):
        text = f"{rewrite}: compare it with the entries that you expect"
        title = f"The history {branch} was rewritten"
        show_command(annotation("warning", text, title=title))
    return commit


def base(config: str, history: Path) -> int:
    env, event, api = open_job()
    known = _read_known(IssueTracker(api, event.repository, label=LABEL).list_own())
    found = list_bases(known, read_runs(history), config=config, head=event.head_sha)
    commit = _choose_ancestor(api, event, found)
    write_output(env, "commit", commit)
    branch = one_line(event.default_branch, most=_LONGEST_BRANCH)
    write_output(env, "name", f"{branch} at {commit[:_COMMIT_DIGITS]}" if commit else "")
    show(f"compared with {commit}" if commit else "there is no earlier commit to compare with")
    return EXIT_PASS


def _choose_ancestor(api: Api, event: Event, commits: tuple[str, ...]) -> str:
    if not commits:
        return ""
    own = event.of_default_branch
    repository = event.repository
    head = event.sha if own else fetch_head(api, repository, event.default_branch)
    for commit in commits[:_MOST_BASES]:
        if is_ancestor(api, repository, commit, head):
            return commit
        open_console().warn(
            f"{commit} is not in the history of the default branch, so it cannot be the base"
        )
    return ""


def regression_issues(
    report: Path, config: str, history: Path, base_commit: str, artifact: str, dry_run: bool
) -> int:
    console = open_console()
    env = open_processes().env
    event = read_event(env)
    verdict = read_verdict(report)
    performance = verdict.performance
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
        now=read_now(),
    )
    where = NightPlace(
        repository_url=f"{event.server_url}/{event.repository}",
        run_url=event.run_url,
        artifact=artifact,
        head=event.head_sha,
        base=base_commit,
        budgets=verdict.budgets,
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
    again = action.record.measured and action.record.state is IssueState.FIXED
    words = "closed: measured again" if again else _WORDS[action.record.state]
    return f"issue {action.number}: {words}"


def _read_known(issues: Iterable[TrackedIssue]) -> tuple[KnownIssue, ...]:
    return tuple(
        KnownIssue(number=issue.number, is_open=issue.is_open, record=record)
        for issue in issues
        if (record := read_record(issue.body)) is not None
    )
