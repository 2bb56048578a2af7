"""``megtrim plan``: what would run, and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from megtrim import stages
from megtrim.chain.graph import Stage, tasks, tasks_up_to, trims_functions
from megtrim.chain.matrix import PER_JOB, entries
from megtrim.chain.session import Session
from megtrim.chain.staleness import PlanStep, TaskState
from megtrim.checks.invocation import Options
from megtrim.cli.ci.evidence.previous_proofs import proofs_option, read_proofs
from megtrim.cli.echo import show
from megtrim.cli.environment import open_processes
from megtrim.cli.options import base_options, traces_option, trimming
from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.cli.session.setup import describe, open_session
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.limits import MOST_RESULTS
from megtrim.github.runner import write_output
from megtrim.jobs import pack
from megtrim.util.errors import EXIT_PASS

_ARTIFACTS = {
    JobPurpose.VERIFY: "megtrim-evidence",
    JobPurpose.TRACE: "megtrim-traces",
    JobPurpose.RECORD: "megtrim-functions",
    JobPurpose.TIME: "megtrim-times",
}


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


def show_matrix(session: Session, *, proofs: Path | None, per_job: int, times: bool = False) -> int:
    """Print the jobs as JSON and set them as outputs of the step.

    ``session`` knows what is built. Scenarios with a young proof in ``proofs`` need no job.
    Functions are recorded once there are traces. ``times``: the jobs take times instead; they
    share the contests, not the scenarios.
    """
    config = session.request.config
    purpose = (
        JobPurpose.TIME
        if times
        else pack.purpose_of(
            config,
            proves=session.request.options.committed or session.request.options.quick,
            functions=bool(session.request.traced),
        )
    )
    for task in pack.missing(session, purpose)[:1]:
        session.services.console.warn(f"no job: {task}, which devices would run, is not built yet")
    selection = pack.select(session, purpose, read_proofs(proofs, session.services.console))
    runners = pack.runner_classes(session.request)
    if selection.proven:
        session.services.console.say(
            f"no job for scenarios that are proven: {len(selection.proven)}"
        )
    jobs = {
        name: entries(
            selection.counts(runners=runners, on_runners=on_runners),
            per_job=per_job,
            artifact=_ARTIFACTS[purpose],
            config=session.request.invocation.config,
        )
        for name, on_runners in (("device", True), ("emulated", False))
    }
    matrices = {
        name: {"include": [entry.as_json() for entry in found]} for name, found in jobs.items()
    }
    show(json.dumps(matrices, indent=1))
    env = open_processes().env
    follows = purpose is JobPurpose.TRACE and trims_functions(config)
    write_output(env, "functions", str(follows).lower())
    for name, found in jobs.items():
        write_output(env, name, json.dumps(matrices[name], separators=(",", ":")))
        write_output(env, f"{name}-jobs", str(len(found)))
    return EXIT_PASS
