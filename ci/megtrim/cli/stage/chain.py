"""Runs the stages up to one, and shows the results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, describe, open_context
from megtrim.config.scenarios import all_scenarios
from megtrim.errors import ACCEPT, InputError, worst
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

_FROM_PLAIN = ("trim.base is plain, so nothing is traced", "record what runs", ("stage functions",))
_IDLE: dict[Stage, tuple[str, str, tuple[str, ...]]] = {
    Stage.PROFILE: _FROM_PLAIN,
    Stage.HEADER: _FROM_PLAIN,
    Stage.FUNCTIONS: (
        "trim.level is region, so no functions are recorded",
        "add trim: {level: function}",
        (),
    ),
    Stage.SWITCHES: (
        "trim.measure names no switch, so there is nothing to measure",
        "add trim: {measure: [rtti, logging, exceptions]}",
        (),
    ),
}
"""Why a stage has no task, what to do, and the command for that."""


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
    """Run the stage and those it depends on; return the exit status.

    A chain exits with the status of its worst stage. ``by_verdict``: with that of the joined
    verdict, if there is one, which decides what a failed device means.
    """
    context, codes = run_chain(
        options, stage, as_json=as_json, accept=accept, again=again, scenario=scenario
    )
    joined = context.done.get(VERDICT)
    if joined is not None and by_verdict:
        return int(joined.result["exit code"])
    return worst(codes)


def run_chain(
    options: Options,
    stage: Stage,
    *,
    as_json: bool,
    accept: bool,
    again: bool = False,
    scenario: str | None = None,
) -> tuple[Context, list[int]]:
    """Run the stage, or its task for one scenario, and those it depends on; show the results."""
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
        clear_final(context.store)  # it describes results that are replaced
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
    """Refuse a verb that has nothing to do in this mode of trimming."""
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
    """Return the checks of a stage's results, before a verdict joins them."""
    if stage is Stage.VERIFY:
        return tuple(scenario_checks_of(wanted, context))
    return tuple(budget_checks_of(context) if stage is Stage.SIZE else neighbour_checks(context))


def _of_scenario(scenario: str, every: Sequence[Task], context: Context) -> tuple[Task, ...]:
    """Return the verification of a scenario, and the tasks that it depends on."""
    known = {each.id: verify_task(each) for each in all_scenarios(context.loaded.config)}
    if scenario not in known:
        msg = f"--scenario: found {scenario!r}, expected one of {', '.join(known)}"
        raise InputError(msg)
    return resting([known[scenario]], tuple(every))
