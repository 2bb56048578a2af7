"""From options to a :class:`~megtrim.core.chain.session.Session` with its services."""

import os
import platform
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import Origin, Relocations, Toolchain, Variant
from megtrim.core.chain.filenames import FINAL_FOLDER
from megtrim.core.chain.graph import BASE, BASE_REDUCED, PLAIN, REDUCED, Stage, task_name
from megtrim.core.chain.made_of import MadeOf
from megtrim.core.chain.result_store import StageFolder, Store
from megtrim.core.chain.session import Services, Session, TaskResults, TrimRequest, open_durations
from megtrim.core.checks.invocation import DEFAULT_OUT, Options
from megtrim.core.cli.clock import read_today
from megtrim.core.cli.echo import open_console
from megtrim.core.cli.environment import (
    is_in_job,
    is_in_workflow,
    open_processes,
    read_invocation,
    read_private,
)
from megtrim.core.cli.options import expect_writable
from megtrim.core.cli.session.build_host import (
    attach_image,
    open_compiler_cache,
    open_place,
    sysroot_here,
)
from megtrim.core.cli.session.device_specs import (
    NEAR,
    POOLED,
    DeviceDefaults,
    make_device_specs,
    make_up,
    standing_for,
    sysroot_of,
)
from megtrim.core.cli.session.made_inputs import make_inputs
from megtrim.core.cli.session.made_of import gather
from megtrim.core.cli.session.origin import explain_refusal, is_in_git, list_untracked, read_origin
from megtrim.core.cli.session.preflight import (
    expect_known_folders,
    expect_known_options,
    expect_repeatable,
    expect_runnable_models,
    expect_usable_files,
    list_named_files,
)
from megtrim.core.config.kinds import BLOCKS, LINK, name_source
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.config.model import Config
from megtrim.core.evidence.evidence import JobPurpose, read_brought
from megtrim.core.parts import find_parts, load
from megtrim.core.project import Project, find_kind
from megtrim.core.size import stage as size
from megtrim.core.trim import committed_keepset
from megtrim.core.trim.builds import applications, size_options, switches, variants
from megtrim.core.trim.results import BuildResult, ReduceResult
from megtrim.libs.util.console import Console
from megtrim.libs.util.environment import describe_ignored
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.images.docker import expect_fixed
from megtrim.places.compile.projects import checkout
from megtrim.places.compile.projects.builder import Builder
from megtrim.places.compile.projects.checkout import Checkout
from megtrim.places.compile.projects.cmake.driver import expect_plain
from megtrim.places.compile.projects.recorded.builder import IdleBuilder, RecordedBuilder
from megtrim.places.compile.toolchains import kinds as toolchain_kinds
from megtrim.places.compile.toolchains import recorded, splitting
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices import qemu, relocation_support
from megtrim.places.devices.counting import CountingEmulator
from megtrim.places.devices.device import Device

KeepReached = Callable[[Options, LoadedConfig, Console], LoadedConfig]
LeaveSizes = Callable[[Options, LoadedConfig, Origin, MadeOf | None, ProcessRunner, Console], Path]


def open_session(options: Options, *, writes: bool = True, commands: bool = False) -> Session:
    """``writes``: whether anything goes to ``--out``. ``commands``: whether the commands of
    ``engine.build`` may be started, which is said by verbs whose purpose is to build.
    """
    _refuse_contradictions(options)
    if writes:
        expect_writable(options.out)
    console = open_console(quiet=options.quiet)
    loaded = load_config(options.config, engine_source=options.engine, quick=options.quick)
    loaded = make_inputs(loaded)
    script = loaded.config.toolchain.kind == "ndk"
    expect_plain(options.results, "--out", script=script, hint="name another folder of results")
    if options.reached:
        keep_reached: KeepReached = load(find_parts().reached, "releases")
        loaded = keep_reached(options, loaded, console)
    loaded = loaded.keeping(options.kept)
    expect_usable_files(loaded)
    if not (options.quick or options.committed):
        committed_keepset.expect_readable(loaded, accept=options.accept)
    for warning in loaded.warnings:
        console.warn(warning)
    processes = open_processes()
    processes.places = (options.results,)
    if ignored := describe_ignored(processes.env):
        console.warn(ignored)
    console.note("reading the source")
    engine = open_engine(loaded, processes)
    expect_known_options(loaded, engine)
    if options.committed:
        expect_repeatable(loaded)
        # Refused now, not after an hour of building.
        committed_keepset.read_committed(loaded, engine)
    warnings = expect_runnable_models(loaded, engine)
    console.note("looking for compilers and devices")
    place = _place(loaded, processes, options)
    toolchain = attach_image(find_toolchain(loaded, place), place)
    if toolchain.ndk:
        expect_plain(Path(toolchain.ndk), "the NDK", script=True, hint="move it to a folder")
    own = open_applications(loaded, processes)
    trees = (engine.checkout, *own.values())
    made_of = None
    if writes:
        options, made_of = settle_baseline(options, loaded, trees, toolchain, processes, console)
    jobs = options.jobs or loaded.config.toolchain.jobs or os.cpu_count() or 1
    devices, emulators = _devices(loaded, toolchain, (processes, place), options, console)
    base = _find_base(options, console)
    request = _make_request(options, loaded, processes, console, has_base=bool(base))
    request = replace(request, made_of=made_of)
    setting = f"{loaded.config.engine.kind} {toolchain.kind} {toolchain.target} {jobs}"
    open_builder = _choose_builder(loaded.config, commands=commands)
    services = Services(
        engine=engine,
        toolchain=toolchain,
        builder=open_builder(
            engine.checkout,
            toolchain,
            place,
            jobs=jobs,
            cache=open_compiler_cache(processes.env, console.warn, recompile=options.recompile),
        ),
        durations=open_durations(processes.env, setting),
        devices=devices,
        emulators=emulators,
        store=Store(options.results, earlier=options.reuse, say=console.say, warn=console.warn),
        console=console,
        applications=own,
    )
    results = TaskResults(done=base)
    session = Session(request=request, services=services, results=results)
    expect_known_folders(loaded, trees)
    applications.expect_buildable(session)
    applications.expect_testable(session)
    for warning in (*warnings, *applications.warn_of_libraries(session)):
        console.warn(warning)
    _expect_usable_by_parts(session)
    switches.expect_switchable(session, variants.make_spec(session, Variant.PLAIN, {}))
    size_options.expect_usable(session)
    return session


def _choose_builder(config: Config, *, commands: bool) -> type[Builder]:
    if config.engine.kind != LINK:
        return Builder
    return RecordedBuilder if commands else IdleBuilder


def _expect_usable_by_parts(session: Session) -> None:
    for place in find_parts().preflights:
        expect: Callable[[Session], None] = load(place, "its checks")
        expect(session)


def settle_baseline(
    options: Options,
    loaded: LoadedConfig,
    trees: Collection[Checkout],
    toolchain: Toolchain,
    processes: ProcessRunner,
    console: Console,
) -> tuple[Options, MadeOf | None]:
    """Return the options with the baseline that they name, and what the trim is to be made of.

    In a job, that is not known: whoever proposes a change may plant a pass there.
    """
    origin = read_origin(loaded.path, processes, name=options.config.name)
    made_of = None
    if not is_in_job():
        made_of = gather(loaded, options, origin, trees, toolchain, processes)
    if options.against is None:
        return options, made_of
    leave_sizes: LeaveSizes = load(find_parts().against, "--against")
    baseline = leave_sizes(options, loaded, origin, made_of, processes, console)
    return replace(options, baseline=baseline), made_of


def _make_request(
    options: Options,
    loaded: LoadedConfig,
    processes: ProcessRunner,
    console: Console,
    *,
    has_base: bool,
) -> TrimRequest:
    invocation = read_invocation(options, keep_set=loaded.config.keep_set)
    traces = options.traces
    brought = read_brought(traces, config=invocation.config) if traces else {}
    named = list_named_files(loaded)
    name = options.config.name
    origin = read_origin(loaded.path, processes, name=name, named=named)
    refusal = "" if origin.commit else explain_refusal(loaded.path.parent, processes)
    if refusal:
        console.warn(f"reports name no commit: {refusal}")
    final = "" if is_in_workflow() else f"{invocation.out or DEFAULT_OUT}/{FINAL_FOLDER}"
    keep_set = loaded.resolve(loaded.config.keep_set)
    # It decides on the next step, which is for the person who finds the programs.
    in_git = is_in_git(loaded.path.parent, keep_set, processes) if final else None
    digest = committed_keepset.digest_committed(loaded) if in_git else ""
    request = TrimRequest(
        loaded=loaded,
        options=options,
        today=read_today(),
        origin=origin,
        remembers=not is_in_job(),
        private=read_private(),
        base=(options.base_name or str(options.base)) if has_base else "",
        invocation=invocation,
        final=final,
        uncommitted=list_untracked(loaded.path.parent, named, processes) if final else (),
        committed_keep_set=None if in_git is None else digest,
        traced=brought.get(JobPurpose.TRACE, {}),
        recorded=brought.get(JobPurpose.RECORD, {}),
    )
    size.expect_usable_baseline(request)
    return request


def _find_base(options: Options, console: Console) -> dict[str, StageFolder]:
    """Return the builds of an earlier commit by task: none without its plain build."""
    if options.base is None:
        return {}
    store = Store(options.base.resolve())
    name = task_name(PLAIN)
    found = store.previous(Stage.BUILD, BuildResult, name)
    if found is None:
        other = store.holds_foreign(Stage.BUILD, name)
        held = "a plain build of another version of megtrim" if other else "no plain build"
        console.warn(f"{options.base} contains {held}: nothing is compared with an earlier one")
        return {}
    reduced = store.previous(Stage.REDUCE, ReduceResult, task_name(REDUCED))
    return {BASE: found, **({BASE_REDUCED: reduced} if reduced else {})}


def _are_same(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve()


def _refuse_contradictions(options: Options) -> None:
    if options.against is not None and options.baseline is not None:
        msg = "--against and --baseline both name what growth is measured against"
        raise InputError(msg, hint="leave one of them out")
    # The size check leaves the merge base's programs where it then trims, once.
    if options.base is not None and not is_in_workflow() and _are_same(options.base, options.out):
        msg = f"--base: found {options.base}, expected a folder that this run does not fill"
        hint = "trim the earlier commit with another --out, and name that folder"
        raise InputError(msg, hint=hint)
    if options.committed and options.quick:
        msg = "--quick records which functions run: it cannot be combined with --committed"
        raise InputError(msg, hint="leave one of them out")
    if options.committed and (options.accept or options.traces):
        msg = "--committed uses the keep set as it is: leave out --accept and --traces"
        raise InputError(msg)
    if options.quick and (options.accept or options.traces):
        msg = "--quick does not touch the committed keep set: leave out --accept and --traces"
        raise InputError(msg)


def find_toolchain(loaded: LoadedConfig, processes: ProcessRunner) -> Toolchain:
    """Where qemu is missing, ``auto`` takes one for this machine. Raises InputError."""
    emulated = qemu.program(processes) is not None
    relocations = loaded.config.trim.relocations or Relocations.NONE
    if loaded.config.engine.kind == LINK:
        return recorded.find(loaded.config.engine.compiler, processes)
    wanted = loaded.config.toolchain
    if loaded.config.trim.level == BLOCKS:
        wanted = splitting.choose(wanted, processes)
    return toolchain_kinds.find(wanted, processes, relocations, emulated=emulated)


def open_engine(loaded: LoadedConfig, processes: ProcessRunner) -> Project:
    config = loaded.config.engine
    kind = find_kind(config.kind)
    source = kind.find_embedded() if config.source is None else loaded.resolve(config.source)
    if source is None:
        msg = f"{loaded.where('engine')}: an engine of kind {config.kind} needs a source"
        raise InputError(msg, hint="set engine.source, or pass --engine PATH")
    keep_set = loaded.resolve(loaded.config.keep_set)
    project = kind(source, processes, keep_set)
    project.choose(config)
    return project


def open_applications(loaded: LoadedConfig, processes: ProcessRunner) -> dict[str, Checkout]:
    keep_set = loaded.resolve(loaded.config.keep_set)
    return {
        application.name: checkout.take(
            loaded.resolve(application.source), processes, without=keep_set
        )
        for application in loaded.config.applications
        if application.source is not None
    }


def describe(session: Session) -> None:
    services = session.services
    console = session.console
    identity = services.engine.identity()
    toolchain = services.toolchain
    commit = f" at {identity.commit[:12]}" if identity.commit else ""
    what = name_source(identity.kind)
    console.say(f"{what:<11}{identity.kind}{commit}, digest {identity.digest[:12]}")
    if identity.dirty:
        shown = ", ".join(identity.dirty[:3])
        more = f" and {len(identity.dirty) - 3} more" if len(identity.dirty) > 3 else ""
        console.warn(f"the source differs from its commit: {shown}{more}")
    console.say(f"toolchain  {toolchain.kind} {toolchain.version} for {toolchain.target}")
    for line in size_options.lines(session):
        console.say(line)
    for name, device in sorted(services.devices.items()):
        facts = ", ".join(f"{label} {value}" for label, value in sorted(device.facts().items()))
        console.say(f"device     {device.name} ({device.kind}) for class {name}: {facts}")


def _place(loaded: LoadedConfig, processes: ProcessRunner, options: Options) -> ProcessRunner:
    reference = options.image or loaded.config.toolchain.image
    if options.no_docker or not reference:
        return open_place(None, processes, results=options.results, readable=())
    if processes.env.get("GITHUB_ACTIONS") == "true":
        source = "--image" if options.image else "toolchain.image"
        expect_fixed(reference, source=source)
    sysroots = [sysroot_of(device, loaded) for device in loaded.config.devices]
    readable = [path for path in sysroots if path is not None]
    return open_place(reference, processes, results=options.results, readable=readable)


def _devices(
    loaded: LoadedConfig,
    toolchain: Toolchain,
    places: tuple[ProcessRunner, ProcessRunner],
    options: Options,
    console: Console,
) -> tuple[dict[str, Device], dict[str, CountingEmulator]]:
    processes, place = places
    standing = standing_for(loaded, options.device)
    far = any(entry.kind in POOLED for entries in standing.values() for entry in entries)
    around = DeviceDefaults(
        processes=processes,
        scratch=options.results / "runs",
        machine=toolchain.machine,
        sysroot=sysroot_here(toolchain, place, options.results) if far else None,
        say=console.say,
        near=place,
        near_sysroot=toolchain.sysroot,
    )
    made: dict[str, Device] = {}
    for name, entries in standing.items():
        specs = [spec for _, spec in make_device_specs(loaded, around, entries)]
        made[name] = device_kinds.make_all(entries[0].kind, specs, native=platform.machine())
        if loaded.config.trim.relocations is Relocations.RELR and not toolchain.api:
            for spec in specs:
                relocation_support.expect_loads(made[name].kind, spec)
    # Work is counted as on an emulated device of the class, whichever device it has.
    near = {each.class_: each for each in loaded.config.devices if each.kind in NEAR}
    names = (each.name for each in loaded.config.classes)
    emulated = (near.get(name) or make_up("qemu", name) for name in names)
    compilers = (("cc",), ("gcc",), ("clang",), toolchain.c_compiler)
    return made, {
        entry.class_: CountingEmulator(spec=spec, compilers=compilers)
        for entry, spec in make_device_specs(loaded, around, emulated)
    }
