"""The verbs that run a stage and what it rests on."""

from __future__ import annotations

import json
from typing import Any

import click

from megtrim.cli import probe
from megtrim.cli.output import show
from megtrim.cli.setup import Options, describe, open_context, trimming
from megtrim.errors import InputError, worst
from megtrim.plan.graph import VERDICT, Stage, tasks, through
from megtrim.report import switches, table
from megtrim.stages import chain
from megtrim.stages.context import Context
from megtrim.stages.files import VERDICT_FILE
from megtrim.stages.weighed import switch_sizes
from megtrim.verdict.model import parse_verdict

_HELP: dict[Stage, str] = {
    Stage.BUILD: "Build the plain and the profile variant of the engine.",
    Stage.PROFILE: "Run every scenario on the profile build and collect its trace.",
    Stage.HEADER: "Merge traces and operator JSON into the keep set and the header.",
    Stage.REDUCE: "Build the engine with only what the keep set names.",
    Stage.VERIFY: "Run every scenario on the reduced build and compare its outputs.",
    Stage.SIZE: "Weigh the artifacts and hold them to their budgets.",
    Stage.SWITCHES: "Tell what each switch of the engine buys (trim.measure), by reduced builds.",
    Stage.VERDICT: "Join size, traps and parity into one verdict.",
    Stage.REPORT: "Write the verdict as JUnit, Markdown and HTML.",
}
EXAMPLE = """\b
Examples:
  megtrim {verb}
  megtrim {verb} --config examples/megengine-linux-arm64.yaml --engine ../MegEngine
"""


def execute(
    options: Options,
    stage: Stage,
    *,
    as_json: bool,
    accept: bool = False,
    again: bool = False,
    by_verdict: bool = False,
) -> int:
    """Run the stage and what it rests on; return the exit status.

    A chain exits as its worst stage. ``by_verdict``: as the joined verdict decides, where there
    is one: it knows what a failed device means.
    """
    context, codes = run_chain(options, stage, as_json=as_json, accept=accept, again=again)
    joined = context.done.get(VERDICT)
    if joined is not None and by_verdict:
        return int(joined.result["exit code"])
    return worst(codes)


def run_chain(
    options: Options, stage: Stage, *, as_json: bool, accept: bool, again: bool = False
) -> tuple[Context, list[int]]:
    """Run the stage and what it rests on, and show what came of it."""
    if options.committed and (accept or options.traces):
        msg = "--committed takes the keep set as it is: it goes with neither --accept nor --traces"
        raise InputError(msg)
    if options.committed and stage is Stage.PROFILE:
        msg = "--committed traces nothing, so there is nothing to profile"
        raise InputError(msg, hint="leave --committed out")
    context = open_context(options, accept=accept)
    describe(context)
    every = tasks(context.loaded.config, committed=context.committed)
    wanted = through(stage, every)
    if stage is Stage.SWITCHES and not wanted:
        msg = f"{options.config}: trim.measure names no switch, so there is nothing to weigh"
        raise InputError(msg, hint="add trim: {measure: [rtti, logging, exceptions]}")
    if again:
        context.store.discard(stage)
    ran, codes = chain.run(wanted, context)
    if ran == 0 and not context.failed:
        context.console.say("everything is up to date: nothing was built or run")
    show(_as_json(context) if as_json else _as_text(context, stage))
    return context, codes


def _as_json(context: Context) -> str:
    done = {
        task: {"folder": str(folder.path), "result": dict(folder.result)}
        for task, folder in context.done.items()
    }
    failed = {
        task: {"exit": error.exit_code, "message": str(error)}
        for task, error in context.failed.items()
    }
    return json.dumps({"done": done, "failed": failed}, indent=1, sort_keys=True)


def _as_text(context: Context, stage: Stage) -> str:
    lines = []
    verdict = next((f for f in context.done.values() if f.stage == Stage.VERDICT), None)
    if verdict is not None:
        source = verdict.file(VERDICT_FILE)
        lines.append(table.render(parse_verdict(source.read_text("utf-8"), source=str(source))))
    if stage is Stage.SWITCHES:
        lines.append(switches.text(switch_sizes(context)))
    for folder in context.done.values():
        if folder.stage == stage:
            page = folder.path / "index.html"
            lines.append(f"{folder.name}: {page if page.exists() else folder.path}")
    return "\n".join(lines)


def _command(stage: Stage) -> click.Command:
    @click.command(stage.value, help=_HELP[stage], epilog=EXAMPLE.format(verb=stage))
    @trimming
    @click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
    @click.option("--again", is_flag=True, help="Make this stage's results anew.")
    def command(as_json: bool, again: bool, **options: Any) -> int:
        judges = stage in (Stage.VERDICT, Stage.REPORT)
        return execute(Options(**options), stage, as_json=as_json, again=again, by_verdict=judges)

    return command


@click.command("header", help=_HELP[Stage.HEADER], epilog=EXAMPLE.format(verb="header --accept"))
@trimming
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
@click.option("--again", is_flag=True, help="Make this stage's results anew.")
@click.option("--accept", is_flag=True, help="Accept the new keep set, shrunken traces included.")
def header(as_json: bool, again: bool, accept: bool, **options: Any) -> int:
    """Run the stage; ``--accept`` writes the committed keep set anew."""
    return execute(Options(**options), Stage.HEADER, as_json=as_json, accept=accept, again=again)


@click.command(
    "verify",
    help=_HELP[Stage.VERIFY]
    + "\n\nWith --probe, run anything on the reduced build: a trap is then explained and exits 1.",
    epilog="""\b
Examples:
  megtrim verify
  megtrim verify --probe models/other.mge -- --cpu --enable-nchw44
  megtrim verify --probe resnet50 --input data=inputs/cat.npy -- --cpu --iter 3
  megtrim verify --probe resnet50 --application classify -- {model} --top 5
""",
)
@trimming
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
@click.option("--again", is_flag=True, help="Make this stage's results anew.")
@click.option("--probe", "probed", metavar="MODEL", help="A model's name or file, to be tried.")
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=FILE", help="An input of the probe."
)
@click.option("--application", metavar="NAME", help="The application that the probe runs.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def verify(
    as_json: bool,
    again: bool,
    probed: str | None,
    inputs: tuple[str, ...],
    application: str | None,
    arguments: tuple[str, ...],
    **options: Any,
) -> int:
    """Verify the scenarios, or probe one model with any arguments."""
    if probed is not None:
        request = probe.request(probed, inputs, arguments, application)
        return probe.execute(Options(**options), request, as_json=as_json)
    if arguments or inputs or application is not None:
        msg = "arguments and --input go with --probe (and --application): scenarios run as traced"
        raise click.UsageError(msg)
    return execute(Options(**options), Stage.VERIFY, as_json=as_json, again=again)


_OWN: dict[Stage, click.Command] = {Stage.HEADER: header, Stage.VERIFY: verify}
COMMANDS: tuple[click.Command, ...] = tuple(_OWN.get(stage) or _command(stage) for stage in _HELP)
