"""``megtrim ci github history``: a night joins the history, and the history its report.

Nothing that is read here is executed: runs are JSON, and git is asked for objects alone.
"""

from __future__ import annotations

import base64
from pathlib import Path

import click

from megtrim.cli.ci.evidence.join import links, write_forms
from megtrim.cli.ci.github.client import open_api, open_event
from megtrim.cli.ci.github.night_files import read_runs, read_verdict
from megtrim.cli.echo import show
from megtrim.cli.perf.options import load_run
from megtrim.cli.session.environment import open_processes
from megtrim.errors import EXIT_PASS, InputError
from megtrim.github.commits import fetch_commit, fetch_start
from megtrim.history.branch import DataBranch
from megtrim.perf.history import MeasuredCommit, dump_run
from megtrim.pipeline.filenames import VERDICT_FILE
from megtrim.pipeline.summary.night import NightFacts, add_history, make_runs
from megtrim.store import write_atomically
from megtrim.verdict.model import to_json

RUNS_FOLDER = "runs"
_MOST_RUNS = 200
_PATH = click.Path(path_type=Path)


@click.group(
    epilog="""\b
Examples:
  megtrim ci github history add report --history history
  megtrim ci github history push report --branch perf-history --repository kit
"""
)
def history() -> None:
    """Add a night to the history of times, and the history to its report."""


@history.command(
    epilog="""\b
Example:
  megtrim ci github history add report --history history

From the environment: GITHUB_EVENT_PATH and the runner's other variables, and GITHUB_TOKEN,
which needs `permissions: actions: read, contents: read`.
"""
)
@click.argument("report", type=_PATH)
@click.option(
    "--history",
    "folder",
    type=_PATH,
    default=Path("history"),
    show_default=True,
    help="Folder of the history; it may be missing.",
)
@click.option("--artifact", default="", help="Artifact of this run that holds the report.")
def add(report: Path, folder: Path, artifact: str) -> int:
    """Write the runs of a night next to its REPORT, and the history into it.

    A run has the time at which the workflow was started: a repeated job writes the same file.
    """
    env = open_processes().env
    verdict = read_verdict(report)
    if verdict.performance is None:
        show("no times were measured: nothing joins the history")
        return EXIT_PASS
    event = open_event(env)
    api = open_api(env, event)
    commit = fetch_commit(api, event.repository, event.head_sha)
    facts = NightFacts(
        commit=MeasuredCommit(
            sha=commit.sha, parent=commit.parent, committed_at=commit.committed_at
        ),
        measured_at=fetch_start(api, event.repository, event.run_id),
        job=str(event.run_id),
    )
    runs = make_runs(verdict, facts)
    for run in runs:
        write_atomically(report / RUNS_FOLDER / f"{run.id}.json", dump_run(run))
    every = {each.id: each for each in (*read_runs(folder), *runs)}
    verdict = add_history(verdict, tuple(every.values()))
    write_forms(verdict, report, links(env, event.run_url, artifact))
    write_atomically(report / VERDICT_FILE, to_json(verdict))
    show("\n".join(run.id for run in runs) or "no device measured anything")
    return EXIT_PASS


@history.command(
    epilog="""\b
Example:
  megtrim ci github history push report --branch perf-history --repository kit

From the environment: GITHUB_EVENT_PATH and the runner's other variables, and GITHUB_TOKEN,
which needs `permissions: contents: write`.
"""
)
@click.argument("report", type=_PATH)
@click.option("--branch", default="perf-history", show_default=True, help="Branch of the history.")
@click.option(
    "--repository",
    type=_PATH,
    default=Path(),
    help="Any checkout, for git to keep objects in. [default: the current folder]",
)
def push(report: Path, branch: str, repository: Path) -> int:
    """Append the runs of REPORT to the history's branch of this run's repository.

    Many jobs may append at once, and a repeated job changes nothing. Nothing is checked out, and
    the token is in no file and on no command line.
    """
    processes = open_processes()
    paths = sorted((report / RUNS_FOLDER).glob("*.json"))
    if len(paths) > _MOST_RUNS:
        msg = f"{report / RUNS_FOLDER}: found {len(paths)} runs, expected at most {_MOST_RUNS}"
        raise InputError(msg)
    runs = [load_run(path) for path in paths]
    if not runs:
        show("no device measured anything: the history stays as it is")
        return EXIT_PASS
    event = open_event(processes.env)
    token = processes.env.get("GITHUB_TOKEN", "").strip()
    if not token:
        msg = "there is no GitHub token"
        raise InputError(msg, hint="pass the job's own: env GITHUB_TOKEN")
    encoded = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    remote = f"{event.server_url}/{event.repository}"
    found = DataBranch(
        processes, repository, branch, remote=remote, header=f"Authorization: basic {encoded}"
    )
    commit = found.append(runs)
    show("\n".join(f"{run.path} in {branch} at {commit[:12]}" for run in runs))
    return EXIT_PASS
