"""The verbs of ``megtrim perf``: their options and help."""

from __future__ import annotations

import click

from megtrim.core.cli.history_options import history_options, parse_day
from megtrim.core.cli.later import do_later
from megtrim.core.cli.options import (
    PATH,
    again_option,
    base_options,
    committed_option,
    common,
    device_option,
    engine_option,
    examples,
    json_option,
)
from megtrim.core.timing.spec import FEWEST_ROUNDS, MOST_ROUNDS


@examples(
    "megtrim perf list",
    "megtrim perf list --experiment nchw88 --experiment recipe-x86",
    "megtrim perf list --config examples/megengine-linux-arm64.yaml --engine ../MegEngine --json",
)
@click.command("list")
@click.option(
    "--config", "-c", type=PATH, help="The configuration. [default: megtrim.yaml, if any]"
)
@engine_option
@click.option(
    "--experiment",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only the experiment of this name; repeatable.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Also print those that cannot run, and why."
)
@json_option
@do_later("times.cli.list:list_experiments")
def list_experiments() -> None:
    """Print the experiments: the needs, commands, files and effects of each.

    With a configuration, experiments that no model can run with this engine, toolchain and machine
    are left out; --all and --json show them with the reason. Nothing is built or run.
    """


emulated_option = click.option(
    "--emulated",
    is_flag=True,
    help="Also measure on emulators, to try it out; their times tell you nothing about a device.",
)


@examples(
    "megtrim perf run",
    "megtrim perf run --experiment nchw88 --experiment recipe-x86",
    "megtrim perf run --experiment trimming --scenario resnet50/default",
    "megtrim perf run --base ../base-out --base-name 1a2b3c4d5e6f",
    "megtrim perf run --committed --evidence times",
    "megtrim perf run --experiment fast-run-cache --rounds 16 --device pixel-6 --again",
    "megtrim perf run --again --runs runs",
)
@click.command()
@common
@committed_option
@device_option
@base_options
@click.option(
    "--experiment",
    "experiments",
    multiple=True,
    metavar="NAME",
    help="Measure only the experiment of this name; `trimming`: trimmed programs against the "
    "plain one; repeatable. [default: what `perf` configures]",
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="ID",
    help="Measure only this scenario, MODEL/SCENARIO or MODEL/SCENARIO@CLASS; repeatable.",
)
@click.option(
    "--rounds",
    type=click.IntRange(FEWEST_ROUNDS, MOST_ROUNDS),
    help="Largest number of pairs of processes, instead of perf.budget; a clear answer ends it"
    " earlier.",
)
@click.option(
    "--evidence",
    "folders",
    type=PATH,
    multiple=True,
    metavar="DIR",
    help="Evidence with times from device jobs, to use as it is; nothing is measured here; "
    "repeatable.",
)
@click.option(
    "--runs",
    type=PATH,
    metavar="DIR",
    help="Write the measured times into this folder, a file for each device, for `megtrim perf"
    " append`. Needs a commit.",
)
@again_option
@emulated_option
@json_option
@do_later("times.cli.run:run")
def run() -> None:
    """Measure experiments against the baseline, in interleaved pairs of processes.

    Builds the programs that it needs, measures each experiment of each scenario on its device until
    the answer is clear or the budget ends, compares the outputs, and writes verdict and report.
    Results that are up to date are not measured again; an interrupted run continues where it ended.
    """


@examples(
    "megtrim perf history",
    "megtrim perf history --branch perf-history --since 2026-10-01"
    " --scenario resnet/plain-run@armv82",
)
@click.command()
@history_options
@click.option(
    "--since", callback=parse_day, metavar="DATE", help="Only runs of this day and later."
)
@click.option("--scenario", default="", metavar="ID", help="Only this scenario.")
@json_option
@do_later("times.cli.history:history")
def history() -> None:
    """Print each series of nights: its last time, and the nights that were slower or faster.

    A change is a night that is clearly slower or faster than an earlier program. A new series
    begins with another device, or with a megtrim that measures in another way. The exit status does
    not depend on the changes.
    """


@examples(
    "megtrim perf append runs/*.json",
    "megtrim perf append runs/*.json --branch perf-history",
)
@click.command()
@click.argument("files", nargs=-1, metavar="FILE...", required=True, type=PATH)
@history_options
@do_later("times.cli.history:append")
def append() -> None:
    """Add runs to the history, each as a separate file. Runs that it already has are not changed.

    `megtrim perf run --runs DIR` writes them, and a nightly run next to its report.

    Many jobs can append to a branch at once. If there is no such branch, it is created. No code of
    the branch or of the project is executed.
    """


@examples(
    "megtrim perf compare 1a2b3c4 5d6e7f8 --branch perf-history",
    "megtrim perf compare before after --json",
)
@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@history_options
@json_option
@do_later("times.cli.history:compare")
def compare() -> None:
    """Print times of B over those of A, with intervals.

    A and B can each be the id of a run, a commit, a file, or a folder; of a folder, the newest
    commit counts. Only rows of the same device are compared. The interval shows how certain the
    ratio is, as far as this is known without the samples of both runs.
    """
