"""Stage `profile`: each scenario runs on the profile build and leaves its trace.

A scenario with ``fast_run`` first lets the *plain* build search for algorithms (its timings are
true), then is traced with the cache that the search left, which is a recorded input. Where
caches are joined, all searches come first.
"""

from pathlib import Path

from megtrim.core.chain.filenames import CACHE_FILE, TRACE_FILE
from megtrim.core.chain.graph import (
    JOINED_SUFFIX,
    PLAIN,
    PROFILE,
    SEARCH_SUFFIX,
    Task,
    task_name,
)
from megtrim.core.chain.session import Session, scenario_inputs
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.scenarios import Scenario
from megtrim.core.evidence.binding import binding, deviceless
from megtrim.core.evidence.evidence import (
    ANOTHER,
    LARGEST_CACHE,
    LARGEST_TRACE,
    DeviceResult,
    expect_fitting,
    find_brought,
)
from megtrim.core.keep.algo_cache import join_caches
from megtrim.core.keep.trace import Trace
from megtrim.core.trim.builds import applications
from megtrim.core.trim.results import JoinResult, SearchResult, TraceResult
from megtrim.core.trim.runs import tracing
from megtrim.core.trim.runs.execution import RunResult
from megtrim.core.trim.runs.scenario_runs import (
    cache_inputs,
    cache_of,
    make_run_spec,
    scenario_of,
)
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.input_files import read_bytes
from megtrim.places.devices.device import Lease
from megtrim.places.devices.retry import run_with_retries

_TRACE = "trace"
_LOG = "run.log"


def inputs(task: Task, session: Session) -> dict[str, str]:
    if _is_joined(task):
        found = {f"cache {each}": session.done[each].files[CACHE_FILE] for each in task.needs}
        # Where two caches differ, the first one counts.
        return found | {"order": " ".join(task.needs)}
    scenario = scenario_of(task)
    is_search = _is_search(task)
    given = find_brought(scenario.id, session.request.traced, _TRACE)
    if given is not None:
        named = named_inputs(scenario, session)
        digest = given.result.cache if is_search else given.result.trace
        return named | {"taken elsewhere": digest or "", "by": given.device.name}
    named = scenario_inputs(scenario, session)
    if is_search:
        return named | applications.digests(scenario, session, PLAIN, "program")
    named |= cache_inputs(scenario, session)
    return named | applications.digests(scenario, session, PROFILE, "program")


def named_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    named = deviceless(scenario_inputs(scenario, session))
    if scenario.searches:
        named |= applications.digests(scenario, session, PLAIN, "searching program")
    return named | applications.digests(scenario, session, PROFILE, "program")


def result_type(task: Task) -> type[SearchResult | TraceResult | JoinResult]:
    if _is_joined(task):
        return JoinResult
    return SearchResult if _is_search(task) else TraceResult


def work(task: Task, session: Session, folder: Path) -> SearchResult | TraceResult | JoinResult:
    if _is_joined(task):
        return _join(task, session, folder)
    scenario = scenario_of(task)
    given = find_brought(scenario.id, session.request.traced, _TRACE)
    if given is not None:
        if scenario.searches:
            expect_own_caches(session.request.loaded)
        expect_fitting(given, binding(named_inputs(scenario, session)), _TRACE)
        return (
            _take_cache(given, folder) if _is_search(task) else _take_trace(given, session, folder)
        )
    try:
        if _is_search(task):
            return _search(scenario, session, folder)
        return _trace(scenario, session, folder)
    except ProductFailure as failure:
        root = session.request.invocation.out or session.services.store.root.name
        log = folder.relative_to(session.services.store.root) / _LOG
        failure.message += f"\n  its log: {root}/{log}"
        raise


def _is_search(task: Task) -> bool:
    return task.name.endswith(SEARCH_SUFFIX)


def _is_joined(task: Task) -> bool:
    return task.name.endswith(JOINED_SUFFIX)


def expect_own_caches(loaded: LoadedConfig) -> None:
    """Raises InputError where a device job would trace with a cache of its own search."""
    if loaded.config.trim.caches == "joined":
        where = f"{loaded.where('trim', 'caches')}: trim.caches"
        msg = f"{where}: found joined, and a device job searches and traces each scenario alone"
        hint = "join the caches here, and name the joined file as algo_cache of each scenario"
        raise InputError(msg, hint=hint, command=("trim",))


def _join(task: Task, session: Session, folder: Path) -> JoinResult:
    form = session.services.engine.caches
    if form is None:
        msg = f"trim.caches: joined: caches of kind {session.config.engine.kind} cannot be joined"
        raise InputError(msg, hint="leave trim.caches out")
    caches = []
    for each in task.needs:
        scenario = task_name(each).removesuffix(SEARCH_SUFFIX)
        path = session.done[each].file(CACHE_FILE)
        caches.append(
            (scenario, read_bytes(path, most_bytes=LARGEST_CACHE, expected="an algorithm cache"))
        )
    joined = join_caches(caches, form)
    (folder / CACHE_FILE).write_bytes(joined.data)
    clashes = tuple(clash.describe() for clash in joined.clashes)
    (folder / _LOG).write_text("".join(f"{line}\n" for line in clashes), encoding="utf-8")
    return JoinResult(caches=len(caches), answers=joined.answers, clashes=clashes)


def _take_cache(given: DeviceResult, folder: Path) -> SearchResult:
    cache = given.load(given.result.cache, most=LARGEST_CACHE)
    if not cache:
        msg = f"{given.result.scenario}: the device job delivered no algorithm cache"
        raise InputError(msg, hint=ANOTHER)
    (folder / CACHE_FILE).write_bytes(cache)
    return SearchResult(time_s=given.result.time_s)


def _take_trace(given: DeviceResult, session: Session, folder: Path) -> TraceResult:
    data = given.load(given.result.trace, most=LARGEST_TRACE) or b""
    source = str(given.file(given.result.trace))
    trace = session.services.marks.traces.parse(data, source=source)
    (folder / TRACE_FILE).write_bytes(data)
    return _summarize_trace(trace, given.device, given.result.time_s)


def _search(scenario: Scenario, session: Session, folder: Path) -> SearchResult:
    program = applications.program(scenario, session.request, session.done[PLAIN])
    spec = make_run_spec(scenario, session, program, cache=None, search=True)

    def attempt(lease: Lease) -> tuple[bytes, ProgramRun]:
        return tracing.search(scenario.id, spec, lease, lambda seen: _write_log(folder, seen))

    cache, run = run_with_retries(
        session.services.device(scenario), attempt, say=session.console.say
    )
    (folder / CACHE_FILE).write_bytes(cache)
    return SearchResult(time_s=run.wall_s)


def _trace(scenario: Scenario, session: Session, folder: Path) -> TraceResult:
    program = applications.program(scenario, session.request, session.done[PROFILE])
    spec = make_run_spec(scenario, session, program, cache=cache_of(scenario, session))
    traces = session.services.marks.traces

    def attempt(lease: Lease) -> TraceResult:
        device = DeviceIdentity(name=lease.name, kind=lease.kind, facts=lease.facts())
        trace, data, run = tracing.trace(
            scenario.id, spec, traces, lease, lambda seen: _write_log(folder, seen)
        )
        (folder / TRACE_FILE).write_bytes(data)
        return _summarize_trace(trace, device, run.wall_s)

    return run_with_retries(session.services.device(scenario), attempt, say=session.console.say)


def _summarize_trace(trace: Trace, device: DeviceIdentity, time_s: float) -> TraceResult:
    return TraceResult(
        regions=len(trace.regions), trace_sha256=trace.sha256, device=device, time_s=time_s
    )


def _write_log(folder: Path, seen: RunResult) -> None:
    run: ProgramRun = seen.run
    text = f"$ {' '.join(run.argv)}\n{run.stdout}{run.stderr}exit status {run.rc}\n"
    (folder / _LOG).write_text(text, encoding="utf-8")
