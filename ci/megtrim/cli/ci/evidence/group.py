"""``megtrim ci evidence``: what a hosted build gives to device jobs, and what comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from megtrim.cli.ci.evidence import device_job
from megtrim.cli.ci.evidence import join as final
from megtrim.cli.ci.evidence.previous_proofs import proofs_option, read_proofs
from megtrim.cli.echo import show
from megtrim.cli.session.environment import open_processes, read_today
from megtrim.cli.session.origin import read_event_origin
from megtrim.cli.session.setup import (
    Options,
    base_options,
    committed_option,
    common,
    describe,
    open_session,
    quick_option,
)
from megtrim.device_jobs import pack as bundling
from megtrim.errors import EXIT_PASS, InputError, worst_exit_code
from megtrim.evidence.bundle import BUNDLE_FILE, Bundle, JobPurpose
from megtrim.evidence.checks import PendingReason
from megtrim.github.runner import write_output
from megtrim.plan.graph import PROFILE, tasks, trims_functions, with_dependencies
from megtrim.plan.matrix import Shard
from megtrim.stages import runner
from megtrim.store import sha256_file

_PATH = click.Path(path_type=Path)


@click.group()
def evidence() -> None:
    """Verify, trace or time on devices of other machines: pack, run, join."""


@evidence.command(
    epilog="""\b
Examples:
  megtrim ci evidence pack --committed --proofs proofs/evidence.json --to bundle
  megtrim ci evidence pack --traces --to bundle
  megtrim ci evidence pack --functions --evidence traces --to bundle
  megtrim ci evidence pack --times --committed --to bundle
"""
)
@common
@committed_option
@quick_option
@base_options
@click.option(
    *("--traces", "asked"),
    flag_value="traces",
    help="Have all scenarios traced; if trim.base is plain, their functions recorded.",
)
@click.option(
    *("--functions", "asked"),
    flag_value="functions",
    help="Have the functions of all scenarios recorded.",
)
@click.option(
    *("--times", "asked"),
    flag_value="times",
    help="Have times taken, as `perf` configures them.",
)
@click.option(
    *("--evidence", "traces"),
    type=_PATH,
    multiple=True,
    metavar="DIR",
    help="With --functions: evidence with the traces to build from; repeatable.",
)
@proofs_option
@click.option(
    "--to", type=_PATH, required=True, metavar="DIR", help="Folder to write to: new or empty."
)
def pack(asked: str | None, proofs: Path | None, to: Path, **options: Any) -> int:
    """Write the bundle for device jobs: programs, models, inputs, and what to run.

    Functions are recorded on a link that is built from traces: those of --evidence, or new ones
    that are taken here.
    """
    chosen = Options(**options)
    combines = asked == "times" and proofs is None
    if asked and not combines and (chosen.committed or chosen.quick or proofs is not None):
        others = "--proofs" if asked == "times" else "--committed, --quick or --proofs"
        msg = f"--{asked} asks for new {asked}: it cannot be combined with {others}"
        raise click.UsageError(msg)
    if chosen.traces and asked != "functions":
        msg = "--evidence has the traces that --functions builds from: it needs --functions"
        raise click.UsageError(msg)
    session = open_session(chosen)
    # Functions are recorded again.
    session = replace(session, request=replace(session.request, recorded={}))
    describe(session)
    config = session.request.config
    if asked == "functions" and not trims_functions(config):
        msg = f"{session.request.loaded.path}: trim.level is region, so no functions are recorded"
        raise InputError(msg, hint="add trim: {level: function}")
    purpose = (
        JobPurpose.TIME
        if asked == "times"
        else bundling.purpose_of(config, proves=asked is None, functions=asked == "functions")
    )
    known = read_proofs(proofs, session.services.console)
    every = tasks(config, committed=session.request.committed)
    _, codes = runner.run(
        with_dependencies(bundling.list_required_tasks(config, purpose), every), session
    )
    # A profile build that a trap needed already explains one on a device, too.
    runner.plan(with_dependencies([PROFILE], tasks(config)), session)
    bundle = bundling.pack(runner.able(session), purpose, known, to)
    if worst_exit_code(codes) != EXIT_PASS:
        session.services.console.warn(
            "not all programs could be built: the bundle asks for nothing"
        )
    digest = sha256_file(to / BUNDLE_FILE)
    show(f"{_describe_bundle(bundle)}\nbundle-sha256={digest}")
    write_output(open_processes().env, "bundle-sha256", digest)
    # A verification and times have a verdict, which reports a failed build; nothing else has one.
    return worst_exit_code(codes) if asked in ("traces", "functions") else EXIT_PASS


def _describe_bundle(bundle: Bundle) -> str:
    timed = bundle.purpose is JobPurpose.TIME
    asked, proven = len(bundle.contests if timed else bundle.scenarios), len(bundle.proven)
    noun = "contest" if timed else "scenario"
    text = f"1 {noun}" if asked == 1 else f"{asked} {noun}s"
    return f"{text} to {bundle.purpose} on devices" + (f", {proven} already proven" * bool(proven))


@evidence.command(
    epilog="""\b
Examples:
  megtrim ci evidence run bundle --sha256 DIGEST --class pixel --shard 1/2 --to evidence
  megtrim ci evidence run bundle --sha256 DIGEST --class any --to evidence --emulated
"""
)
@click.argument("bundle", type=_PATH)
@click.option("--sha256", required=True, metavar="DIGEST", help="SHA-256 of bundle.json.")
@click.option("--class", "cpu_class", required=True, metavar="CLASS", help="CPU class to run.")
@click.option(
    "--shard",
    default="1/1",
    show_default=True,
    metavar="I/N",
    help="Run part I of N of the scenarios.",
)
@click.option(
    "--to", type=_PATH, required=True, metavar="DIR", help="Folder to write to: new or empty."
)
@click.option("--emulated", is_flag=True, help="Run on this machine, even if there are devices.")
@click.option("--quiet", "-q", is_flag=True, help="Print only warnings and results.")
def run(
    bundle: Path,
    sha256: str,
    cpu_class: str,
    shard: str,
    to: Path,
    emulated: bool,
    quiet: bool,
) -> int:
    """Run a part of BUNDLE on a device, and write the evidence.

    Needs no engine, no compiler and no project. A program that fails is evidence, and so is a
    device that fails: the exit status is 0. Devices of kind local, qemu, auto or virtual-phone run
    the bundle's programs on this machine; its owner allows that with
    MEGTRIM_HOST_RUNS_PROGRAMS=yes in the environment.
    """
    request = device_job.JobRequest(
        bundle=bundle,
        sha256=sha256,
        cpu_class=cpu_class,
        shard=Shard.parse(shard),
        to=to,
        emulated=emulated,
        today=read_today(),
    )
    return device_job.execute(request, quiet=quiet)


@evidence.command(
    epilog="""\b
Examples:
  megtrim ci evidence join --verdict results/verdict.json --bundle bundle \\
      --evidence evidence --proofs proofs/evidence.json --to report
  megtrim ci evidence join --verdict results --bundle bundle --pending fork --to report
"""
)
@click.option(
    "--verdict",
    type=_PATH,
    required=True,
    metavar="FILE",
    help="The build's verdict.json, or its folder.",
)
@click.option("--bundle", type=_PATH, metavar="DIR", help="The bundle of the device jobs.")
@click.option(
    "--sha256",
    default="",
    metavar="DIGEST",
    help="SHA-256 of bundle.json, as `pack` printed it: a changed one is refused.",
)
@click.option(
    *("--evidence", "folders"),
    type=_PATH,
    multiple=True,
    metavar="DIR",
    help="Evidence of a device job, or a folder of such folders; repeatable.",
)
@click.option(
    *("--config", "-c"),
    type=_PATH,
    help="The configuration that is judged: what is of another one is refused.",
)
@proofs_option
@click.option(
    "--pending",
    type=click.Choice(["", *(each.value for each in PendingReason)]),
    default="",
    help="Why evidence of device jobs is missing.",
)
@click.option(
    "--build-runner",
    default="",
    metavar="LABELS",
    help="Runner that the workflow builds on, a label or a JSON list; a fork's verdict names it.",
)
@click.option(
    "--to", type=_PATH, required=True, metavar="REPORT", help="Folder to write the report to."
)
@click.option("--run-url", default="", metavar="URL", help="Address of the run, for the comment.")
@click.option("--artifact", default="", help="Artifact of the run that holds the report.")
def join(
    verdict: Path,
    bundle: Path | None,
    sha256: str,
    folders: tuple[Path, ...],
    config: Path | None,
    proofs: Path | None,
    pending: str,
    build_runner: str,
    to: Path,
    run_url: str,
    artifact: str,
) -> int:
    """Combine the build's verdict with the evidence of devices, and write the final report."""
    if to.exists() and not to.is_dir():
        msg = f"--to {to}: found no folder, expected one"
        raise InputError(msg)
    request = final.JoinRequest(
        config=str(config or ""),
        verdict=verdict,
        bundle=bundle,
        sha256=sha256,
        folders=folders,
        proofs=proofs,
        pending=PendingReason(pending) if pending else None,
        build_runner=build_runner,
        origin=read_event_origin(open_processes().env, str(config or "")),
        to=to,
        today=read_today(),
    )
    return final.execute(request, final.links(open_processes().env, run_url, artifact))
