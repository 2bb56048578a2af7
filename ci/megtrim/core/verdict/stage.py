"""Stage `verdict`: what all stages saw, joined into ``verdict.json``."""

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from megtrim.core.chain.filenames import VERDICT_FILE
from megtrim.core.chain.graph import (
    DEFERRAL,
    FUNCTIONS,
    HEADER,
    JOINED_SUFFIX,
    LINKED,
    PLAIN,
    PROFILE,
    REDUCED,
    REGION,
    TESTS,
    Stage,
    Task,
    verb_of,
    verify_task,
)
from megtrim.core.chain.result_store import content_of, failure_content
from megtrim.core.chain.session import Session, TaskResults, binary
from megtrim.core.checks.check import Check, DeviceIdentity, ToolchainIdentity
from megtrim.core.checks.invocation import Options, name_export, suggest_next
from megtrim.core.checks.statuses import CheckKind, CheckStatus, UnverifiedPolicy
from megtrim.core.config.kinds import BLOCKS
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.config.units import format_bytes
from megtrim.core.parts import find_parts, load
from megtrim.core.proof.results import DeferralResult, SuiteResult, VerifyResult, judge_tests
from megtrim.core.proof.scenario_results import (
    LastProof,
    find_expired,
    idle_checks,
    last_proofs,
    neighbour_results,
    scenario_results,
)
from megtrim.core.size.budgets import ending, warn_early
from megtrim.core.size.results import budget_places, size_result, warn_of_growth
from megtrim.core.size.rows import BudgetRow
from megtrim.core.trim.builds.applications import (
    linked_again,
    warn_of_left_behind,
    warn_of_libraries,
)
from megtrim.core.trim.committed_keepset import digest_committed, keep_set_checks, list_retrained
from megtrim.core.trim.cut_warnings import warn_of_blocks
from megtrim.core.trim.export_warnings import warn_of_exports
from megtrim.core.trim.keepset_usage import (
    functions_use,
    operators_use,
    rebuild,
    regions_use,
    trim_choice,
)
from megtrim.core.trim.results import (
    FunctionsKeepSetResult,
    HeaderResult,
    JoinResult,
    ReduceResult,
    UnfoldedLinksResult,
)
from megtrim.core.verdict.join import VerdictInputs, join
from megtrim.core.verdict.model import VerdictResult, to_json
from megtrim.core.verdict.performance import Performance
from megtrim.core.verdict.wording import list_larger, list_trimmed
from megtrim.libs.elf.pages import LINK_AGAIN, count_padding, find_misfit
from megtrim.libs.util.errors import InfrastructureFailure, MegtrimError
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.wording import count

SummarizeTimes = Callable[[Iterable[str], Session], Performance | None]
_STAGE_CHECKS = {
    PLAIN: CheckKind.BUILD,
    PROFILE: CheckKind.BUILD,
    HEADER: CheckKind.HEADER,
    REGION: CheckKind.REDUCE,
    LINKED: CheckKind.REDUCE,
    FUNCTIONS: CheckKind.HEADER,
    REDUCED: CheckKind.REDUCE,
    DEFERRAL: CheckKind.DEFERRAL,
}


def inputs(task: Task, session: Session) -> dict[str, str]:
    config = session.config
    toolchain = session.services.toolchain
    identity = session.services.engine.identity()
    named = {
        "origin": dump(session.request.origin),
        "config file": session.request.loaded.path.name,
        "config": session.request.loaded.sha256,
        "engine": identity.digest,
        "commit": identity.commit,
        "dirty": " ".join(identity.dirty),
        "keep set": _name_keep_set(session.request.options),
        "invocation": dump(session.request.invocation),
        "base": session.request.base,
        "notes": "\n".join(list_retrained(session)),
        **{f"toolchain {label}": value for label, value in toolchain.identity().items()},
    }
    for name, device in session.services.devices.items():
        shown = {"name": device.name, "kind": device.kind, "facts": device.facts()}
        named[f"device of {name}"] = json.dumps(shown, sort_keys=True)
    for wanted in task.wants:
        if wanted in session.done:
            named[wanted] = content_of(session.done[wanted])
        elif wanted in session.results.failed:
            named[wanted] = failure_content(session.results.failed[wanted])
        else:
            named[wanted] = "not reached"
    judged = not (session.request.options.committed or session.request.options.quick)
    if judged and (digest := digest_committed(session.request.loaded)):
        named["committed keep set"] = digest
    if session.results.taken:
        named["taken from an earlier run"] = " ".join(sorted(session.results.taken))
    named["final"] = f"{session.request.final} {_suggest_next(session)}"
    if config.waivers:
        named["today"] = session.request.today.isoformat()  # a warning comes before one lapses
    for scenario, proof in _last_proofs(task, session).items():
        if proof is not None:
            named[f"last proof of {scenario}"] = repr(proof)
    return named


def work(task: Task, session: Session, folder: Path) -> VerdictResult:
    config = session.config
    toolchain = session.services.toolchain
    proofs = _last_proofs(task, session)
    proves = _proves(task)
    places = {e.id: session.request.loaded.place(*e.path) for e in all_scenarios(config)}
    places |= budget_places(session.request)
    sizes = size_result(session.results)
    toolchain_identity = ToolchainIdentity(
        kind=toolchain.kind,
        target=toolchain.target,
        version=toolchain.version,
        image=toolchain.image,
        page_bytes=toolchain.page_bytes,
    )
    here = [
        *_stage_checks(task, session),
        *page_checks(session),
        *_tests_checks(session),
    ]
    checks = [*here, *keep_set_checks(session)]
    if proves:
        checks += idle_checks(session)
    facts = VerdictInputs(
        origin=session.request.origin,
        config=session.request.loaded.path.name,
        engine=session.services.engine.identity(),
        toolchain=toolchain_identity,
        devices=_devices(task, session),
        trim=trim_choice(session),
        artifacts=sizes.artifacts,
        regions=regions_use(task, session),
        operators=operators_use(session.results),
        scenarios=scenario_results(session, proofs) if proves else (),
        budgets=sizes.budgets,
        baseline=sizes.baseline,
        causes=sizes.causes,
        notes=sizes.notes,
        functions=functions_use(session.results),
        rebuild=rebuild(session.results),
        neighbours=neighbour_results(session),
        performance=_performance(task, session),
        unverified=_choose_policy(
            UnverifiedPolicy(config.verify.unverified), (*here, *sizes.budgets)
        ),
        warnings=_warnings(session),
        programs=_list_final_programs(session),
        next=_suggest_next(session),
        advises=_advises(session),
        invocation=session.request.invocation,
        places=places,
        expired=find_expired(proofs, allowed_s=config.verify.max_age_s),
        checks=tuple(checks),
    )
    verdict = join(facts)
    (folder / VERDICT_FILE).write_text(to_json(verdict), encoding="utf-8")
    return VerdictResult(verdict=verdict.verdict, unverified=verdict.unverified)


def _name_keep_set(options: Options) -> str:
    if options.committed:
        return "committed"
    return "quick" if options.quick else "traced"


def _list_final_programs(session: Session) -> tuple[str, ...]:
    final = session.request.final
    if not final:
        return ()
    trimmed = list_trimmed(size_result(session.results))
    return tuple(f"{final}/bin/{name}" for name, _ in trimmed)


def _advises(session: Session) -> bool:
    return bool(session.request.final) and not session.request.options.traces


def _suggest_next(session: Session) -> str:
    request = session.request
    programs = list_trimmed(size_result(session.results))
    if not (programs and _advises(session)):
        return ""
    name, size = programs[0]
    changed = request.committed_keep_set not in (None, digest_committed(request.loaded))
    commits = changed and not request.options.quick
    limited = bool(request.config.budgets)
    reached = bool(request.options.reached or request.options.kept)
    results = posixpath.dirname(request.final)
    exported = request.options.results / Path(name_export(results, name)).name
    if limited and exported.exists() and not (commits or reached):
        return ""  # an export is written once
    return suggest_next(
        request.invocation,
        name,
        size.size_bytes,
        results=results,
        commits=commits,
        limited=limited,
        reached=reached,
        files=request.uncommitted,
    )


def _proves(task: Task) -> bool:
    return any(Stage(wanted.partition("/")[0]) is Stage.VERIFY for wanted in task.wants)


def _last_proofs(task: Task, session: Session) -> dict[str, LastProof | None]:
    return last_proofs(session) if _proves(task) else {}


def _devices(task: Task, session: Session) -> tuple[DeviceIdentity, ...]:
    found = {each.name: each for each in _list_measuring_devices(task, session)}
    if found:
        return tuple(found[name] for name in sorted(found))
    for scenario in all_scenarios(session.config):
        device = session.services.devices.get(scenario.cpu_class.name)
        done = session.done.get(verify_task(scenario))
        if done is not None:
            machine = done.result_as(VerifyResult).device
        elif device is not None:
            machine = DeviceIdentity(name=device.name, kind=device.kind, facts=device.facts())
        else:
            continue
        found.setdefault(machine.name, machine)
    return tuple(found[name] for name in sorted(found))


def _measures(task: str) -> bool:
    return Stage(task.partition("/")[0]) is Stage.PERF


def _performance(task: Task, session: Session) -> Performance | None:
    wanted = [each for each in task.wants if _measures(each)]
    if not wanted:
        return None
    summarize: SummarizeTimes = load(find_parts().performance, "times")
    return summarize(wanted, session)


def _list_measuring_devices(task: Task, session: Session) -> Iterable[DeviceIdentity]:
    wanted = [each for each in task.wants if _measures(each)]
    if not wanted:
        return ()
    find: Callable[[Iterable[str], Session], Iterable[DeviceIdentity]] = load(
        find_parts().measuring_devices, "times"
    )
    return find(wanted, session)


def _choose_policy(asked: UnverifiedPolicy, here: Iterable[Check | BudgetRow]) -> UnverifiedPolicy:
    """``asked`` is of devices. What this machine did not build or measure is never a pass."""
    lost = any(each.status is CheckStatus.INFRASTRUCTURE for each in here)
    return UnverifiedPolicy.FAIL if lost else asked


def _stage_checks(judged: Task, session: Session) -> Iterator[Check]:
    for task, kind in _STAGE_CHECKS.items():
        if task not in judged.wants:
            continue
        done = session.done.get(task)
        failure = session.results.failed.get(task)
        if done is None and failure is None:
            continue
        passed = Check(
            id=f"{kind}:{task}",
            kind=kind,
            subject=task,
            status=_find_status(task, session.results),
            text="" if failure else _describe_result(task, session.results),
            file=session.request.loaded.path.name,
            line=session.request.loaded.line("engine"),
        )
        yield _fail(passed, failure, session) if failure else passed


def _find_status(task: str, results: TaskResults) -> CheckStatus:
    """Return how a stage ended that did not fail."""
    if task == DEFERRAL and task in results.done:
        programs = results.done[task].result_as(DeferralResult).programs
        if not any(each.moved for each in programs):
            return CheckStatus.SKIPPED
    return CheckStatus.PASS


def _fail(check: Check, failure: MegtrimError, session: Session) -> Check:
    infrastructure = isinstance(failure, InfrastructureFailure)
    return replace(
        check,
        status=CheckStatus.INFRASTRUCTURE if infrastructure else CheckStatus.FAIL,
        text=failure.title,
        detail=str(failure),
        hint=failure.hint,
        reproduce=session.request.invocation.again(verb_of(check.subject)),
    )


def _tests_checks(session: Session) -> Iterator[Check]:
    done = session.done.get(TESTS)
    failure = session.results.failed.get(TESTS)
    if done is None and failure is None:
        return
    place = session.request.loaded.place("tests")
    check = Check(
        id=f"{CheckKind.TESTS}:{TESTS}",
        kind=CheckKind.TESTS,
        subject=TESTS,
        status=CheckStatus.PASS,
        text="",
        file=place.file,
        line=place.line,
    )
    if failure is not None:
        yield _fail(check, failure, session)
    elif done is not None:
        yield judge_tests(done.result_as(SuiteResult), check, session.request.invocation)


def page_checks(session: Session) -> Iterator[Check]:
    page_bytes = session.services.toolchain.page_bytes
    request = session.request
    reduced = session.done.get(REDUCED)
    if not page_bytes or reduced is None:
        return
    for artifact in request.config.artifacts:
        data = binary(reduced, artifact).read_bytes()
        misfit = find_misfit(data, page_bytes, source=artifact)
        padding = f"{count_padding(data, source=artifact):,} bytes of padding between its segments"
        place = request.loaded.place("toolchain", "pages")
        fits = f"fits memory pages of {format_bytes(page_bytes)}, {padding}"
        yield Check(
            id=f"{CheckKind.PAGES}:{artifact}",
            kind=CheckKind.PAGES,
            subject=artifact,
            status=CheckStatus.FAIL if misfit else CheckStatus.PASS,
            text=misfit or fits,
            hint=LINK_AGAIN if misfit else "",
            reproduce=request.invocation.again("trim") if misfit else "",
            file=place.file,
            line=place.line,
        )


def _describe_result(task: str, results: TaskResults) -> str:
    done = results.done[task]
    if task == HEADER:
        header = done.result_as(HeaderResult)
        return f"{count(header.regions, 'region')}, {count(header.operators, 'operator')} kept"
    if task == LINKED:
        return f"{count(len(done.result_as(UnfoldedLinksResult).links), 'program')} linked unfolded"
    if task == FUNCTIONS:
        return f"{count(done.result_as(FunctionsKeepSetResult).functions, 'function')} ran"
    if task == DEFERRAL:
        return done.result_as(DeferralResult).describe()
    if task in (REGION, REDUCED):
        return _describe_reduced(done.result_as(ReduceResult))
    return "built"


def _describe_reduced(reduced: ReduceResult) -> str:
    counts = reduced.functions.values()
    if counts:
        dropped = sum(each.dropped for each in counts)
        held = sum(each.held for each in counts)
        stay = f"{held - dropped} stay: what ran, and what must stay whatever ran"
        said = f"linked without {dropped} of {held} functions; {stay}"
        if guarded := sum(each.guarded for each in counts):
            said += f"; calls of {count(guarded, 'export')} that reach the others return an error"
        if cut := sum(each.cut for each in counts):
            said += f"; of {count(cut, 'function')}, only the blocks that ran stay"
        return said
    units = reduced.build.translation_units
    return f"built; the header was in all {units} translation units that were compiled"


def _warnings(session: Session) -> tuple[str, ...]:
    dirty = session.services.engine.identity().dirty
    header = session.done.get(HEADER)
    sizes = size_result(session.results)
    config = session.config
    warnings = list(session.request.loaded.warnings)
    if dirty:
        files = count(len(dirty), "file")
        warnings.append(f"the source differs from its commit in {files}")
    if header:
        warnings += header.result_as(HeaderResult).warnings
    for id_, folder in session.done.items():
        if id_.endswith(JOINED_SUFFIX):
            warnings += filter(None, [folder.result_as(JoinResult).describe()])
    if REDUCED in session.done:
        functions = session.done[REDUCED].result_as(ReduceResult).functions
        warnings += warn_of_blocks(functions) if config.trim.level == BLOCKS else ()
        warnings += warn_of_exports(functions)
    warnings += list_retrained(session)
    warnings += warn_of_libraries(session)
    warnings += warn_of_left_behind(session)
    trimmed = linked_again(session)
    made = [artifact for artifact in sizes.artifacts if artifact.name in trimmed]
    warnings += list_larger(made, config.trim.level)
    warnings += warn_early(sizes.budgets)
    warnings += warn_of_growth(sizes)
    warnings += ending(config.waivers, session.request.today)
    return tuple(warnings)
