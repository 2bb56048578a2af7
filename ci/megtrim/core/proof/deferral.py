"""Whether deferral works in a program: functions that a scenario runs, called from its rest.

No scenario calls what was deferred, so a pass of all of them does not show that it can be called.
Here each program is linked once more with the functions of a scenario deferred as well, and runs
that scenario. The record that its runtime keeps of first calls makes each of them a fault of its
own, whatever the program does with signals meanwhile.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX, Link
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import FUNCTIONS, LINKED, REDUCED, base_task, verify_task
from megtrim.core.chain.result_store import content_of
from megtrim.core.chain.session import Session, scenario_inputs
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.functions import cutter, rest
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.proof.results import DeferralResult, DeferredCalls, VerifyResult
from megtrim.core.proof.trap_diagnosis import describe_with_rest
from megtrim.core.proof.verification import OutputComparison, choose_judge, compare_outputs
from megtrim.core.trim.builds import applications, variants
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.builds.links import RelinkedProgram
from megtrim.core.trim.runs.execution import RunResult, RunSpec, run_on
from megtrim.core.trim.runs.scenario_runs import cache_of, make_run_spec
from megtrim.libs.elf.layout import parse_build_id
from megtrim.libs.elf.symbol_table import FunctionTable, read_table
from megtrim.libs.programs.exit_status import RunOutcome, ending
from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.places.compile.projects.link.relink import LINKS
from megtrim.places.devices.retry import run_with_retries

_RECORD = "reached.txt"
_REACHED = "MEGTRIM_REACHED"
_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{8,16})(?: [0-9a-f]{8,16})?\n")
_PLAIN = "plain/"
_HINT = (
    "see whether other code than the program's own handles or blocks SIGSEGV "
    "(docs/how-to/defer-functions.md#signals), or leave functions out: trim.level: function"
)


class DeferredTrial(Value):
    scenario: Scenario
    program: RelinkedProgram
    """With what is deferred for this."""
    moved: frozenset[str]
    """Functions that the scenario runs, and that are deferred for this."""


class TrialLink(Value):
    folder: Path
    build_id: str
    moved: frozenset[int]
    """Addresses of what was moved and now lies in the rest."""


def inputs(session: Session) -> dict[str, str]:
    named = {
        "links": content_of(session.done[LINKED]),
        "base": content_of(session.done[base_task(session.config)]),
        "reduced": content_of(session.done[REDUCED]),
        "keep set": session.done[FUNCTIONS].files[KEEP_SET_FILE],
    }
    for scenario in all_scenarios(session.config):
        if verify_task(scenario) in session.done:
            named[f"proof of {scenario.id}"] = content_of(session.done[verify_task(scenario)])
        for label, value in scenario_inputs(scenario, session).items():
            named[f"{scenario.id}: {label}"] = value
        named[f"{scenario.id}: tolerance"] = repr(scenario.settings.allowed)
    return named


def work(session: Session, folder: Path) -> DeferralResult:
    """Raises ProductFailure for a program in which deferred functions do not work."""
    keep = read_keep_set(session.done[FUNCTIONS].file(KEEP_SET_FILE))
    targets = tuple(linking.identities(session.results))
    trials = {}
    for target in targets:
        trial = next(_find_trials(target, keep, session), None)
        if trial is not None:
            trials[target] = trial
    specs = tuple(
        replace(linking.specify_deferring_link(each.program, session), label=Link.DEFERRING)
        for each in trials.values()
    )
    if specs:
        variants.link(session, linking.make_base_spec(session), specs, folder)
        linking.copy_users(Link.DEFERRING, session, folder)
    programs = []
    for target in targets:
        none = DeferredCalls(program=target, scenario="", moved=0, called=0, outputs="")
        tried = trials.get(target)
        programs.append(_try(tried, session, folder) if tried else none)
    # The programs are for this run alone.
    shutil.rmtree(folder / LINKS, ignore_errors=True)
    return DeferralResult(programs=tuple(programs))


def _find_trials(target: str, keep: KeepSet, session: Session) -> Iterator[DeferredTrial]:
    ran = {record.id: frozenset(record.functions) for record in keep.scenarios}
    untrimmed = linking.read_program(target, session)
    shipped = untrimmed.trim(keep)
    resolvers = _find_resolvers(shipped.before)
    for scenario in all_scenarios(session.config):
        own = applications.holder_of(scenario, session) == target
        if not (own and _has_passed(scenario, session)):
            continue
        stay = (shipped.kept - ran[scenario.id]) | resolvers
        deferred = untrimmed.find_dropped(stay)
        moved = ran[scenario.id] & frozenset(deferred)
        if moved:
            program = replace(shipped, kept=stay, dropped=deferred)
            yield DeferredTrial(scenario=scenario, program=program, moved=moved)


def _find_resolvers(table: FunctionTable) -> frozenset[str]:
    """Return the functions that the loader calls before the program's runtime has begun."""
    places = {each.address for each in table.functions if each.name in table.ifuncs}
    return frozenset(each.name for each in table.functions if each.address in places)


def _has_passed(scenario: Scenario, session: Session) -> bool:
    folder = session.done.get(verify_task(scenario))
    if folder is None:
        return False
    return folder.result_as(VerifyResult).outcome.status is ScenarioStatus.PASS


def _try(trial: DeferredTrial, session: Session, folder: Path) -> DeferredCalls:
    linked = _cut(trial, folder)
    target = trial.program.target
    scenario = trial.scenario
    if not linked.moved:
        return DeferredCalls(program=target, scenario="", moved=0, called=0, outputs="")
    session.console.say(
        f"  {target}: {scenario.id} with {count(len(linked.moved), 'function')} more deferred"
    )
    spec = _make_spec(scenario, linked, session)
    seen = run_with_retries(
        session.services.device(scenario),
        lambda lease: run_on(lease, spec),
        say=session.console.say,
    )
    compared = _compare(seen, spec, scenario, session)
    called = linked.moved & _read_record(seen, linked.build_id)
    wrong = compared.text
    if ending(seen.run) is not RunOutcome.PASSED:
        wrong = describe_with_rest(seen.run)
    elif compared.status is ScenarioStatus.PASS:
        wrong = ""
        if spec.recorded and not called:
            wrong = "its outputs are equal, but the record of its calls names none of them"
    if wrong:
        moved = count(len(linked.moved), "function")
        msg = (
            f"{target}: deferred functions do not work in it: {scenario.id} passes as it ships, "
            f"but with {moved} of its own in the companion file: {wrong}"
        )
        raise ProductFailure(msg, hint=_HINT)
    return DeferredCalls(
        program=target,
        scenario=scenario.id,
        moved=len(linked.moved),
        called=len(called),
        outputs=compared.text,
    )


def _make_spec(scenario: Scenario, linked: TrialLink, session: Session) -> RunSpec:
    program = linked.folder / applications.name_of(scenario, session.request)
    spec = make_run_spec(scenario, session, program, cache=cache_of(scenario, session))
    spec = replace(spec, with_rest=True)
    environment = {**spec.environment, _REACHED: _RECORD}
    return replace(spec, recorded=_RECORD, environment=environment)


def _compare(
    seen: RunResult, spec: RunSpec, scenario: Scenario, session: Session
) -> OutputComparison:
    judge = choose_judge(spec, scenario.judgement.vary)
    plain = _read_plain_outputs(scenario, session)
    return compare_outputs(plain, seen.outputs, scenario.settings.allowed, judge)


def _cut(trial: DeferredTrial, folder: Path) -> TrialLink:
    """Put the file and its rest where the programs are that load it."""
    target = trial.program.target
    named = folder / linking.locate_unstripped(Link.DEFERRING, target)
    stripped = folder / linking.locate_stripped(Link.DEFERRING, target)
    data = named.read_bytes()
    table = read_table(named)
    place = rest.find_place(data, source=target)
    moved = {
        each.address
        for each in table.functions
        if each.name in trial.moved and each.address in place
    }
    parts = cutter.cut(stripped.read_bytes(), target, table, source=target)
    named.write_bytes(parts.first)
    named.with_name(f"{target}{REST_SUFFIX}").write_bytes(parts.rest)
    return TrialLink(
        folder=named.parent, build_id=parse_build_id(parts.first), moved=frozenset(moved)
    )


def _read_plain_outputs(scenario: Scenario, session: Session) -> dict[str, bytes]:
    proof = session.done[verify_task(scenario)]
    names = (name for name in proof.files if name.startswith(_PLAIN))
    return {name.removeprefix(_PLAIN): proof.file(name).read_bytes() for name in names}


def _read_record(seen: RunResult, build_id: str) -> set[int]:
    lines = _LINE.findall(seen.recorded or b"")
    return {int(address, 16) for id_, address in lines if id_.decode() == build_id}
