"""``megtrim plan``: what would run, and why."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from megtrim import stages
from megtrim.chain.graph import Stage, tasks_up_to
from megtrim.chain.staleness import PlanStep, TaskState
from megtrim.checks.invocation import Options
from megtrim.cli.echo import show
from megtrim.cli.options import base_options, traces_option, trimming
from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.cli.session.setup import describe, open_session
from megtrim.util.errors import EXIT_PASS


@click.command(
    epilog="""\b
Examples:
  megtrim plan
  megtrim plan --why
"""
)
@each_toolchain()
@trimming
@traces_option
@base_options
@click.option("--why", is_flag=True, help="Show what changed since the last result.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(options: Options, why: bool) -> int:
    """Show which tasks would run and which are up to date. Nothing is built or run."""
    session = open_session(options, writes=False)
    describe(session)
    wanted = tasks_up_to(Stage.REPORT, session.request.tasks)
    steps = stages.plan(wanted, session)
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
