"""The verbs of ``megtrim ci evidence``: their options and help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from megtrim.core.chain.matrix import PER_JOB
from megtrim.core.checks.statuses import PendingReason
from megtrim.core.cli.later import do_later
from megtrim.core.cli.options import (
    PATH,
    artifact_option,
    base_options,
    committed_option,
    common,
    examples,
    quick_option,
    quiet_option,
    to_option,
)
from megtrim.libs.util.limits import MOST_RESULTS


def proofs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--proofs",
        type=PATH,
        metavar="FILE",
        help="Proofs of an earlier run; scenarios that they cover are not run again. The file "
        "may be missing.",
    )(command)


@click.command(
    epilog="""\b
Examples:
  megtrim ci evidence pack --committed --proofs proofs/evidence.json --to bundle
  megtrim ci evidence pack --traces --to bundle
  megtrim ci evidence pack --functions --evidence traces --to bundle
  megtrim ci evidence pack --times --committed --per-job 5 --to bundle

\b
Outputs of the step:
  bundle-sha256           digest of the bundle, which each job must name
  device, emulated        the jobs for devices on runners, and for emulators: a matrix as JSON
  device-jobs, emulated-jobs
                          how many they are
  functions               true if functions are to be recorded once there are traces
"""
)
@common
@committed_option
@quick_option
@base_options
@click.option(
    "--traces",
    "asked",
    flag_value="traces",
    help="Trace all scenarios or, if trim.base is plain, record their functions.",
)
@click.option(
    "--functions",
    "asked",
    flag_value="functions",
    help="Record the functions of all scenarios.",
)
@click.option(
    "--times", "asked", flag_value="times", help="Measure times, as `perf` configures them."
)
@click.option(
    "--evidence",
    "traces",
    type=PATH,
    multiple=True,
    metavar="DIR",
    help="With --functions: evidence with the traces to build from; repeatable.",
)
@proofs_option
@click.option(
    "--per-job",
    type=click.IntRange(1, MOST_RESULTS),
    default=PER_JOB,
    show_default=True,
    help="Scenarios for each device job, or contests with --times.",
)
@to_option
@do_later("hosting.cli.evidence.pack:pack")
def pack() -> None:
    """Write the bundle for device jobs: programs, models, inputs, and what to run.

    Functions are recorded on a program that is linked from traces: those of --evidence, or new ones
    that this command takes.
    """


@click.command(
    "join",
    epilog="""\b
Examples:
  megtrim ci evidence join --verdict results/verdict.json --bundle bundle \\
      --evidence evidence --proofs proofs/evidence.json --to report
  megtrim ci evidence join --verdict results --bundle bundle --pending fork --to report
""",
)
@click.option(
    "--verdict",
    type=PATH,
    required=True,
    metavar="FILE",
    help="The build's verdict.json, or its folder.",
)
@click.option("--bundle", type=PATH, metavar="DIR", help="The bundle of the device jobs.")
@click.option(
    "--sha256",
    default="",
    metavar="DIGEST",
    help="SHA-256 of bundle.json, as `pack` printed it; a changed bundle is refused.",
)
@click.option(
    "--evidence",
    "folders",
    type=PATH,
    multiple=True,
    metavar="DIR",
    help="Evidence of a device job, or a folder of such folders; repeatable.",
)
@click.option(
    "--config",
    "-c",
    type=PATH,
    help="The configuration; evidence of another one is refused.",
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
    "--to", type=PATH, required=True, metavar="REPORT", help="Folder to write the report to."
)
@click.option("--run-url", default="", metavar="URL", help="Address of the run, for the comment.")
@artifact_option
@do_later("hosting.cli.evidence.join:join_report")
def join_report() -> None:
    """Combine the build's verdict with the evidence of devices, and write the final report."""


@examples(
    "megtrim ci evidence run bundle --sha256 DIGEST --class pixel --shard 1/2 --to evidence",
    "megtrim ci evidence run bundle --sha256 DIGEST --class any --to evidence --emulated",
)
@click.command("run")
@click.argument("folder", metavar="BUNDLE", type=PATH)
@click.option("--sha256", required=True, metavar="DIGEST", help="SHA-256 of bundle.json.")
@click.option("--class", "cpu_class", required=True, metavar="CLASS", help="CPU class to run.")
@click.option(
    "--shard",
    "part",
    default="1/1",
    show_default=True,
    metavar="I/N",
    help="Run part I of N of the scenarios.",
)
@to_option
@click.option(
    "--emulated/--attached",
    help="Run on this machine, even if there are devices; or on those that are attached.",
)
@quiet_option
@do_later("hosting.cli.evidence.device_job:run_bundle")
def run_bundle() -> None:
    """Run a part of BUNDLE on a device, and write the evidence.

    Needs no engine, no compiler and no project. A program that fails is evidence, and so is a
    device that fails: the exit status is 0. Devices of kind local, qemu, auto or virtual-phone run
    the bundle's programs on this machine. The machine's owner allows that with
    MEGTRIM_HOST_RUNS_PROGRAMS=yes in the environment; on GitHub's own runners, this is not
    necessary. Boards, and devices whose power can be switched, are listed by the owner in a file
    that MEGTRIM_BOARDS names.
    """
