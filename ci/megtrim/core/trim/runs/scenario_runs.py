"""From a task's scenario to a run of it: which files, which algorithm cache."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from megtrim.core.chain.filenames import CACHE_FILE
from megtrim.core.chain.graph import Task, cache_task
from megtrim.core.chain.session import Session, TrimRequest
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.scenarios import Scenario
from megtrim.core.keep.keepset import KeepSet, ScenarioRecord, differing
from megtrim.core.keep.trace import Trace, TraceFailure, TraceProblem
from megtrim.core.project import find_kind
from megtrim.core.trim.builds import applications
from megtrim.core.trim.runs.execution import RunSpec
from megtrim.libs.util.errors import ACCEPT, InputError, MegtrimError
from megtrim.libs.util.files import sha256_file

_UNTRACED = Trace(regions=(), sha256="")
_ADD = "trace it, and commit the keep set"
_REFRESH = "trace it again, accept that, and commit the keep set"


def scenario_of(task: Task) -> Scenario:
    if task.scenario is None:
        msg = f"{task.id} has no scenario"
        raise TypeError(msg)
    return task.scenario


def cache_of(scenario: Scenario, session: Session) -> Path | None:
    if scenario.settings.algo_cache is not None:
        return session.request.path(scenario.settings.algo_cache)
    if scenario.searches:
        return session.done[cache_task(scenario, session.config)].file(CACHE_FILE)
    return None


def cache_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    """Return what a run depends on besides ``scenario_inputs``: what a search found."""
    if not scenario.searches:
        return {}
    made = session.done[cache_task(scenario, session.config)]
    return {"algorithm cache": made.files[CACHE_FILE]}


def make_run_spec(
    scenario: Scenario, session: Session, program: Path, *, cache: Path | None, search: bool = False
) -> RunSpec:
    settings = scenario.settings
    name = applications.name_of(scenario, session.request)
    companions = applications.companion_files(name, session)
    model = scenario.model
    inputs = {label: session.request.path(path) for label, path in scenario.files.items()}
    judgement = scenario.judgement
    return RunSpec(
        program=program,
        model=None if model is None else session.request.path(model.file),
        arguments=settings.args,
        application=settings.is_command,
        status=judgement.status,
        printed=judgement.printed,
        said=judgement.said,
        companions=companions,
        inputs=inputs,
        threads=settings.threads,
        timeout_s=settings.timeout_s,
        cache=cache,
        search=search,
        environment=dict(settings.variables),
    )


def record_of(scenario: Scenario, session: Session, trace: Trace) -> ScenarioRecord:
    bound = bind(scenario, session.request.loaded, cache_of(scenario, session))
    return replace(
        bound,
        toolchain=describe_toolchain(session),
        trace_sha256=trace.sha256,
        regions=trace.regions,
    )


def describe_toolchain(session: Session) -> str:
    """Return its kind and target; empty: each machine chooses its own."""
    toolchain = session.services.toolchain
    chosen = session.config.toolchain.kind != "auto"
    return f"{toolchain.kind} {toolchain.target}" if chosen else ""


def bind(scenario: Scenario, loaded: LoadedConfig, cache: Path | None) -> ScenarioRecord:
    settings = scenario.settings
    digests = ((name, sha256_file(loaded.resolve(path))) for name, path in scenario.files.items())
    sha256 = ""
    graph = None
    if scenario.model is not None:
        model = loaded.resolve(scenario.model.file)
        sha256 = sha256_file(model)
        models = find_kind(loaded.config.engine.kind).models
        graph = None if models is None else models.digest_model_graph(model, sha256)
    return ScenarioRecord(
        id=scenario.id,
        model_sha256=sha256,
        graph_sha256=graph,
        arguments=settings.command,
        inputs=tuple(sorted(digests)),
        algo_cache_sha256=sha256_file(cache) if cache else None,
        threads=settings.threads,
        environment=settings.variables,
        trace_sha256="",
        regions=(),
    )


def binding_of(scenario: Scenario, session: Session) -> str:
    bound = asdict(record_of(scenario, session, _UNTRACED))
    return json.dumps(bound, sort_keys=True)


def expect_as_traced(scenario: Scenario, session: Session, keep: KeepSet) -> None:
    """Raises TraceFailure, a finding of the verdict, if the keep set is the committed one."""
    traced = next((record for record in keep.scenarios if record.id == scenario.id), None)
    if traced is None:
        msg = f"{scenario.id} is not in the keep set: it was not traced"
        if session.request.options.committed:
            raise TraceFailure(TraceProblem.STALE, msg, hint=_ADD, command=("trim",))
        raise InputError(msg, hint="trace it", command=("trim",))
    now = record_of(scenario, session, Trace(regions=traced.regions, sha256=traced.trace_sha256))
    if changed := differing(traced, now):
        msg = f"{scenario.id} is not what was traced: {changed}"
        raise unfit(msg, session.request, hint="trace it again", command=("trim",))


def unfit(
    message: str, request: TrimRequest, *, hint: str, command: tuple[str, ...]
) -> MegtrimError:
    if request.options.committed:
        return TraceFailure(TraceProblem.STALE, message, hint=_REFRESH, command=ACCEPT)
    return InputError(message, hint=hint, command=command)
