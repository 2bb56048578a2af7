"""``megtrim evidence``: what a hosted build gives to device jobs, and what comes back."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.evidence import device_job
from megtrim.cli.evidence import join as final
from megtrim.cli.evidence.previous_proofs import proofs_option, read_proofs
from megtrim.cli.session.environment import open_processes
from megtrim.cli.session.setup import (
    Options,
    committed_option,
    common,
    describe,
    open_context,
    quick_option,
    today_option,
)
from megtrim.device_jobs import pack as bundling
from megtrim.errors import EXIT_PASS, InputError, worst_exit_code
from megtrim.evidence.bundle import BUNDLE_FILE, Bundle
from megtrim.evidence.checks import PendingReason
from megtrim.github.runner import write_output
from megtrim.plan.graph import PROFILE, by_function, resting, tasks
from megtrim.plan.matrix import Shard
from megtrim.stages import runner
from megtrim.store import sha256_file

_PATH = click.Path(path_type=Path)

_today = today_option("The day of the evidence, against which proofs are judged; else the clock's.")


@click.group()
def evidence() -> None:
    """Prove or trace on devices of other machines: pack, run, join."""


@evidence.command(
    epilog="""\b
Examples:
  megtrim evidence pack --committed --proofs proofs/evidence.json --to bundle
  megtrim evidence pack --traces --to bundle
  megtrim evidence pack --functions --evidence traces --to bundle
"""
)
@common
@committed_option
@quick_option
@click.option(
    *("--traces", "asked"),
    flag_value="traces",
    help="Ask for traces, of all scenarios; for functions where nothing is traced.",
)
@click.option(
    *("--functions", "asked"),
    flag_value="functions",
    help="Ask which functions run, in all scenarios.",
)
@click.option(
    *("--evidence", "traces"),
    type=_PATH,
    multiple=True,
    metavar="DIR",
    help="Evidence with traces, for the link that tells of functions to rest on; repeatable.",
)
@proofs_option
@click.option("--to", type=_PATH, required=True, metavar="DIR", help="A new or empty folder.")
def pack(asked: str | None, proofs: Path | None, to: Path, **options: Any) -> int:
    """Write the bundle that device jobs get: programs, models, inputs, and what to run.

    To have functions recorded, the link that tells them is made first. The traces that it rests
    on are those of --evidence, else they are taken here.
    """
    chosen = Options(**options)
    if asked and (chosen.committed or chosen.quick or proofs is not None):
        others = "--committed, --quick and --proofs do not go with it"
        msg = f"--{asked} asks for new {asked}: {others}"
        raise click.UsageError(msg)
    if chosen.traces and asked != "functions":
        msg = "--evidence has traces that functions rest on: it goes with --functions alone"
        raise click.UsageError(msg)
    context = replace(open_context(chosen), recorded={})  # functions are asked for anew
    describe(context)
    config = context.loaded.config
    if asked == "functions" and not by_function(config):
        msg = f"{context.loaded.path}: trim.level is region, so no functions are recorded"
        raise InputError(msg, hint="add trim: {level: function}")
    purpose = bundling.purpose_of(config, proves=asked is None, functions=asked == "functions")
    known = read_proofs(proofs, context.console)
    every = tasks(config, committed=context.committed)
    _, codes = runner.run(resting(bundling.list_required_tasks(config, purpose), every), context)
    # A profile build that a trap needed already explains one on a device, too.
    runner.plan(resting([PROFILE], tasks(config)), context)
    bundle = bundling.pack(runner.able(context), purpose, known, to)
    if worst_exit_code(codes) != EXIT_PASS:
        context.console.warn("not all programs could be built: the bundle asks for nothing")
    digest = sha256_file(to / BUNDLE_FILE)
    show(f"{_describe_bundle(bundle)}\nbundle-sha256={digest}")
    write_output(open_processes().env, "bundle-sha256", digest)
    # A verification has a verdict, which tells of a build that failed; nothing else has one.
    return worst_exit_code(codes) if asked else EXIT_PASS


def _describe_bundle(bundle: Bundle) -> str:
    asked, proven = len(bundle.scenarios), len(bundle.proven)
    text = "1 scenario" if asked == 1 else f"{asked} scenarios"
    return f"{text} to {bundle.purpose} on devices" + (f", {proven} proven before" * bool(proven))


@evidence.command(
    epilog="""\b
Examples:
  megtrim evidence run bundle --sha256 DIGEST --class pixel --shard 1/2 --to evidence
  megtrim evidence run bundle --sha256 DIGEST --class any --to evidence --emulated
"""
)
@click.argument("bundle", type=_PATH)
@click.option("--sha256", required=True, metavar="DIGEST", help="Of bundle.json.")
@click.option("--class", "cpu_class", required=True, metavar="CLASS", help="The CPU class.")
@click.option("--shard", default="1/1", show_default=True, metavar="I/N", help="The job's part.")
@click.option("--to", type=_PATH, required=True, metavar="DIR", help="A new or empty folder.")
@click.option("--emulated", is_flag=True, help="Run on this machine, whatever devices there are.")
@click.option("--quiet", "-q", is_flag=True, help="Only warnings and results.")
@_today
def run(
    bundle: Path,
    sha256: str,
    cpu_class: str,
    shard: str,
    to: Path,
    emulated: bool,
    quiet: bool,
    today: date | None,
) -> int:
    """Run a part of BUNDLE on a device, and write what was seen.

    Needs no engine, no compiler and no project. Whatever a program does is evidence, and so is a
    device that fails: the exit status is 0. A device of kind local, qemu or auto runs the
    bundle's programs on this machine itself; its owner allows that with
    MEGTRIM_HOST_RUNS_PROGRAMS=yes in the environment.
    """
    request = device_job.JobRequest(
        bundle=bundle,
        sha256=sha256,
        cpu_class=cpu_class,
        shard=Shard.parse(shard),
        to=to,
        emulated=emulated,
        today=today or date.today(),
    )
    return device_job.execute(request, quiet=quiet)


@evidence.command(
    epilog="""\b
Examples:
  megtrim evidence join --verdict results/verdict.json --bundle bundle \\
      --evidence evidence --proofs proofs/evidence.json --to report
  megtrim evidence join --verdict results --bundle bundle --pending fork --to report
"""
)
@click.option("--verdict", type=_PATH, required=True, metavar="FILE", help="The build's verdict.")
@click.option("--bundle", type=_PATH, metavar="DIR", help="The bundle that device jobs got.")
@click.option(
    *("--evidence", "folders"),
    type=_PATH,
    multiple=True,
    metavar="DIR",
    help="What device jobs left, or a folder of such folders; repeatable.",
)
@proofs_option
@click.option(
    "--pending",
    type=click.Choice(["", *(each.value for each in PendingReason)]),
    default="",
    help="Why device jobs brought nothing.",
)
@click.option("--to", type=_PATH, required=True, metavar="REPORT", help="Folder of the report.")
@click.option("--run-url", default="", metavar="URL", help="Address of the run, for the comment.")
@click.option("--artifact", default="", help="Artifact of the run that holds the report.")
@_today
def join(
    verdict: Path,
    bundle: Path | None,
    folders: tuple[Path, ...],
    proofs: Path | None,
    pending: str,
    to: Path,
    run_url: str,
    artifact: str,
    today: date | None,
) -> int:
    """Join the build's verdict with what devices saw, and write the final report."""
    if to.exists() and not to.is_dir():
        msg = f"--to {to}: found no folder, expected one"
        raise InputError(msg)
    request = final.JoinRequest(
        verdict=verdict,
        bundle=bundle,
        folders=folders,
        proofs=proofs,
        pending=PendingReason(pending) if pending else None,
        to=to,
        today=today or date.today(),
    )
    return final.execute(request, final.links(open_processes().env, run_url, artifact))
