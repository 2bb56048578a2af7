"""Stage `header`: traces and operator JSON become the keep set and the header."""

import hashlib
from dataclasses import replace
from pathlib import Path

from megtrim.core.chain.filenames import KEEP_SET_FILE, TRACE_FILE
from megtrim.core.chain.graph import Task, trace_task, traces_regions
from megtrim.core.chain.session import Session
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.evidence.evidence import LARGEST_TRACE
from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.keep.trace import Trace
from megtrim.core.trim.committed_keepset import read_committed
from megtrim.core.trim.results import HeaderResult
from megtrim.core.trim.runs.scenario_runs import binding_of, record_of
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.input_files import read_bytes


def inputs(task: Task, session: Session) -> dict[str, str]:
    config = session.config
    named = {
        "generation": str(session.services.engine.identity().generation),
        "layout": config.trim.layout,
        **session.services.marks.header_facts(config.trim.layout),
    }
    if config.trim.operators == "all":
        named["operators"] = "all"
    if config.trim.crash_ids:
        named["crash ids"] = "each region"
    if config.trim.on_missing == "error":
        named["errors"] = "each region and each trap"
    if session.request.options.committed:
        text = dump_keep_set(read_committed(session.request.loaded, session.services.engine))
        ids = (scenario.id for scenario in all_scenarios(config))
        return named | {
            "committed keep set": hashlib.sha256(text.encode()).hexdigest(),
            "scenarios": " ".join(ids),
        }
    for scenario in all_scenarios(config):
        # Equal traces of other arguments are another keep set: it says what each is bound to.
        named[f"scenario {scenario.id}"] = binding_of(scenario, session)
        if traces_regions(config):
            named[f"trace {scenario.id}"] = session.done[trace_task(scenario)].files[TRACE_FILE]
    for model in config.models:
        for number, path in enumerate(model.strip_info):
            named[f"operators {number} of {model.name}"] = sha256_file(session.request.path(path))
    return named


def work(task: Task, session: Session, folder: Path) -> HeaderResult:
    keep, warnings = (
        _load_keep_set(session)
        if session.request.options.committed
        else _build_from_traces(session)
    )
    (folder / KEEP_SET_FILE).write_text(dump_keep_set(keep), encoding="utf-8")
    for name, content in files(keep, session).items():
        path = folder / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return HeaderResult(
        regions=len(keep.regions()),
        operators=len(keep.operators.operators) if keep.operators else 0,
        warnings=warnings,
    )


def _load_keep_set(session: Session) -> tuple[KeepSet, tuple[str, ...]]:
    keep = read_committed(session.request.loaded, session.services.engine)
    if session.config.trim.operators == "all":
        keep = replace(keep, operators=None)
    known = {scenario.id for scenario in all_scenarios(session.config)}
    warnings = (
        f"the keep set keeps regions for {record.id}, which is not configured any more"
        for record in keep.scenarios
        if record.id not in known
    )
    return keep, tuple(warnings)


def _build_from_traces(session: Session) -> tuple[KeepSet, tuple[str, ...]]:
    models = session.services.engine.models
    folder = session.request.loaded.folder
    named = [(each.name, each.file, each.strip_info) for each in session.config.models]
    needs, warnings = models.gather_needs(named, folder=folder) if models else (None, ())
    traces = [
        (scenario, _read_trace(scenario, session)) for scenario in all_scenarios(session.config)
    ]
    keep = build_keep_set(
        generation=session.services.engine.identity().generation,
        scenarios=tuple(record_of(each, session, trace) for each, trace in traces),
        operators=needs if session.config.trim.operators == "listed" else None,
    )
    return keep, warnings


def _read_trace(scenario: Scenario, session: Session) -> Trace:
    if not traces_regions(session.config):
        return Trace(regions=(), sha256=hashlib.sha256(b"").hexdigest())
    path = session.done[trace_task(scenario)].file(TRACE_FILE)
    data = read_bytes(path, most_bytes=LARGEST_TRACE, expected="a trace")
    return session.services.marks.traces.parse(data, source=str(path))


def files(keep: KeepSet, session: Session) -> dict[str, str]:
    trim = session.config.trim
    errors = trim.on_missing == "error"
    return session.services.marks.render_header(
        keep, layout=trim.layout, crash_ids=trim.crash_ids, errors=errors
    )
