"""``megtrim plan``: what would run, and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from megtrim import stages
from megtrim.chain.graph import Stage, tasks, tasks_up_to
from megtrim.chain.matrix import PER_JOB
from megtrim.chain.staleness import PlanStep, TaskState
from megtrim.checks.invocation import Options
from megtrim.cli.ci.evidence.previous_proofs import proofs_option
from megtrim.cli.ci.github.matrix import show_matrix
from megtrim.cli.echo import show
from megtrim.cli.options import base_options, traces_option, trimming
from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.cli.session.setup import describe, open_session
from megtrim.evidence.limits import MOST_RESULTS
from megtrim.util.errors import EXIT_PASS


@click.command(
    epilog="""\b
Examples:
  megtrim plan
  megtrim plan --why
  megtrim plan --committed --github-matrix --proofs evidence.json
  megtrim plan --committed --github-matrix --times --per-job 5
"""
)
@each_toolchain()
@trimming
@traces_option
@base_options
@click.option("--why", is_flag=True, help="Show what changed since the last result.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@click.option(
    "--github-matrix", is_flag=True, help="Print the device jobs of a workflow instead, as JSON."
)
@click.option(
    "--times", is_flag=True, help="With --github-matrix: jobs that take times, as `perf` says."
)
@proofs_option
@click.option(
    "--per-job",
    type=click.IntRange(1, MOST_RESULTS),
    default=PER_JOB,
    show_default=True,
    help="Scenarios for each device job, or contests with --times.",
)
def plan(
    options: Options,
    why: bool,
    github_matrix: bool,
    times: bool,
    proofs: Path | None,
    per_job: int,
) -> int:
    """Show which tasks would run and which are up to date. Nothing is built or run."""
    if times and not github_matrix:
        msg = "--times chooses the device jobs: it needs --github-matrix"
        raise click.UsageError(msg)
    session = open_session(options, writes=False)
    describe(session)
    every = tasks(session.request.config, committed=session.request.options.committed)
    wanted = tasks_up_to(Stage.REPORT, every)
    steps = stages.plan(wanted, session)
    if github_matrix:
        return show_matrix(session, proofs=proofs, per_job=per_job, times=times)
    if options.as_json:
        show(json.dumps([_data(step) for step in steps], indent=1))
        return EXIT_PASS
    show("\n".join(_line(step, why=why) for step in steps))
    if took := stages.describe_durations(wanted, session):
        show(f"time: {took}")
    count = sum(step.state is not TaskState.DONE for step in steps)
    show(f"{count} of {len(steps)} tasks to do" if count else "everything is up to date")
    return EXIT_PASS


def _data(step: PlanStep) -> dict[str, str]:
    """Return what scripts read of a step: that another version made a result is in its reason."""
    return {name: value for name, value in asdict(step).items() if name != "foreign"}


def _line(step: PlanStep, *, why: bool) -> str:
    reason = f"  {step.why}" if why else ""
    return f"{step.state.value:<6}{step.task}{reason}"
