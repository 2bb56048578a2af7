"""``megtrim probe``: any run on the reduced build, and an explanation if it fails."""

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from megtrim.core import stages
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import (
    PLAIN,
    PROFILE,
    REDUCED,
    Stage,
    defers_functions,
    keep_task,
    tasks_up_to,
)
from megtrim.core.chain.session import Services, Session, binary
from megtrim.core.checks.invocation import Invocation, Options, suggest_for_probe
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.cli.echo import show
from megtrim.core.cli.session.setup import describe, open_session
from megtrim.core.config.model import Config
from megtrim.core.config.problems import listing, suggest
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.functions.record_lines import MAX_RUN_CHARACTERS, RUN_MARK
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.keep.operators import strip_version
from megtrim.core.model_facts import ModelFacts, describe_variable
from megtrim.core.proof.trap_diagnosis import (
    Diagnosis,
    ProfileProgram,
    describe_with_rest,
    diagnose,
    explain_by_whole,
    named_program,
    why_not_kept,
)
from megtrim.core.trim.builds import applications
from megtrim.core.trim.runs.execution import RunResult, RunSpec, run_on
from megtrim.libs.programs.application_arguments import INPUT, MODEL, OUTPUTS, THREADS, names_in
from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending
from megtrim.libs.util.errors import EXIT_PASS, InputError, ProductFailure, worst_exit_code
from megtrim.libs.util.files import append_lines
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count, make_printable
from megtrim.places.devices.retry import run_with_retries

_TIMEOUT_S = 600.0
_RECORDED = "reached.txt"
_RECORD_VARIABLE = "MEGTRIM_REACHED"


class ProbeRequest(Value):
    model: str
    inputs: Mapping[str, Path]
    arguments: tuple[str, ...]
    application: str | None = None


def probe(
    options: Options,
    inputs: dict[str, Path],
    application: str | None,
    record: Path | None,
    model: str,
    arguments: tuple[str, ...],
) -> int:
    if record is not None:
        expect_recordable(record)
    wanted = ProbeRequest(model=model, inputs=inputs, arguments=arguments, application=application)
    session = open_session(options, commands=True)
    spec = _make_spec(wanted, session)
    if record is not None and not defers_functions(session.config):
        msg = "--record: no functions are deferred, so none can be recorded"
        raise InputError(msg, hint="leave --record out, or set trim.level: deferred or blocks")
    what = "program" if spec.model is None else "model"
    again = session.request.invocation
    describe(session)
    _, codes = stages.run(tasks_up_to(Stage.REDUCE, session.request.tasks), session)
    if REDUCED not in session.done:
        return worst_exit_code(codes)
    program = _find_program(wanted, session.config)
    trimmed = spec.with_program(binary(session.done[REDUCED], program))
    if record is not None:
        return _record(wanted, trimmed, record, session)
    reduced = _run(trimmed, session.services)
    if ending(reduced.run) is RunOutcome.PASSED:
        show(_render_outcome(wanted, None, again, as_json=options.as_json, what=what))
        return EXIT_PASS
    found = _diagnose_failure(reduced.run, program, spec, session)
    failing = None if found.function else _run_plain(program, spec, session)
    if failing:
        found = explain_by_whole(reduced.run, failing, "plain program")
    elif defers_functions(session.config):
        whole = _run(replace(trimmed, with_rest=True), session.services)
        if ending(whole.run) is RunOutcome.PASSED:
            text = f"it ran to its end with its companion file; without, {found.text}"
            found = replace(found, status=ScenarioStatus.PASS, text=text)
        else:
            text = f"{found.text}; with its companion file, {describe_with_rest(whole.run)}"
            found = replace(found, text=text)
    show(_render_outcome(wanted, found, again, as_json=options.as_json, what=what))
    return EXIT_PASS if found.status is ScenarioStatus.PASS else ProductFailure.exit_code


def _run_plain(program: str, spec: RunSpec, session: Session) -> ProgramRun | None:
    """Return how it ends where nothing was left out, if that is not well either.

    Where regions are trimmed as well, the profile build takes its place.
    """
    if session.config.trim.base != "plain":
        return None
    plain = _run(spec.with_program(binary(session.done[PLAIN], program)), session.services)
    return None if ending(plain.run) is RunOutcome.PASSED else plain.run


def expect_recordable(record: Path) -> None:
    """Raises InputError for what a record would be written into or through."""
    if record.is_symlink() or (record.exists() and not record.is_file()):
        msg = f"--record: found {record}, expected a new file or a record"
        raise InputError(msg, hint="name another file")


def _record(wanted: ProbeRequest, trimmed: RunSpec, record: Path, session: Session) -> int:
    """Run it once with its companion file, and append what it called to the record."""
    recording = replace(
        trimmed,
        with_rest=True,
        recorded=_RECORDED,
        environment={**trimmed.environment, _RECORD_VARIABLE: _RECORDED},
    )
    ended = _run(recording, session.services)
    lines = (ended.recorded or b"").splitlines()
    command = make_printable(shlex.join((wanted.model, *wanted.arguments)))
    header = f"{RUN_MARK}{command[:MAX_RUN_CHARACTERS]}".encode()
    append_lines(record, (header, *lines))
    passed = ending(ended.run) is RunOutcome.PASSED
    how = "it ran to its end" if passed else describe_with_rest(ended.run)
    called = count(len(lines), "deferred function")
    said = f"{how} with its companion file, and called {called}: {record}"
    outcome = {"status": "pass" if passed else "fail", "text": said, "record": str(record)}
    show(json.dumps(outcome, indent=1) if session.request.options.as_json else said)
    return EXIT_PASS if passed else ProductFailure.exit_code


def _find_program(wanted: ProbeRequest, config: Config) -> str:
    if not config.models:
        return wanted.model
    return wanted.application or config.engine.target


def _run(spec: RunSpec, services: Services) -> RunResult:
    device = next(iter(services.devices.values()))
    return run_with_retries(device, lambda lease: run_on(lease, spec), say=services.console.say)


def _diagnose_failure(
    reduced: ProgramRun, program: str, spec: RunSpec, session: Session
) -> Diagnosis:
    able = stages.able(session)
    keep = read_keep_set(session.done[keep_task(session.config)].file(KEEP_SET_FILE))

    def profile() -> ProfileProgram | None:
        made = able.results.obtain(PROFILE)  # with --committed, made only now
        if made is None:
            return None
        return ProfileProgram(program=binary(made, program), traces=session.services.marks.traces)

    return diagnose(
        reduced,
        spec,
        lambda _build, other: _run(other, session.services),
        keep,
        named=named_program(program, able),
        profile=profile,
        lacking_operators=_lacking_operators(_read_facts(spec.model, session), keep),
        why=why_not_kept(
            committed=session.request.options.committed, quick=session.request.options.quick
        ),
    )


def _read_facts(model: Path | None, session: Session) -> ModelFacts | None:
    """None: there is no model, or only the engine can read it or can say that it is damaged."""
    models = session.services.engine.models
    if model is None or models is None:
        return None
    with suppress(InputError):
        return models.read_model(model)
    return None


def _lacking_operators(facts: ModelFacts | None, keep: KeepSet) -> tuple[str, ...]:
    if keep.operators is None or facts is None:
        return ()
    held = {strip_version(name) for name, _ in facts.operators}
    return tuple(sorted(held - dict(keep.operators.operators).keys()))


def _make_spec(wanted: ProbeRequest, session: Session) -> RunSpec:
    config = session.config
    for scenario in all_scenarios(config):
        if wanted.model in scenario.names:
            what = "its program"
            name = applications.name_of(scenario, session.request)
            if scenario.model is not None:
                what = "its model"
                name = scenario.model.name
            msg = f"{wanted.model} is a traced scenario, which runs only with its own arguments"
            words = ("probe", name, "--", "ARGUMENT...")
            hint = f"probe {what}: {session.request.invocation.again(*words)}"
            raise InputError(msg, hint=hint)
    if not config.models:
        return _make_command_spec(wanted, session)
    _check_command(wanted, session)
    named = {model.name: session.request.path(model.file) for model in config.models}
    model = named.get(wanted.model, Path(wanted.model))
    for path in (model, *wanted.inputs.values()):
        if not path.is_file():
            msg = f"there is no file {path} to probe"
            names = ", ".join(sorted(named))
            raise InputError(msg, hint=f"a model's file, or one of the names {names}")
    if wanted.application is None:
        _expect_known_inputs(wanted, model, _read_facts(model, session))
    return RunSpec(
        program=model,
        model=model,
        arguments=wanted.arguments,
        inputs=wanted.inputs,
        threads=1,
        timeout_s=_TIMEOUT_S,
        application=wanted.application is not None,
        companions=applications.companion_files(wanted.application or "", session),
    )


def _make_command_spec(wanted: ProbeRequest, session: Session) -> RunSpec:
    """Of a project without models: what is probed is a program, by its whole command line."""
    programs = _list_programs(session.config)
    if wanted.model not in programs or wanted.application not in (None, wanted.model):
        msg = f"found {wanted.model!r} to probe, expected a program: {listing(programs)}"
        raise InputError(msg, hint="such as `megtrim probe PROGRAM -- ARGUMENT...`")
    _expect_used(wanted, frozenset())
    for path in wanted.inputs.values():
        if not path.is_file():
            msg = f"there is no file {path} to probe with"
            raise InputError(msg)
    return RunSpec(
        program=Path(wanted.model),
        model=None,
        arguments=wanted.arguments,
        inputs=wanted.inputs,
        threads=1,
        timeout_s=_TIMEOUT_S,
        application=True,
        companions=applications.companion_files(wanted.model, session),
    )


def _list_programs(config: Config) -> tuple[str, ...]:
    own = (config.engine.target,) if config.runs_engine else ()
    return (*own, *(application.name for application in config.applications))


def _expect_known_inputs(wanted: ProbeRequest, model: Path, facts: ModelFacts | None) -> None:
    """Raise InputError for a name that the model does not have; else a run fails as if trimmed."""
    if facts is None:
        return
    taken = [each.name for each in facts.inputs]
    for name in wanted.inputs:
        if name not in taken:
            has = ", ".join(map(describe_variable, facts.inputs)) or "none at all"
            msg = f"--input: found {name!r}, expected one of the inputs of {model}: {has}"
            raise InputError(msg, hint=f"name another one{suggest(name, taken)}")


def _check_command(wanted: ProbeRequest, session: Session) -> None:
    config = session.config
    name = wanted.application
    names = ", ".join(application.name for application in config.applications)
    if name is None:
        if config.engine.target not in applications.targets(session):
            msg = f"no scenario runs {config.engine.target}, so it is not built"
            raise InputError(msg, hint=f"name an application: --application {names}")
        if flags := session.services.engine.flags:
            flags.check(wanted.arguments, source="probe")
        return
    if config.application(name) is None:
        msg = f"--application: found {name!r}, expected one of {names or 'none: there are none'}"
        raise InputError(msg)
    _expect_used(wanted, frozenset({MODEL}))


def _expect_used(wanted: ProbeRequest, more: frozenset[str]) -> None:
    given = {f"{INPUT}{input_}" for input_ in wanted.inputs}
    used = names_in(wanted.arguments)
    vain = sorted({*more, *given} - used)
    if vain:
        msg = f"{{{vain[0]}}} is missing from the arguments, so it would not be used"
        raise InputError(msg, hint="an application gets what its arguments name")
    unknown = used - given - more - {OUTPUTS, THREADS}
    if unknown:
        found = ", ".join(f"{{{each}}}" for each in sorted(unknown))
        msg = f"unknown placeholder {found} in the arguments"
        raise InputError(msg, hint="give inputs as --input NAME=FILE; a probe has no cache")


_WHERE = {"model": "on the reduced build", "program": "as it ships"}


def _render_outcome(
    wanted: ProbeRequest,
    found: Diagnosis | None,
    invocation: Invocation,
    *,
    as_json: bool,
    what: str = "model",
) -> str:
    status = found.status if found else "pass"
    text = found.text if found else f"it ran to its end {_WHERE[what]}"
    missing = list(found.missing) if found else []
    operators = list(found.lacking_operators) if found else []
    if as_json:
        facts = {what: wanted.model, "arguments": list(wanted.arguments), "status": status}
        lacking = {"missing regions": missing, "missing operators": operators}
        return json.dumps(facts | {"text": text} | lacking, indent=1)
    if what == "program" and status == ScenarioStatus.ENGINE_ERROR:
        status = "error"
    lines = [
        f"{status}: {text.removeprefix('it trapped: ')}",
        f"  {what:<11}{wanted.model}",
        f"  arguments  {' '.join(wanted.arguments)}",
        *(f"  operator   {operator}" for operator in operators),
        *(f"  region     {region}" for region in missing),
    ]
    if status == "trap":
        lines.append(f"  what to do: {suggest_for_probe(invocation)}")
    return "\n".join(lines)
