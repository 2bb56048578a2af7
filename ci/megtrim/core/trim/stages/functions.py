"""Stage `functions`: finds the functions of the base build that run, and adds them to the keep set.

The base build is linked once more so that each function has bytes of its own. An emulator reports
what it translated of a program; elsewhere, and in shared objects, the probed twin records it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from megtrim.core.build_spec import Link, LinkSpec, Switch
from megtrim.core.chain.filenames import BLOCKS_FILE, FUNCTIONS_FILE, KEEP_SET_FILE
from megtrim.core.chain.graph import (
    FUNCTIONS,
    HEADER,
    LINKED,
    REACHED,
    Task,
    functions_task,
    keeps_tests,
    splits_functions,
    trims_plain_build,
)
from megtrim.core.chain.result_store import StageFolder, content_of
from megtrim.core.chain.session import Services, Session, TrimRequest, scenario_inputs
from megtrim.core.config.model import switched_off
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.evidence.binding import binding, deviceless
from megtrim.core.evidence.evidence import LARGEST_LIST, DeviceResult, expect_fitting, find_brought
from megtrim.core.functions import link_map, linker_script, probes
from megtrim.core.functions.blocks import (
    BlockList,
    dump_blocks,
    parse_blocks,
)
from megtrim.core.functions.calls import OWN_CALLS
from megtrim.core.functions.kept_functions import matching, without_chance
from megtrim.core.functions.observables import (
    MAX_BYTES,
    Observables,
    dump_list,
    dump_observables,
    function_list,
    observables,
    parse_list,
    read_list,
    read_observables,
)
from megtrim.core.keep.keepset import KeepSet, ScenarioRecord, build_keep_set
from megtrim.core.keep.keepset_files import dump_keep_set, read_keep_set
from megtrim.core.keep.split_function import SplitFunction
from megtrim.core.keep.trace import Trace, TraceFailure, TraceProblem
from megtrim.core.project import find_operators
from megtrim.core.trim.builds import applications, size_options, variants
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.committed_keepset import read_committed
from megtrim.core.trim.results import (
    FunctionsKeepSetResult,
    RecordResult,
    SuiteRecordResult,
    UnfoldedLinksResult,
)
from megtrim.core.trim.runs import suite_records, tracing
from megtrim.core.trim.runs.complaints import FORM, list_complaints
from megtrim.core.trim.runs.scenario_runs import (
    binding_of,
    cache_inputs,
    cache_of,
    make_run_spec,
    record_of,
    unfit,
)
from megtrim.libs.elf.symbol_table import parse_table, read_linked
from megtrim.libs.util.errors import ACCEPT, InputError
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.input_files import read_bytes
from megtrim.places.compile.projects.link.relink import LINKS
from megtrim.places.devices.device import Lease
from megtrim.places.devices.retry import run_with_retries

_LIST = "list of functions"
_Result = UnfoldedLinksResult | RecordResult | SuiteRecordResult | FunctionsKeepSetResult


def inputs(task: Task, session: Session) -> dict[str, str]:
    if task.scenario is not None:
        return _scenario_inputs(task.scenario, session)
    if task.id == LINKED:
        named = linking.base_inputs(session) | {
            "programs": " ".join(applications.linked_again(session)),
            "probed": str(_needs_probes(session)),
            **linking.exports_input(session),
            "kept whatever ran": "\n".join(session.services.engine.kept),
        }
        if splits_functions(session.config):
            named["cut"] = linking.CUT_FORM
        return named
    if task.id == REACHED:
        return suite_records.inputs(session)
    return _keep_inputs(session)


def result_type(task: Task) -> type[_Result]:
    if task.id == LINKED:
        return UnfoldedLinksResult
    if task.id == REACHED:
        return SuiteRecordResult
    return FunctionsKeepSetResult if task.id == FUNCTIONS else RecordResult


def work(task: Task, session: Session, folder: Path) -> _Result:
    if task.scenario is not None:
        return _record(task.scenario, session, folder)
    if task.id == LINKED:
        return _link(_needs_probes(session), session, folder)
    if task.id == REACHED:
        return suite_records.record(session, folder)
    return _keep(session, folder)


def _needs_probes(session: Session) -> bool:
    if session.request.options.committed:
        return False
    if keeps_tests(session.config):
        return True
    if session.request.recorded:
        return False
    here = (device.kind for device in session.services.devices.values())
    there = (device.kind for device in session.config.devices if device.runner)
    asked = here if session.request.options.quick else (*here, *there)
    return any(kind != tracing.EMULATED for kind in asked)


def _link(probed: bool, session: Session, folder: Path) -> UnfoldedLinksResult:
    targets = applications.linked_again(session)
    shared = {target for target in targets if applications.users(target, session)}
    unfolded = {}
    probing = []
    for target in targets:
        is_shared = target in shared
        flags = size_options.unfolded_flags(session)
        if is_shared:
            flags = (*flags, *OWN_CALLS)
        link = LinkSpec(
            target=target,
            label=Link.UNFOLDED,
            unfolded=True,
            flags=flags,
            hidden=linking.find_hidden(target, session),
            map=True,
            digests=splits_functions(session.config),
        )
        unfolded[target] = link
        if probed or is_shared:
            twin = replace(
                link,
                label=Link.PROBED,
                flags=(*flags, *probes.flags(shared=is_shared)),
                sources=probes.sources(shared=is_shared),
                strip=False,
                map=False,
                digests=False,
            )
            probing.append(twin)
    specs = (*unfolded.values(), *probing)
    variants.link(session, linking.make_base_spec(session), specs, folder)
    linking.copy_users(Link.PROBED, session, folder)
    observed = {
        target: _observe(spec, session.services, folder) for target, spec in unfolded.items()
    }
    for spec in probing:
        program = folder / linking.locate_unstripped(Link.PROBED, spec.target)
        data = read_linked(program)
        table = parse_table(data, source=str(program))
        program.write_bytes(probes.patch(data, table, observed[spec.target].names))
    return UnfoldedLinksResult(
        links={target: each.link_sha256 for target, each in observed.items()}
    )


def _observe(spec: LinkSpec, services: Services, folder: Path) -> Observables:
    """What the engine keeps whatever ran is not observable: chance decides whether it runs."""
    program = folder / linking.locate_unstripped(Link.UNFOLDED, spec.target)
    data = read_linked(program)
    table = parse_table(data, source=str(program))
    linker_script.expect_hidden(table, spec.hidden, source=spec.target)
    origins = link_map.read_map(program.with_name(f"{program.name}.map"))
    hidden = link_map.platform_names(origins, table) | probes.unprobeable(data, table)
    hidden |= matching(services.engine.kept, table, origins)
    stripped = sha256_file(folder / linking.locate_stripped(Link.UNFOLDED, spec.target))
    found = observables(stripped, table, hidden)
    listed = folder / linking.observables(spec.target)
    listed.write_text(dump_observables(found), encoding="utf-8")
    return found


def _scenario_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    given = _find_imported_evidence(scenario, session)
    if given is not None:
        digest = given.result.functions
        return named_inputs(scenario, session) | {
            "taken elsewhere": digest or "",
            "by": given.device.name,
        }
    holder = applications.holder_of(scenario, session)
    program = applications.name_of(scenario, session.request)
    names = (holder, program, linking.observables(holder).rpartition("/")[2])
    files = tuple(f"/{name}" for name in names)
    named = _run_inputs(scenario, session)
    named["link"] = _link_of(scenario, session)
    named["says what goes wrong"] = str(speaks(session.request))
    if splits_functions(session.config):
        named["complaints"] = FORM
    for file, sha256 in session.done[LINKED].files.items():
        if file.startswith(f"{LINKS}/") and file.endswith(files):
            named[f"program {file}"] = sha256
    return named


def named_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    return deviceless(_run_inputs(scenario, session)) | {"link": _link_of(scenario, session)}


def _link_of(scenario: Scenario, session: Session) -> str:
    return linking.identities(session.results)[applications.holder_of(scenario, session)]


def _run_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    named = scenario_inputs(scenario, session) | {"form": tracing.FORM}
    named |= cache_inputs(scenario, session)
    return named


def _find_imported_evidence(scenario: Scenario, session: Session) -> DeviceResult | None:
    return find_brought(scenario.id, session.request.recorded, _LIST)


def _record(scenario: Scenario, session: Session, folder: Path) -> RecordResult:
    given = _find_imported_evidence(scenario, session)
    if given is not None:
        return _take(given, scenario, session, folder)

    links = session.done[LINKED]
    holder = applications.holder_of(scenario, session)
    name = applications.name_of(scenario, session.request)
    observed = read_observables(links.file(linking.observables(holder)))

    splits = splits_functions(session.config)

    def attempt(lease: Lease) -> tuple[tracing.Recorded, float]:
        label = tracing.link_for(lease, shared=holder != name)
        program = links.file(linking.locate_unstripped(label, name))
        spec = make_run_spec(scenario, session, program, cache=cache_of(scenario, session))
        with TemporaryDirectory() as damaged:
            complaints = tuple(list_complaints(spec, Path(damaged))) if splits else ()
            recorded = tracing.ran(
                scenario.id,
                spec,
                lease,
                lambda _seen: None,
                observables=observed,
                speaks=speaks(session.request),
                splits=splits,
                complaints=complaints,
            )
        return recorded, recorded.run.wall_s

    recorded, time_s = run_with_retries(
        session.services.device(scenario), attempt, say=session.console.say
    )
    found = recorded.functions
    (folder / FUNCTIONS_FILE).write_text(dump_list(found), encoding="utf-8")
    if splits:
        blocks = BlockList(link_sha256=found.link_sha256, functions=recorded.blocks)
        (folder / BLOCKS_FILE).write_text(dump_blocks(blocks), encoding="utf-8")
    return RecordResult(functions=len(found.names), time_s=time_s)


def _take(given: DeviceResult, scenario: Scenario, session: Session, folder: Path) -> RecordResult:
    digest = given.result.functions
    file = given.file(digest)
    data = given.load(digest, most=LARGEST_LIST)
    found = None if data is None else parse_list(data, source=str(file))
    name = applications.holder_of(scenario, session)
    wanted = linking.identities(session.results)[name]
    if found is not None and found.link_sha256 != wanted:
        hint = "give the lists that the device jobs of this build made"
        raise InputError(_of_another_link(scenario, found.link_sha256, wanted), hint=hint)
    expect_fitting(given, binding(named_inputs(scenario, session)), _LIST)
    if data is None or found is None:
        msg = f"{scenario.id}: {given.device.name} delivered no {_LIST}"
        raise InputError(msg, hint="run the device job again")
    observed = read_observables(session.done[LINKED].file(linking.observables(name)))
    if found != function_list(observed, found.names):
        msg = f"{file}: lists other functions than this link has"
        raise InputError(msg, hint="run the device job again")
    (folder / FUNCTIONS_FILE).write_bytes(data)
    return RecordResult(functions=len(found.names), time_s=given.result.time_s)


def _of_another_link(scenario: Scenario, found: str | None, wanted: str) -> str:
    return (
        f"{scenario.id}: its functions were recorded on another link "
        f"({str(found)[:12]}), this one is {wanted[:12]}"
    )


def speaks(request: TrimRequest) -> bool:
    if trims_plain_build(request.config):
        return True
    return not {Switch.LOGGING, Switch.EXCEPTIONS} <= {*switched_off(request.config.trim)}


def _keep_inputs(session: Session) -> dict[str, str]:
    links = linking.identities(session.results)
    named = {f"link {target}": sha256 for target, sha256 in links.items()}
    if HEADER in session.done:
        named["regions"] = session.done[HEADER].files[KEEP_SET_FILE]
    if session.request.options.committed:
        text = dump_keep_set(read_committed(session.request.loaded, session.services.engine))
        return named | {"committed": hashlib.sha256(text.encode()).hexdigest()}
    named["generation"] = str(session.services.engine.identity().generation)
    for scenario in all_scenarios(session.config):
        files = session.done[functions_task(scenario)].files
        # Equal lists of other arguments are another keep set: it says what each is bound to.
        named[f"scenario {scenario.id}"] = binding_of(scenario, session)
        named[f"functions {scenario.id}"] = files[FUNCTIONS_FILE]
        if BLOCKS_FILE in files:
            named[f"blocks {scenario.id}"] = files[BLOCKS_FILE]
    if REACHED in session.done:
        named["functions of tests"] = content_of(session.done[REACHED])
    return named


def _keep(session: Session, folder: Path) -> FunctionsKeepSetResult:
    if session.request.options.committed:
        keep = read_committed(session.request.loaded, session.services.engine)
        _expect_fitting(keep, session)
    else:
        keep = _merge_records(session)
    (folder / KEEP_SET_FILE).write_text(dump_keep_set(keep), encoding="utf-8")
    return FunctionsKeepSetResult(functions=len(keep.functions()))


def _expect_fitting(keep: KeepSet, session: Session) -> None:
    links = linking.identities(session.results)
    by_id = {record.id: record for record in keep.scenarios}
    for scenario in all_scenarios(session.config):
        wanted = links[applications.holder_of(scenario, session)]
        record = by_id.get(scenario.id)
        if record is None:
            continue  # reported where the scenario is verified
        if not record.functions:
            msg = f"{scenario.id}: the committed keep set lists no functions for it"
            hint = "trace it, and commit the keep set"
            raise TraceFailure(TraceProblem.STALE, msg, hint=hint, command=("trim",))
        if record.link_sha256 != wanted:
            msg = _of_another_link(scenario, record.link_sha256, wanted)
            raise unfit(msg, session.request, hint="record them again", command=ACCEPT)


def _merge_records(session: Session) -> KeepSet:
    traced = None
    if HEADER in session.done:
        traced = read_keep_set(session.done[HEADER].file(KEEP_SET_FILE))
    regions = traced if traced and not trims_plain_build(session.config) else None
    before = {record.id: record for record in regions.scenarios} if regions else {}
    links = {
        name: linking.read_unfolded(name, session.results)
        for name in linking.identities(session.results)
    }
    records = [
        _with_functions(scenario, before.get(scenario.id), links, session)
        for scenario in all_scenarios(session.config)
    ]
    records += suite_records.list_records(session, links)
    generation = session.services.engine.identity().generation
    known = find_operators(session.services.engine, session.request.loaded)
    needs = traced.operators if traced else known
    return build_keep_set(generation, records, needs)


def _with_functions(
    scenario: Scenario,
    record: ScenarioRecord | None,
    links: Mapping[str, linking.UnfoldedLink],
    session: Session,
) -> ScenarioRecord:
    folder = session.done[functions_task(scenario)]
    if record is None:
        # No regions were traced: the list of functions is all that there is of it.
        sha256 = folder.files[FUNCTIONS_FILE]
        record = record_of(scenario, session, Trace(regions=(), sha256=sha256))
    found = read_list(folder.file(FUNCTIONS_FILE))
    link = links[applications.holder_of(scenario, session)]
    needed = without_chance(
        found.names, unseen=link.unseen, code=link.code, observables=link.observables
    )
    split = _read_blocks(folder)
    names = frozenset(needed)
    blocks = tuple(each for each in split if each.name in names)
    return replace(record, functions=needed, blocks=blocks, link_sha256=found.link_sha256)


def _read_blocks(folder: StageFolder) -> tuple[SplitFunction, ...]:
    """A list that a device elsewhere made has none: its functions stay whole."""
    if BLOCKS_FILE not in folder.files:
        return ()
    path = folder.file(BLOCKS_FILE)
    data = read_bytes(path, most_bytes=MAX_BYTES, expected="a list of blocks", hint="trim again")
    return parse_blocks(data, source=str(path)).functions
