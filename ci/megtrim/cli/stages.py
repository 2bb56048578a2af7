"""The verbs that run a stage and what it rests on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from typing import Any

import click

from megtrim.cli import probe
from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, describe, neighbours_option, open_context, trimming
from megtrim.config.scenarios import all_scenarios
from megtrim.errors import ACCEPT, InputError, worst_exit_code
from megtrim.pipeline.filenames import FINAL_FOLDER, VERDICT_FILE
from megtrim.pipeline.session import Context
from megtrim.pipeline.summary.last_proof import ahead
from megtrim.pipeline.summary.neighbours import neighbour_checks, neighbour_results
from megtrim.pipeline.summary.scenario_results import scenario_checks_of
from megtrim.pipeline.summary.sizes import budget_checks_of, switch_sizes
from megtrim.plan.graph import (
    VERDICT,
    Stage,
    Task,
    by_function,
    resting,
    tasks,
    through,
    verify_task,
)
from megtrim.report import neighbours, switches, table
from megtrim.stages import runner
from megtrim.store import Store, cannot_write
from megtrim.verdict.model import Check, parse_verdict

_HELP: dict[Stage, str] = {
    Stage.BUILD: "Build the plain and the profile variant of the engine.",
    Stage.PROFILE: "Run every scenario on the profile build and collect its trace.",
    Stage.HEADER: "Merge traces and operator JSON into the keep set and the header.",
    Stage.REDUCE: "Build the engine with only what the keep set names.",
    Stage.FUNCTIONS: "Record which functions run, for trim.level: function.",
    Stage.VERIFY: "Run every scenario on the reduced build and compare its outputs.",
    Stage.SIZE: "Weigh the artifacts and hold them to their budgets.",
    Stage.SWITCHES: "Tell what each switch of the engine buys (trim.measure), by reduced builds.",
    Stage.VERDICT: "Join size, traps and parity into one verdict.",
    Stage.REPORT: "Write the verdict as JUnit, Markdown and HTML.",
}
_FROM_PLAIN = ("trim.base is plain, so nothing is traced", "record what runs", ("functions",))
_IDLE: dict[Stage, tuple[str, str, tuple[str, ...]]] = {
    Stage.PROFILE: _FROM_PLAIN,
    Stage.HEADER: _FROM_PLAIN,
    Stage.FUNCTIONS: (
        "trim.level is region, so no functions are recorded",
        "add trim: {level: function}",
        (),
    ),
    Stage.SWITCHES: (
        "trim.measure names no switch, so there is nothing to weigh",
        "add trim: {measure: [rtti, logging, exceptions]}",
        (),
    ),
}
"""What is wrong, what to do, and the command of that, where a stage has no task.

The other stages always have some.
"""
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
    scenario: str | None = None,
) -> int:
    """Run the stage and what it rests on; return the exit status.

    A chain exits as its worst stage. ``by_verdict``: as the joined verdict decides, where there
    is one: it knows what a failed device means.
    """
    context, codes = run_chain(
        options, stage, as_json=as_json, accept=accept, again=again, scenario=scenario
    )
    joined = context.done.get(VERDICT)
    if joined is not None and by_verdict:
        return int(joined.result["exit code"])
    return worst_exit_code(codes)


def run_chain(
    options: Options,
    stage: Stage,
    *,
    as_json: bool,
    accept: bool,
    again: bool = False,
    scenario: str | None = None,
) -> tuple[Context, list[int]]:
    """Run the stage, or its task for one scenario, and what it rests on; show what came of it."""
    if options.committed and stage is Stage.PROFILE:
        msg = "--committed traces nothing, so there is nothing to profile"
        raise InputError(msg, hint="leave --committed out")
    context = open_context(options, accept=accept)
    describe(context)
    config, asked = context.loaded.config, context.neighbours
    every = tasks(config, committed=context.committed, neighbours=asked)
    wanted = through(stage, every) if scenario is None else _of_scenario(scenario, every, context)
    _refuse_idle(stage, context, wanted, accept=accept)
    if again:
        clear_final(context.store)  # it tells of a result that is none any more
        context.store.discard(stage, scenario or "")
    ran, codes = runner.run(wanted, context)
    for line in ahead(context):
        context.console.warn(line)
    if ran == 0 and not context.failed:
        context.console.say("everything is up to date: nothing was built or run")
    show(_as_json(context) if as_json else _as_text(context, stage, wanted))
    return context, codes


def clear_final(store: Store) -> None:
    """Remove the report that a trim left."""
    final = store.root / FINAL_FOLDER
    if not final.exists():
        return
    with store.lock(FINAL_FOLDER):  # another megtrim may share the folder of results
        try:
            shutil.rmtree(final)
        except FileNotFoundError:
            return
        except OSError as error:
            raise cannot_write(final, error) from None


def _refuse_idle(stage: Stage, context: Context, wanted: Sequence[Task], *, accept: bool) -> None:
    """Refuse a verb that would do nothing in this way of trimming."""
    if accept and stage is Stage.HEADER and by_function(context.loaded.config):
        msg = "with trim.level: function the keep set is whole only with its functions"
        raise InputError(msg, hint="accept them together", command=ACCEPT)
    if wanted:
        return
    if context.quick:
        msg = (
            f"--quick trims the plain build by functions alone: there is nothing to do for {stage}"
        )
        raise InputError(msg, hint="leave --quick out")
    reason, hint, command = _IDLE[stage]
    msg = f"{context.loaded.path}: {reason}"
    raise InputError(msg, hint=hint, command=command)


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


def _as_text(context: Context, stage: Stage, wanted: Sequence[Task]) -> str:
    lines = []
    verdict = next((f for f in context.done.values() if f.stage == Stage.VERDICT), None)
    if verdict is not None:
        source = verdict.file(VERDICT_FILE)
        lines.append(table.render(parse_verdict(source.read_text("utf-8"), source=str(source))))
    if stage is Stage.SWITCHES:
        lines.append(switches.text(switch_sizes(context)))
    if stage is Stage.NEIGHBOURS:
        lines.append(neighbours.text(neighbour_results(context)))
    if stage in (Stage.VERIFY, Stage.SIZE, Stage.NEIGHBOURS):
        lines += table.to_look_at_lines(_checks(stage, wanted, context))
    for folder in context.done.values():
        if folder.stage == stage:
            page = folder.path / "index.html"
            lines.append(f"{folder.name}: {page if page.exists() else folder.path}")
    return "\n".join(lines)


def _checks(stage: Stage, wanted: Sequence[Task], context: Context) -> tuple[Check, ...]:
    """Return the checks that a stage's results amount to, before any verdict joins them."""
    if stage is Stage.VERIFY:
        return tuple(scenario_checks_of(wanted, context))
    return tuple(budget_checks_of(context) if stage is Stage.SIZE else neighbour_checks(context))


def _of_scenario(scenario: str, every: Sequence[Task], context: Context) -> tuple[Task, ...]:
    """Return the tasks that a scenario's verification rests on, that included."""
    known = {each.id: verify_task(each) for each in all_scenarios(context.loaded.config)}
    if scenario not in known:
        msg = f"--scenario: found {scenario!r}, expected one of {', '.join(known)}"
        raise InputError(msg)
    return resting([known[scenario]], tuple(every))


def _command(stage: Stage) -> click.Command:
    @click.command(stage.value, help=_HELP[stage], epilog=EXAMPLE.format(verb=stage))
    @trimming
    @click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
    @click.option("--again", is_flag=True, help="Make this stage's results anew.")
    def command(as_json: bool, again: bool, **options: Any) -> int:
        judges = stage in (Stage.VERDICT, Stage.REPORT)
        return execute(Options(**options), stage, as_json=as_json, again=again, by_verdict=judges)

    return command


def _accepting(stage: Stage) -> click.Command:
    """Return the command of a stage that may write the committed keep set anew."""

    @click.command(stage.value, help=_HELP[stage], epilog=EXAMPLE.format(verb=f"{stage} --accept"))
    @trimming
    @click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
    @click.option("--again", is_flag=True, help="Make this stage's results anew.")
    @click.option(
        "--accept", is_flag=True, help="Accept the new keep set, shrunken traces included."
    )
    def command(as_json: bool, again: bool, accept: bool, **options: Any) -> int:
        return execute(Options(**options), stage, as_json=as_json, accept=accept, again=again)

    return command


@click.command(
    "verify",
    help=_HELP[Stage.VERIFY]
    + "\n\nWith --probe, run anything on the reduced build: a trap is then explained and exits 1."
    "\n\nWith --neighbours, run what is near each scenario, and show what trimming costs.",
    epilog="""\b
Examples:
  megtrim verify
  megtrim verify --scenario resnet50/default@any --again
  megtrim verify --neighbours
  megtrim verify --probe models/other.mge -- --cpu --enable-nchw44
  megtrim verify --probe resnet50 --input data=inputs/cat.npy -- --cpu --iter 3
  megtrim verify --probe resnet50 --application classify -- {model} --top 5
""",
)
@trimming
@neighbours_option
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
@click.option("--again", is_flag=True, help="Make this stage's results anew.")
@click.option("--scenario", metavar="ID", help="Verify this one alone: MODEL/SCENARIO@CLASS.")
@click.option("--probe", "probed", metavar="MODEL", help="A model's name or file, to be tried.")
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=FILE", help="An input of the probe."
)
@click.option("--application", metavar="NAME", help="The application that the probe runs.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def verify(
    as_json: bool,
    again: bool,
    scenario: str | None,
    probed: str | None,
    inputs: tuple[str, ...],
    application: str | None,
    arguments: tuple[str, ...],
    **options: Any,
) -> int:
    """Verify the scenarios and what is near them, or probe one model with any arguments."""
    chosen = Options(**options)
    if scenario is not None and (probed is not None or chosen.neighbours):
        msg = "--scenario names one that runs as traced: neither --probe nor --neighbours fit"
        raise click.UsageError(msg)
    if probed is not None:
        if chosen.neighbours:
            msg = "--probe tries one run, --neighbours those of every scenario: one of them"
            raise click.UsageError(msg)
        request = probe.request(probed, inputs, arguments, application)
        return probe.execute(chosen, request, as_json=as_json)
    if arguments or inputs or application is not None:
        msg = "arguments and --input go with --probe (and --application): scenarios run as traced"
        raise click.UsageError(msg)
    stage = Stage.NEIGHBOURS if chosen.neighbours else Stage.VERIFY
    return execute(chosen, stage, as_json=as_json, again=again, scenario=scenario)


_OWN: dict[Stage, click.Command] = {
    Stage.HEADER: _accepting(Stage.HEADER),
    Stage.FUNCTIONS: _accepting(Stage.FUNCTIONS),
    Stage.VERIFY: verify,
}
COMMANDS: dict[str, click.Command] = {
    stage.value: _OWN.get(stage) or _command(stage) for stage in _HELP
}
