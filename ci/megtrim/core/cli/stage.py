"""``megtrim plan``, ``verify``, ``size``, ``report``, ``stage``: the stages up to one are run."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from megtrim.core import stages
from megtrim.core.chain import final
from megtrim.core.chain.filenames import PAGE_FILE, REPORT_FORMS, VERDICT_FILE
from megtrim.core.chain.graph import (
    REPORT,
    VERDICT,
    Stage,
    Task,
    tasks_up_to,
    trims_functions,
    verify_task,
    with_dependencies,
)
from megtrim.core.chain.session import Session, TaskResults, TrimRequest
from megtrim.core.chain.stage_result import dump_result
from megtrim.core.checks.invocation import Options, split_next
from megtrim.core.checks.statuses import VerdictKind
from megtrim.core.cli.echo import show, show_json, show_summary
from megtrim.core.cli.session.setup import describe, open_session
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.proof import neighbours
from megtrim.core.proof.scenario_results import ahead, neighbour_results, scenario_checks_of
from megtrim.core.report import table
from megtrim.core.size.report import tables
from megtrim.core.size.results import budget_checks_of, size_result
from megtrim.core.stages import TaskState, list_result_types
from megtrim.core.trim.keepset_usage import trim_choice
from megtrim.core.verdict.model import Verdict, parse_verdict
from megtrim.libs.render.markup import one_line
from megtrim.libs.util.console import Console, count_columns
from megtrim.libs.util.errors import ACCEPT, EXIT_PASS, InputError, worst_exit_code
from megtrim.libs.util.strict_json import make_schemas

RESULTS_VERSION = 2
_FROM_PLAIN = ("trim.base is plain, so nothing is traced", "record what runs", ("stage functions",))
_IDLE: dict[Stage, tuple[str, str, tuple[str, ...]]] = {
    Stage.PROFILE: _FROM_PLAIN,
    Stage.HEADER: _FROM_PLAIN,
    Stage.FUNCTIONS: (
        "trim.level is region, so no functions are recorded",
        "add trim: {level: function}",
        (),
    ),
}
"""Why a stage has no task, what to do, and the command for that."""
_BY_OPERATORS = ("trim.level is operator, so nothing is recorded", "trim", ("trim",))


def execute_named(options: Options, stage: str) -> int:
    return execute(options, Stage(stage))


def execute(options: Options, stage: Stage) -> int:
    """Verdict and report exit with the joined verdict: it decides what a dead device means."""
    if stage in (Stage.HEADER, Stage.FUNCTIONS):
        options = replace(options, records=True)
    session, codes = run_chain(options, stage)
    joined = session.done.get(VERDICT)
    if joined is not None and stage in (Stage.VERDICT, Stage.REPORT):
        return joined.result.exit_code
    return worst_exit_code(codes)


def run_chain(options: Options, stage: Stage, *, leaves: bool = False) -> tuple[Session, list[int]]:
    """``leaves``: its results stay in `final`, and where nothing changed it says no more."""
    if options.committed and stage is Stage.PROFILE:
        msg = "--committed traces nothing, so there is nothing to profile"
        raise InputError(msg, hint="leave --committed out")
    # Sizes are of what is there.
    session = open_session(options, commands=stage is not Stage.SIZE)
    leaves = leaves and bool(session.request.final)
    wanted = (
        tasks_up_to(stage, session.request.tasks)
        if options.scenario is None
        else _of_scenario(options.scenario, session.request)
    )
    _refuse_idle(stage, session.request, wanted)
    if options.again:
        described = f"results were made again by `megtrim {stage.verb} --again`: trim reports them"
        final.begin(session.services.store, session.request.invocation.config, described)
        session.services.store.discard(stage, options.scenario or "")
    console = session.console
    durations = session.services.durations
    if todo := stages.list_todo(wanted, session):
        describe(session)
        if durations is not None and (took := durations.describe(todo)):
            console.say(f"time       {took}")
    else:
        silent = replace(session.services, console=Console(sys.stderr, quiet=True))
        session = replace(session, services=silent)
    ran, codes = stages.run(wanted, session)
    for line in ahead(session):
        console.warn(line)
    fresh = ran > 0 or session.results.failed
    if leaves and not fresh and not options.as_json and (lines := _say_passed(session)):
        for line in lines:
            show(line)
        return session, codes
    if not fresh:
        console.say("everything is up to date: nothing was built or run")
    if options.form and REPORT in session.done:
        file = session.done[REPORT].file(REPORT_FORMS[options.form])
        show(file.read_text(encoding="utf-8").rstrip("\n"))
    else:
        show_results(session, stage, wanted, as_json=options.as_json, leaves=leaves)
    return session, codes


def show_results(
    session: Session, stage: Stage, wanted: Sequence[Task], *, as_json: bool, leaves: bool = False
) -> None:
    left = _list_left(session) if leaves else {}
    if as_json:
        show(render_results(session.results, left))
        return
    show_summary(_as_text(session, stage, wanted, leaves=bool(left)))
    for program in left.get("program", ()):
        show(f"program: {program}")  # as wide as it is: people copy it
    if "report" in left:
        show(f"report: {left['report']}")
    for line in _list_next(str(left.get("next", ""))):
        show(line)


def read_made_verdict(session: Session) -> Verdict | None:
    made = [each for each in session.done.values() if each.stage == Stage.VERDICT]
    if not made:
        return None
    source = made[0].file(VERDICT_FILE)
    return parse_verdict(source.read_text("utf-8"), source=str(source))


def _say_passed(session: Session) -> list[str]:
    verdict = read_made_verdict(session)
    if verdict is None or verdict.verdict is not VerdictKind.PASS or verdict.warnings:
        return []
    said = f"{verdict.verdict}. {verdict.headline}: {session.request.final}/{PAGE_FILE}"
    return [one_line(f"everything is up to date: {said}"), *_list_next(verdict.next)]


def _list_next(text: str) -> list[str]:
    """Return the lines of a next step, with what is to be pasted in one of its own."""
    said, line = split_next(text)
    shown = [f"next: {one_line(said)}{':' if line else ''}"] if said else []
    return [*shown, line] if line else shown


def _list_left(session: Session) -> dict[str, str | list[str]]:
    verdict = read_made_verdict(session)
    if verdict is None or REPORT not in session.done:
        return {}
    following = {"next": verdict.next} if verdict.next else {}
    page = f"{session.request.final}/{PAGE_FILE}"
    return {"program": [*verdict.programs], "report": page, **following}


def _refuse_idle(stage: Stage, request: TrimRequest, wanted: Sequence[Task]) -> None:
    if request.options.accept and stage is Stage.HEADER and trims_functions(request.config):
        msg = "with trim.level: function, a keep set is complete only with its functions"
        raise InputError(msg, hint="accept them together", command=ACCEPT)
    if wanted:
        return
    if request.options.quick:
        msg = f"--quick trims the plain build only by functions: there is nothing to do for {stage}"
        raise InputError(msg, hint="leave --quick out")
    reason, hint, command = _IDLE[stage]
    if request.config.trim.keeps_kernels:
        reason, hint, command = _BY_OPERATORS
    msg = f"{request.loaded.path}: {reason}"
    raise InputError(msg, hint=hint, command=command)


def _as_text(session: Session, stage: Stage, wanted: Sequence[Task], *, leaves: bool) -> str:
    lines = []
    if verdict := read_made_verdict(session):
        lines.append(table.render(verdict, width=count_columns(sys.stdout, otherwise=0)))
    if stage is Stage.NEIGHBOURS:
        lines.append(neighbours.text(neighbour_results(session)))
    if stage is Stage.VERIFY:
        lines += table.render_urgent(tuple(scenario_checks_of(wanted, session)))
    if stage is Stage.SIZE:
        measured = size_result(session.results)
        trim = trim_choice(session)
        lines += [table.render_sizes(artifact, trim) for artifact in measured.artifacts]
        committed = session.request.options.committed
        lines += tables.explain(
            measured, trim, committed=committed, kernels=bool(session.config.models)
        )
        lines += table.render_urgent(tuple(budget_checks_of(session)))
    for folder in session.done.values():
        if folder.stage == stage and not leaves:
            page = folder.path / PAGE_FILE
            lines.append(f"{folder.name}: {page if page.exists() else folder.path}")
    return "\n".join(lines)


def _of_scenario(scenario: str, request: TrimRequest) -> tuple[Task, ...]:
    known = {each.id: verify_task(each) for each in all_scenarios(request.config)}
    if scenario not in known:
        msg = f"--scenario: found {scenario!r}, expected one of {', '.join(known)}"
        raise InputError(msg)
    return with_dependencies([known[scenario]], request.tasks)


def render_results(results: TaskResults, left: Mapping[str, object] | None = None) -> str:
    done = {
        task: {"folder": str(folder.path), "result": dump_result(folder.result)}
        for task, folder in results.done.items()
    }
    failed = {
        task: {"exit": error.exit_code, "message": str(error)}
        for task, error in results.failed.items()
    }
    document = {"version": RESULTS_VERSION, "done": done, "failed": failed, **(left or {})}
    return json.dumps(document, indent=1, sort_keys=True)


def make_results_schema() -> dict[str, Any]:
    kinds = {stage: list_result_types(stage) for stage in Stage}
    schemas, known = make_schemas(kind for each in kinds.values() for kind in each)
    done = {
        f"^{stage}/": _object(
            folder={"type": "string"}, result={"anyOf": [schemas[kind] for kind in kinds[stage]]}
        )
        for stage in Stage
    }
    failed = _object(exit={"enum": [1, 2, 3]}, message={"type": "string"})
    document = _object(
        version={"const": RESULTS_VERSION},
        done={"type": "object", "patternProperties": done, "additionalProperties": False},
        failed={"type": "object", "additionalProperties": failed},
    )
    document["properties"] |= {
        "program": {"type": "array", "items": {"type": "string"}},
        "report": {"type": "string"},
        "next": {"type": "string"},
    }
    return document | {"$defs": known}


def _object(**properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def verify(options: Options) -> int:
    if options.scenario is not None and options.neighbours:
        msg = "--scenario runs one scenario as it was traced: it does not go with --neighbours"
        raise click.UsageError(msg)
    stage = Stage.NEIGHBOURS if options.neighbours else Stage.VERIFY
    return execute(options, stage)


def plan(options: Options, why: bool) -> int:
    session = open_session(options, writes=False)
    describe(session)
    wanted = tasks_up_to(Stage.REPORT, session.request.tasks)
    steps = stages.plan(wanted, session)
    if options.as_json:
        show_json(steps)
        return EXIT_PASS
    for step in steps:
        show(f"{step.state.value:<6}{step.task}" + f"  {step.why}" * why)
    todo = [step.task for step in steps if step.state is not TaskState.DONE]
    durations = session.services.durations
    if durations is not None and (took := durations.describe(todo)):
        show(f"time: {took}")
    show(f"{len(todo)} of {len(steps)} tasks to do" if todo else "everything is up to date")
    return EXIT_PASS
