"""From a context whose programs are built to the bundle that device jobs get.

What is asked of devices, and what is left out because a proof of exactly it is young enough, is
decided here alone: the matrix of jobs and the bundle agree by construction.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from megtrim.build_spec import Link, Variant
from megtrim.config.device import DeviceConfig
from megtrim.config.model import Config
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.errors import InputError
from megtrim.evidence import validation
from megtrim.evidence.bundle import (
    BUNDLE_FILE,
    DROPPED,
    OBSERVABLES,
    Bundle,
    BundleApplication,
    BundleInput,
    BundleScenario,
    JobPurpose,
    ProvenScenario,
    binding,
    dump_bundle,
)
from megtrim.evidence.device import (
    BundleCoolDown,
    BundleDevice,
    BundlePower,
    BundleSettings,
)
from megtrim.evidence.evidence import EvidenceSet
from megtrim.evidence.proofs import newest
from megtrim.pipeline.building import links as linking
from megtrim.pipeline.building import programs
from megtrim.pipeline.filenames import KEEP_SET_FILE
from megtrim.pipeline.running import symbolizing_link
from megtrim.pipeline.running.scenario_runs import cache_of
from megtrim.pipeline.session import Context, binary
from megtrim.plan.graph import (
    LINKED,
    PLAIN,
    PROFILE,
    REDUCED,
    keep_task,
    search_task,
    trims_functions,
    trims_plain_build,
)
from megtrim.stages import functions, profile, verify
from megtrim.store import StageFolder, cannot_write, sha256_file

_PROGRAMS = {PLAIN: Variant.PLAIN, PROFILE: Variant.PROFILE, REDUCED: Variant.REDUCED}
_NOTHING_ELSE = "change it in the configuration: devices on runners take nothing else"
_ANY_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What devices are asked for: each scenario with its binding."""

    asked: tuple[tuple[Scenario, str], ...]
    proven: tuple[tuple[Scenario, str], ...]
    """Left out for a proof."""

    def counts(self, *, runners: frozenset[str], on_runners: bool) -> dict[str, int]:
        """Return how many are asked of each class that a runner's device stands for, or not."""
        names = (scenario.cpu_class.name for scenario, _ in self.asked)
        return dict(Counter(name for name in names if (name in runners) is on_runners))


def purpose_of(config: Config, *, proves: bool, functions: bool) -> JobPurpose:
    """Return what devices are for: to prove what was made, else to tell what runs.

    That is regions first; ``functions`` are next where they are trimmed, and first where nothing
    is traced.
    """
    if proves:
        return JobPurpose.VERIFY
    record = trims_plain_build(config) or (functions and trims_functions(config))
    return JobPurpose.RECORD if record else JobPurpose.TRACE


def missing(context: Context, purpose: JobPurpose) -> tuple[str, ...]:
    """Return those tasks of :func:`list_required_tasks` that are not done."""
    every = list_required_tasks(context.loaded.config, purpose)
    return tuple(task for task in every if task not in context.done)


def list_required_tasks(config: Config, purpose: JobPurpose) -> tuple[str, ...]:
    """Return the ids of the tasks that make what devices get."""
    match purpose:
        case JobPurpose.TRACE:
            return PLAIN, PROFILE
        case JobPurpose.RECORD:
            return (LINKED,)
        case JobPurpose.VERIFY:
            return PLAIN, keep_task(config), REDUCED


def runner_classes(context: Context) -> frozenset[str]:
    """Return the CPU classes that a device on a runner stands for."""
    return frozenset(each.class_ for each in context.loaded.config.devices if each.runner)


def select(context: Context, purpose: JobPurpose, proofs: EvidenceSet) -> Selection:
    """Return what devices are asked for; nothing where its programs are not built.

    To trace or to record, all scenarios are; to verify, those of classes with a device on a runner.
    """
    if missing(context, purpose):
        return Selection(asked=(), proven=())
    every = tuple(all_scenarios(context.loaded.config))
    if purpose is JobPurpose.TRACE:
        bound = ((each, binding(profile.named_inputs(each, context))) for each in every)
        return Selection(asked=tuple(bound), proven=())
    if purpose is JobPurpose.RECORD:
        return Selection(asked=tuple(_bind_linked_scenarios(context)), proven=())
    runners, known = runner_classes(context), newest(proofs.entries)
    devices = tuple(_devices(context, purpose))
    max_age_s = context.loaded.config.verify.max_age_s
    asked: list[tuple[Scenario, str]] = []
    proven: list[tuple[Scenario, str]] = []
    for each in every:
        ready = not each.searches or search_task(each) in context.done
        if each.cpu_class.name not in runners or not ready:
            continue
        bound_to = binding(verify.named_inputs(each, context))
        proof = known.get(each.id)
        fresh = (
            proof is not None
            and proof.result.binding == bound_to
            and proof.is_young(context.today, max_age_s)
            and proof.is_within(each.settings.allowed)
            and any(
                device.is_machine(proof.evidence.cpu_class, proof.evidence.device)
                for device in devices
            )
        )
        (proven if fresh else asked).append((each, bound_to))
    return Selection(asked=tuple(asked), proven=tuple(proven))


def _bind_linked_scenarios(context: Context) -> Iterator[tuple[Scenario, str]]:
    """Yield each scenario of a program that is linked again.

    Raises InputError for one that runs with an algorithm cache that nobody has yet.
    """
    links = linking.identities(context)
    for each in all_scenarios(context.loaded.config):
        if programs.name_of(each, context) not in links:
            continue
        if each.searches and search_task(each) not in context.done:
            where = f"{context.loaded.path}:{context.loaded.line(*each.path, 'fast_run')}"
            msg = f"{where}: {each.id} searches for algorithms, which is done where it is traced"
            hint = "name the cache that a trim records as algo_cache"
            raise InputError(msg, hint=hint, command=("trim",))
        yield each, binding(functions.named_inputs(each, context))


def expect_packable(context: Context) -> None:
    """Refuse scenarios for devices on runners that no bundle takes.

    Found only when it is packed, after the verdict, that would leave the devices out without
    anybody being told to stop. Raises InputError naming the line.
    """
    runners = runner_classes(context)
    for each in all_scenarios(context.loaded.config):
        if each.cpu_class.name not in runners:
            continue
        try:
            # As for traces: nothing has been searched for yet.
            _scenario(each, _ANY_DIGEST, context, JobPurpose.TRACE, lambda _path: _ANY_DIGEST)
        except ValueError as error:
            msg = f"{context.loaded.path}:{context.loaded.line(*each.path)}: {error}"
            raise InputError(msg, hint=_NOTHING_ELSE) from None


def pack(context: Context, purpose: JobPurpose, proofs: EvidenceSet, to: Path) -> Bundle:
    """Write the bundle to ``to``, a new or empty folder, and return it.

    A bundle that is there already is replaced. Where functions are trimmed, the link that names
    them is made now if need be.
    """
    selection = select(context, purpose, proofs)
    if not selection.asked:
        context = replace(context, make=None)  # nothing is linked for devices that run nothing
    _clear(to)
    put = _Files(to)
    keep_set = None
    kept = context.done.get(keep_task(context.loaded.config))
    if purpose is JobPurpose.VERIFY and kept is not None:
        keep_set = put(kept.file(KEEP_SET_FILE))
    sysroot = context.toolchain.sysroot
    try:
        bundle = Bundle(
            purpose=purpose,
            target=context.loaded.config.engine.target,
            machine=context.toolchain.machine,
            sysroot=str(sysroot) if sysroot else "",
            generation=context.engine.identity().generation,
            max_age_s=context.loaded.config.verify.max_age_s,
            programs=_programs(context, purpose, put),
            keep_set=keep_set,
            devices=tuple(_devices(context, purpose)),
            scenarios=tuple(
                _scenario(each, bound, context, purpose, put) for each, bound in selection.asked
            ),
            proven=tuple(
                ProvenScenario(id=each.id, cpu_class=each.cpu_class.name, binding=bound)
                for each, bound in selection.proven
            ),
            applications=tuple(_applications(context, purpose, put)),
            speaks=purpose is JobPurpose.RECORD and functions.speaks(context),
        )
    except ValueError as error:
        msg = f"{context.loaded.path}: {error}"
        raise InputError(msg, hint=_NOTHING_ELSE) from None
    try:
        (to / BUNDLE_FILE).write_text(dump_bundle(bundle), encoding="utf-8")
    except OSError as error:
        raise cannot_write(to, error) from None
    return bundle


def _builds(context: Context, purpose: JobPurpose) -> Mapping[Variant, StageFolder]:
    wanted = {
        JobPurpose.VERIFY: (Variant.PLAIN, Variant.PROFILE, Variant.REDUCED),
        JobPurpose.TRACE: (Variant.PLAIN, Variant.PROFILE),
        JobPurpose.RECORD: (),
    }
    return {
        variant: context.done[task]
        for task, variant in _PROGRAMS.items()
        if task in context.done and variant in wanted[purpose]
    }


def _programs(
    context: Context, purpose: JobPurpose, put: Callable[[Path], str]
) -> tuple[tuple[str, str], ...]:
    config = context.loaded.config
    if not config.runs_engine:
        return ()
    return tuple(_forms(config.engine.target, context, purpose, put))


def _forms(
    name: str, context: Context, purpose: JobPurpose, put: Callable[[Path], str]
) -> Iterator[tuple[str, str]]:
    """Yield a program in each variant, and the links of it that tell of its functions."""
    builds = _builds(context, purpose)
    if purpose is JobPurpose.RECORD:
        yield from _telling(name, context, put)
    for variant, build in builds.items():
        yield variant, put(binary(build, name))
    # A device cannot ask for the link where a trap wants it.
    if Variant.REDUCED in builds and (files := symbolizing_link.named_files(name, context)):
        yield from zip((Link.NAMED, DROPPED), map(put, files), strict=True)


def _telling(name: str, context: Context, put: Callable[[Path], str]) -> Iterator[tuple[str, str]]:
    """Yield the links of a program that tell which functions run, and which can be observed."""
    if LINKED not in context.done:
        return
    for label in (Link.UNFOLDED, Link.PROBED):
        program = linking.locate_unstripped(label, name)
        if program in context.done[LINKED].files:
            yield label, put(context.done[LINKED].file(program))
    observed = linking.observables(name)
    if observed in context.done[LINKED].files:
        yield OBSERVABLES, put(context.done[LINKED].file(observed))


def _applications(
    context: Context, purpose: JobPurpose, put: Callable[[Path], str]
) -> Iterator[BundleApplication]:
    """Yield the applications that scenarios run, each with what must lie beside it."""
    used = {each.settings.application for each in all_scenarios(context.loaded.config)}
    if purpose is JobPurpose.RECORD:
        used &= {*programs.linked_again(context)}
    for name in sorted(name for name in used if name is not None):
        yield BundleApplication(
            name=name,
            programs=tuple(_forms(name, context, purpose, put)),
            beside=tuple(
                (variant, file, put(binary(build, file)))
                for variant, build in _builds(context, purpose).items()
                for file in programs.companion_files(name, context)
            ),
        )


def _devices(context: Context, purpose: JobPurpose) -> Iterator[BundleDevice]:
    """Yield the devices on runners; if not to verify, each other class has an automatic one."""
    config = context.loaded.config
    cpus = {each.name: each.qemu_cpu or "max" for each in config.classes}
    for each in config.devices:
        if each.runner:
            yield BundleDevice(
                name=each.name,
                kind=each.kind,
                cpu_class=each.class_,
                qemu_cpu=cpus[each.class_],
                runner=True,
                settings=_settings(each),
            )
    if purpose is JobPurpose.VERIFY:
        return
    for name in sorted(cpus.keys() - runner_classes(context)):
        yield BundleDevice(
            name=f"auto-{name}", kind="auto", cpu_class=name, qemu_cpu=cpus[name], runner=False
        )


def _settings(device: DeviceConfig) -> BundleSettings:
    """Return what a runner must know of its device; paths are those of the runner."""
    power, cool_down = device.power, device.cool_down
    return BundleSettings(
        sysroot=str(device.sysroot or ""),
        serial=device.serial or "",
        match=tuple(sorted(device.match.items())),
        host=device.host or "",
        port=device.port,
        user=device.user or "",
        key=str(device.key or ""),
        known_hosts=str(device.known_hosts or ""),
        power=None if power is None else BundlePower(hub=power.hub, port=power.port),
        cool_down=None
        if cool_down is None
        else BundleCoolDown(below_c=cool_down.below_c, within_s=cool_down.within_s),
        governor=device.governor or "",
        cpus=device.cpus or "",
    )


def _scenario(
    scenario: Scenario,
    bound_to: str,
    context: Context,
    purpose: JobPurpose,
    put: Callable[[Path], str],
) -> BundleScenario:
    settings = scenario.settings
    searches = purpose is JobPurpose.TRACE and scenario.searches
    cache = None if searches else cache_of(scenario, context)
    inputs = sorted(settings.inputs.items())
    return BundleScenario(
        id=scenario.id,
        cpu_class=scenario.cpu_class.name,
        model=put(context.path(scenario.model.file)),
        arguments=settings.args,
        inputs=tuple(
            BundleInput(name=name, file=put(context.path(path)), suffix=path.suffix)
            for name, path in inputs
        ),
        threads=settings.threads,
        tolerance=settings.allowed,
        timeout_s=settings.timeout_s,
        cache=None if cache is None else put(cache),
        search=searches,
        binding=bound_to,
        application=settings.application or "",
        link=_link(scenario, context) if purpose is JobPurpose.RECORD else None,
    )


def _link(scenario: Scenario, context: Context) -> str:
    return linking.identities(context)[programs.name_of(scenario, context)]


class _Files:
    """Copies files into the bundle under their digests, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / validation.FILES

    def __call__(self, source: Path) -> str:
        digest = sha256_file(source)
        target = self._folder / digest
        if not target.exists():
            try:
                shutil.copyfile(source, target)
            except OSError as error:
                raise cannot_write(target, error) from None
        return digest


def _clear(to: Path) -> None:
    try:
        if to.is_symlink() or (to.exists() and not to.is_dir()):
            msg = f"--to {to}: found no folder, expected a new or an empty one"
            raise InputError(msg)
        if to.is_dir() and any(to.iterdir()):
            if not (to / BUNDLE_FILE).is_file():
                msg = f"--to {to}: found a folder with other files, expected a new or an empty one"
                raise InputError(msg)
            shutil.rmtree(to)
        (to / validation.FILES).mkdir(parents=True)
    except OSError as error:
        raise cannot_write(to, error) from None
