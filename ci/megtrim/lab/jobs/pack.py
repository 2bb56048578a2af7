"""From a context whose programs are built to the bundle that device jobs get."""

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX, Link, Variant
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import (
    BASE,
    LINKED,
    PLAIN,
    PROFILE,
    REDUCED,
    REGION,
    Stage,
    Task,
    cache_task,
    keep_task,
    trims_functions,
    trims_plain_build,
)
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session, TrimRequest, binary
from megtrim.core.config.model import Config
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.evidence.binding import binding
from megtrim.core.evidence.evidence import EvidenceSet, JobPurpose, newest
from megtrim.core.proof import stage as verify
from megtrim.core.proof import trap_diagnosis
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.trim.builds import applications
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.runs.scenario_runs import cache_of, scenario_of
from megtrim.core.trim.stages import functions, profile
from megtrim.lab.evidence.bundle import (
    BUNDLE_FILE,
    DROPPED,
    OBSERVABLES,
    REST,
    Bundle,
    BundleApplication,
    BundleContest,
    BundleDevice,
    BundleInput,
    BundleScenario,
    BundleTimes,
    ProvenScenario,
    find_device,
)
from megtrim.libs.programs.application_arguments import STDIN
from megtrim.libs.util import limits
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write, read_object, sha256_file, write_atomically
from megtrim.libs.util.strict_json import decode, dump, encode
from megtrim.libs.util.value import Value
from megtrim.times import stage as perf
from megtrim.times.measuring.contest_plan import plan_for_runner
from megtrim.times.outcomes import NOT_HELD, status_of_failure
from megtrim.times.plan import perf_tasks

_PROGRAMS = {
    PLAIN: Variant.PLAIN,
    PROFILE: Variant.PROFILE,
    REGION: Variant.REGION,
    REDUCED: Variant.REDUCED,
    BASE: Variant.BASE,
}
_ANY_DIGEST = "0" * 64
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Selection(Value):
    asked: tuple[tuple[Scenario, str], ...]
    proven: tuple[tuple[Scenario, str], ...]
    """Left out for a proof."""

    def counts(self, *, runners: frozenset[str], on_runners: bool) -> dict[str, int]:
        names = (scenario.cpu_class.name for scenario, _ in self.asked)
        return dict(Counter(name for name in names if (name in runners) is on_runners))


def purpose_of(config: Config, *, proves: bool, functions: bool) -> JobPurpose:
    """Return what devices are for: to prove, else to tell what runs: regions first, if traced."""
    if proves:
        return JobPurpose.VERIFY
    record = trims_plain_build(config) or (functions and trims_functions(config))
    return JobPurpose.RECORD if record else JobPurpose.TRACE


def list_required_tasks(config: Config, purpose: JobPurpose) -> tuple[str, ...]:
    match purpose:
        case JobPurpose.TRACE:
            return PLAIN, PROFILE
        case JobPurpose.RECORD:
            return (LINKED,)
        case JobPurpose.VERIFY:
            return PLAIN, keep_task(config), REDUCED
        case JobPurpose.TIME:
            measured = (task for task in perf_tasks(config) if task.stage is Stage.PERF)
            return tuple(dict.fromkeys(need for task in measured for need in task.needs))


def runner_classes(request: TrimRequest) -> frozenset[str]:
    return frozenset(device.class_ for device in request.config.devices if device.runner)


def select(session: Session, purpose: JobPurpose, proofs: EvidenceSet) -> Selection:
    """Return what devices are asked for; nothing where its programs are not built.

    To trace or to record, all scenarios are; to verify, those of classes with a device on a runner;
    to time, contests whose programs are built stand for their scenarios.
    """
    if purpose is JobPurpose.TIME:
        held = (
            (scenario_of(task), found.binding)
            for task in _list_timed(session)
            if (found := _describe_contest(task, session)).contest is not None
        )
        return Selection(asked=tuple(held), proven=())
    required = list_required_tasks(session.config, purpose)
    if any(task not in session.done for task in required):
        return Selection(asked=(), proven=())
    every = tuple(all_scenarios(session.config))
    if purpose is JobPurpose.TRACE:
        if any(each.searches for each in every):
            profile.expect_own_caches(session.request.loaded)
        bound = ((each, binding(profile.named_inputs(each, session))) for each in every)
        return Selection(asked=tuple(bound), proven=())
    if purpose is JobPurpose.RECORD:
        return Selection(asked=tuple(_bind_linked_scenarios(session)), proven=())
    runners = runner_classes(session.request)
    known = newest(proofs.entries)
    devices = list_devices(session.request, purpose)
    max_age_s = session.config.verify.max_age_s
    asked: list[tuple[Scenario, str]] = []
    proven: list[tuple[Scenario, str]] = []
    for each in every:
        ready = not each.searches or cache_task(each, session.config) in session.done
        if each.cpu_class.name not in runners or not ready:
            continue
        bound_to = binding(verify.named_inputs(each, session))
        proof = known.get(each.id)
        fresh = False
        if proof is not None and proof.result.binding == bound_to:
            is_there = find_device(devices, proof.evidence.cpu_class, proof.device) is not None
            is_young = proof.is_young(session.request.today, max_age_s)
            fresh = is_there and is_young and proof.is_within(each.settings.allowed)
        if fresh:
            proven.append((each, bound_to))
        else:
            asked.append((each, bound_to))
    return Selection(asked=tuple(asked), proven=tuple(proven))


def _list_timed(session: Session) -> Iterator[Task]:
    request = session.request
    every = perf_tasks(
        request.config, committed=request.options.committed, since_base=bool(request.base)
    )
    return (task for task in every if task.stage is Stage.PERF)


def describe_times(session: Session) -> BundleTimes:
    config = session.config.perf
    return BundleTimes(
        engine=session.services.engine.identity().digest,
        criterion=config.criterion,
        inconclusive=config.inconclusive,
        base=session.request.base,
        contests=tuple(_describe_contest(task, session) for task in _list_timed(session)),
    )


def _describe_contest(task: Task, session: Session) -> BundleContest:
    results = session.results
    if any(need not in results.done for need in task.needs):
        failures = (results.failed[need] for need in task.needs if need in results.failed)
        failure = next(failures, None)
        reason = failure.message if failure else NOT_HELD
        unheld = status_of_failure(failure)
    else:
        planned = plan_for_runner(task, session)
        if not isinstance(planned, str):
            return perf.describe_contest(task, session, planned)
        reason = planned
        unheld = PerformanceStatus.SKIPPED
    return perf.describe_contest(task, session, None, unheld=unheld, reason=reason)


def _bind_linked_scenarios(session: Session) -> Iterator[tuple[Scenario, str]]:
    """Raises InputError for one that runs with an algorithm cache that does not exist yet."""
    for each in all_scenarios(session.config):
        if each.searches and cache_task(each, session.config) not in session.done:
            loaded = session.request.loaded
            where = loaded.where(*each.path, "fast_run")
            msg = f"{where}: {each.id} searches for algorithms, which is done where it is traced"
            hint = "name the cache that a trim records as algo_cache"
            raise InputError(msg, hint=hint, command=("trim",))
        yield each, binding(functions.named_inputs(each, session))


def expect_packable(session: Session) -> None:
    runners = runner_classes(session.request)
    for scenario in all_scenarios(session.config):
        if scenario.cpu_class.name not in runners:
            continue
        # As for traces: nothing has been searched for yet.
        _scenario(scenario, _ANY_DIGEST, session, JobPurpose.TRACE, lambda _path: _ANY_DIGEST)


def pack(session: Session, purpose: JobPurpose, proofs: EvidenceSet, to: Path) -> Bundle:
    """Write the bundle to ``to``, a new or empty folder or an earlier bundle, and return it."""
    selection = select(session, purpose, proofs)
    if not selection.asked:
        # Nothing is linked for devices that run nothing.
        session = replace(session, results=replace(session.results, make=None))
    asked = {each.id: (each, bound) for each, bound in selection.asked}
    _clear(to)
    put = partial(_put, to)
    keep_set = None
    kept = session.done.get(keep_task(session.config))
    if purpose is JobPurpose.VERIFY and kept is not None:
        keep_set = put(kept.file(KEEP_SET_FILE))
    sysroot = session.services.toolchain.sysroot
    request = session.request
    config = request.config
    target = config.engine.target
    programs = {}
    if config.runs_engine:
        programs = {label: put(path) for label, path in _forms(target, session, purpose)}
    scenarios = [_scenario(each, bound, session, purpose, put) for each, bound in asked.values()]
    proven = [
        ProvenScenario(id=each.id, cpu_class=each.cpu_class.name, binding=bound)
        for each, bound in selection.proven
    ]
    applications_used = tuple(_applications(session, purpose, put))
    bundle = Bundle(
        config=request.invocation.config,
        purpose=purpose,
        target=target,
        machine=session.services.toolchain.machine,
        sysroot=str(sysroot) if sysroot else "",
        generation=session.services.engine.identity().generation,
        max_age_s=config.verify.max_age_s,
        programs=programs,
        keep_set=keep_set,
        devices=list_devices(request, purpose),
        scenarios=tuple(scenarios),
        proven=tuple(proven),
        applications=applications_used,
        speaks=purpose is JobPurpose.RECORD and functions.speaks(request),
        times=describe_times(session) if purpose is JobPurpose.TIME else None,
    )
    write_atomically(to / BUNDLE_FILE, dump(bundle))
    return bundle


def _list_builds(session: Session, purpose: JobPurpose) -> Mapping[Variant, StageFolder]:
    trimmed = (Variant.REGION, Variant.REDUCED) if session.config.perf.trimming else ()
    wanted = {
        JobPurpose.VERIFY: (Variant.PLAIN, Variant.PROFILE, Variant.REDUCED),
        JobPurpose.TRACE: (Variant.PLAIN, Variant.PROFILE),
        JobPurpose.RECORD: (),
        JobPurpose.TIME: (Variant.PLAIN, Variant.BASE, *trimmed),
    }
    return {
        variant: session.done[task]
        for task, variant in _PROGRAMS.items()
        if task in session.done and variant in wanted[purpose]
    }


def _forms(name: str, session: Session, purpose: JobPurpose) -> Iterator[tuple[str, Path]]:
    builds = _list_builds(session, purpose)
    links = session.done.get(LINKED)
    if purpose is JobPurpose.RECORD and links is not None:
        holder = applications.find_holder(name, session)
        recording = {
            Link.UNFOLDED: linking.locate_unstripped(Link.UNFOLDED, name),
            Link.PROBED: linking.locate_unstripped(Link.PROBED, name),
            OBSERVABLES: linking.observables(holder),
        }
        for label, path in recording.items():
            if path in links.files:
                yield label, links.file(path)
    for variant, build in builds.items():
        if variant is not Variant.BASE or applications.is_built(name, session, BASE):
            yield variant, binary(build, name)
    if Variant.REDUCED not in builds:
        return
    rest = f"{applications.find_holder(name, session)}{REST_SUFFIX}"
    if f"bin/{rest}" in builds[Variant.REDUCED].files:
        yield REST, binary(builds[Variant.REDUCED], rest)
    if purpose is not JobPurpose.VERIFY:
        return
    # A device cannot ask for the link where a trap wants it.
    if files := trap_diagnosis.named_files(name, session):
        yield from zip((Link.NAMED, DROPPED), files, strict=True)


def _applications(
    session: Session, purpose: JobPurpose, put: Callable[[Path], str]
) -> Iterator[BundleApplication]:
    used = {scenario.settings.application for scenario in all_scenarios(session.config)}
    for name in sorted(name for name in used if name is not None):
        names = applications.companion_files(name, session)
        forms = dict(_forms(name, session, purpose))
        programs = {label: put(path) for label, path in forms.items()}
        companions = {}
        for label, path in forms.items():
            if names and path.name == name:
                companions[label] = {file: put(path.with_name(file)) for file in names}
        yield BundleApplication(name=name, programs=programs, companions=companions)


def list_devices(request: TrimRequest, purpose: JobPurpose) -> tuple[BundleDevice, ...]:
    config = request.config
    cpus = {cpu_class.name: cpu_class.qemu_cpu or "max" for cpu_class in config.classes}
    on_runners = [
        BundleDevice(
            name=device.name,
            kind=device.kind,
            cpu_class=device.class_,
            qemu_cpu=cpus[device.class_],
            runner=True,
            settings=device.settings,
            hosted=device.class_ in config.hosted_classes,
        )
        for device in config.devices
        if device.runner
    ]
    automatic = [
        BundleDevice(
            name=f"auto-{name}", kind="auto", cpu_class=name, qemu_cpu=cpus[name], runner=False
        )
        for name in sorted(cpus.keys() - runner_classes(request))
        if purpose in (JobPurpose.TRACE, JobPurpose.RECORD)
    ]
    return (*on_runners, *automatic)


def _scenario(
    scenario: Scenario,
    bound_to: str,
    session: Session,
    purpose: JobPurpose,
    put: Callable[[Path], str],
) -> BundleScenario:
    settings = scenario.settings
    loaded = session.request.loaded
    searches = purpose is JobPurpose.TRACE and scenario.searches
    known = not scenario.searches or cache_task(scenario, session.config) in session.done
    cache = cache_of(scenario, session) if known and not searches else None
    inputs = tuple(
        BundleInput(name=name, file=put(session.request.path(path)), suffix=path.suffix)
        for name, path in sorted(settings.inputs.items())
    )
    link = None
    if purpose is JobPurpose.RECORD:
        link = linking.identities(session.results)[applications.holder_of(scenario, session)]
    try:
        model = None
        if scenario.model is not None:
            model = put(session.request.path(scenario.model.file))
        stdin = scenario.files.get(STDIN)
        cache_digest = None if cache is None else put(cache)
        made = BundleScenario(
            id=scenario.id,
            cpu_class=scenario.cpu_class.name,
            model=model,
            arguments=settings.args,
            inputs=inputs,
            threads=settings.threads,
            tolerance=settings.allowed,
            timeout_s=settings.timeout_s,
            cache=cache_digest,
            search=searches,
            binding=bound_to,
            application=settings.application or "",
            environment=settings.variables,
            link=link,
            stdin=None if stdin is None else put(session.request.path(stdin)),
            judgement=scenario.judgement,
        )
        # A configuration allows more than a runner takes from another machine.
        decode(BundleScenario, encode(made), scenario.id)
    except (InputError, ValueError) as error:
        msg = f"{loaded.where(*scenario.path)}: {error}"
        hint = "change it in the configuration: devices on runners take nothing else"
        raise InputError(msg, hint=hint) from None
    return made


def _put(to: Path, source: Path) -> str:
    digest = sha256_file(source)
    target = to / limits.FILES / digest
    if not target.exists():
        with guard_write(target):
            shutil.copyfile(source, target)
    return digest


def _clear(to: Path) -> None:
    with guard_write(to):
        if to.is_symlink() or (to.exists() and not to.is_dir()):
            msg = f"--to {to}: found no folder, expected a new or an empty one"
            raise InputError(msg)
        if to.is_dir() and any(to.iterdir()):
            if not _is_bundle(to):
                msg = f"--to {to}: found a folder with other files, expected a new or an empty one"
                raise InputError(msg)
            shutil.rmtree(to)
        (to / limits.FILES).mkdir(parents=True)


def _is_bundle(folder: Path) -> bool:
    """Tell whether there is a bundle, and nothing else."""
    files = folder / limits.FILES
    if "purpose" not in read_object(folder / BUNDLE_FILE) or files.is_symlink():
        return False
    others = {each.name for each in folder.iterdir()} - {BUNDLE_FILE, files.name}
    return not others and all(_DIGEST.fullmatch(each.name) for each in files.iterdir())
