"""What the keys of megtrim.yaml say of each other: names that exist, keys that fit, true limits."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from megtrim.core.build_spec import LOADED_FROM, LOWEST_API, MINIMUM_SIZE, Relocations, Variant
from megtrim.core.components import find_components
from megtrim.core.config.device import EMULATED, KINDS_OF_KEY, PATH_KEYS, DeviceConfig, is_on_runner
from megtrim.core.config.document import Document
from megtrim.core.config.kinds import BLOCKS, LINK, list_built_by
from megtrim.core.config.limits import Budget
from megtrim.core.config.mistakes import (
    Mistake,
    Mistakes,
    find_repeated,
    find_unknown,
    names_of,
)
from megtrim.core.config.model import (
    MINIMUM_SIZE_OPTION,
    OPTIONS,
    Application,
    Config,
)
from megtrim.core.config.problems import KeyPath, Problem, closest, listing, show
from megtrim.core.config.run_checks import (
    check_caches,
    check_commands,
    check_project,
    check_scenarios,
    check_tests,
    list_scenarios,
)
from megtrim.core.config.units import LARGEST_BYTES
from megtrim.core.config.value_types import Limit, Requirement
from megtrim.core.own_program import name_model_file
from megtrim.core.timing.catalogue import list_experiments
from megtrim.libs.programs.application_arguments import STANDARD_FILES

OF_ONE: Mapping[str, str] = {
    "toolchain": "toolchain or toolchains, not both",
    "baseline": "the key baseline of each toolchain",
}
LIMITED = ("classes", "devices", "applications", "models", "scenarios", "budgets", "waivers")
"""Lists whose items, and the scenarios of models, may be for some toolchains alone."""
CLANG = "clang-linux-arm64"
KINDS_OF_TOOLCHAIN_KEY: Mapping[str, tuple[str, ...]] = {
    "prefer": ("auto",),
    "clang": (CLANG, "clang-linux-armhf"),
    **dict.fromkeys(("ndk", "abi", "api", "fp16", "pages", "stl"), ("ndk",)),
}
FUNCTION_KEYS = ("base", "keep", "exports")
COMPILED = ("operators", "layout", "minimum_size", "switches")
"""Keys that only a reduced build obeys."""
GUARD_KEYS = ("errors", "refusals")
"""Keys of ``on_missing: error``."""
PARTS = ("section", "component", "model")
OF_TRIMMED = ("component", "model")
"""Parts that only what ships has, as names are known of that build alone."""

_OURS = ("algo.cache", "dump", "trace.txt", *STANDARD_FILES)
_INPUT = re.compile(r"input\d+(\..*)?")
_SET_PREFIX = "MEGTRIM_ENGINE_"
_SET_OPTIONS = ("CMAKE_BUILD_TYPE", "CMAKE_TOOLCHAIN_FILE")
_ONE_BUDGET = "one of them, in a separate budget"
_OF_ALL_KINDS = ("name", "kind", "class", "runner", "toolchains")


def find_problems(config: Config, document: Document) -> Iterator[Problem]:
    checks = (
        _check_names,
        check_scenarios,
        check_caches,
        check_commands,
        check_project,
        check_tests,
        _check_devices,
        _check_applications,
        _check_toolchain,
        _check_trim,
        _check_switches,
        _check_size_flags,
        _check_budgets,
        _check_perf,
    )
    for check in checks:
        for mistake in check(config, document):
            yield document.problem(*mistake)


def find_toolchain_problems(config: Config, document: Document) -> Iterator[Problem]:
    for mistake in _check_toolchains(config, document):
        yield document.problem(*mistake)


def _check_toolchains(config: Config, document: Document) -> Mistakes:
    yield from find_repeated(document, names_of("toolchains", config.toolchains))
    for key, expected in OF_ONE.items() if config.toolchains else ():
        if key in config.model_fields_set:
            yield Mistake((key,), "a key of one toolchain next to toolchains", expected)
    known = [toolchain.name for toolchain in config.toolchains]
    limited = [((key, i), each) for key in LIMITED for i, each in enumerate(getattr(config, key))]
    every: list[tuple[KeyPath, Any]] = [*limited, *list_scenarios(config)]
    for path, entry in every:
        named = [((*path, "toolchains", i), name) for i, name in enumerate(entry.toolchains)]
        yield from find_repeated(document, named)
        yield from find_unknown(named, known, none="no such key: the file has no toolchains")


def _check_names(config: Config, document: Document) -> Mistakes:
    for key in ("applications", "classes", "devices", "models", "scenarios"):
        yield from find_repeated(document, names_of(key, getattr(config, key)))
    classes = [cpu_class.name for cpu_class in config.classes]
    of_class = [(("devices", i, "class"), each.class_) for i, each in enumerate(config.devices)]
    yield from find_unknown(of_class, classes)
    serials = [
        (("devices", i, "serial"), each.serial)
        for i, each in enumerate(config.devices)
        if each.serial
    ]
    yield from find_repeated(document, serials, expected="each phone once")
    for i, model in enumerate(config.models):
        names = [
            (("models", i, "scenarios", j, "name"), s.name) for j, s in enumerate(model.scenarios)
        ]
        yield from find_repeated(document, names)
    if "artifacts" in document.data:
        artifacts = [(("artifacts", i), name) for i, name in enumerate(config.artifacts)]
        yield from find_repeated(document, artifacts)
        for path, name in artifacts:
            if name.endswith(".a"):
                what = (
                    "the application that links it: an archive is larger than its part of a program"
                )
                yield Mistake(path, show(name), what)


def _check_devices(config: Config, _document: Document) -> Mistakes:
    # An emulator without a CPU of the class would choose kernels that the class does not.
    unplayable = [cpu_class.name for cpu_class in config.classes if cpu_class.qemu_cpu is None]
    for i, device in enumerate(config.devices):
        path: KeyPath = ("devices", i)
        kind = device.kind
        yield from _check_keys_of_kind(path, device)
        if device.runner:
            for key, value in device.paths().items():
                if key in PATH_KEYS and not is_on_runner(str(value)):
                    found = f"{show(str(value))} of a runner's device"
                    expected = "a path that the runner has: /... or ~/..."
                    yield Mistake((*path, key), found, expected)
            if device.class_ in config.hosted_classes and kind != "local":
                found = f"kind {kind} on a machine of GitHub's, as class {device.class_} says"
                yield Mistake((*path, "kind"), found, "kind: local")
        if kind in EMULATED and device.class_ in unplayable:
            found = f"{show(device.class_)}, a class without qemu_cpu, on a device of kind {kind}"
            yield Mistake((*path, "class"), found, "a class with qemu_cpu")


def _check_keys_of_kind(path: KeyPath, device: DeviceConfig) -> Mistakes:
    kind = device.kind
    own = [key for key, kinds in KINDS_OF_KEY.items() if kind in kinds]
    for key, kinds in KINDS_OF_KEY.items():
        if key in device.model_fields_set and kind not in kinds:
            found = f"a key of kind {listing(kinds)} on a device of kind {kind}"
            expected = f"a key of kind {kind}: {listing((*_OF_ALL_KINDS, *own))}"
            yield Mistake((*path, key), found, expected)
    if kind == "adb" and not device.serial and not device.match:
        expected = "serial, or match with the properties that the phone has"
        yield Mistake(path, "a device of kind adb without a phone", expected)
    if kind == "adb" and device.serial and device.match:
        yield Mistake((*path, "match"), "both match and serial", "one of them")
    if kind == "ssh" and not device.host:
        expected = "host, the board's name or address"
        yield Mistake((*path, "host"), "a device of kind ssh without host", expected)


def _check_applications(config: Config, _document: Document) -> Mistakes:
    for i, each in enumerate(config.applications):
        path: KeyPath = ("applications", i)
        if each.name == config.engine.target:
            expected = "another name: that is engine.target"
            yield Mistake((*path, "name"), show(each.name), expected)
        yield from _check_program(((*path, "name"), each.name))
        yield from _check_source(path, each, of_project=config.engine.is_project)
    yield from _check_program((("engine", "target"), config.engine.target))


def _check_program(named: tuple[KeyPath, str]) -> Mistakes:
    path, name = named
    if name in _OURS or name == name_model_file() or _INPUT.fullmatch(name):
        expected = "another name: a file of megtrim's has it where programs run"
        yield Mistake(path, show(name), expected)


def _check_source(path: KeyPath, application: Application, *, of_project: bool) -> Mistakes:
    ways = {"library": "source, or no such key", "cmake": "source, or the key engine.cmake"}
    if of_project:
        del ways["library"]
    for key, expected in ways.items() if application.source is None else ():
        if key in application.model_fields_set:
            found = f"{key} without source, on a target of engine.source"
            yield Mistake((*path, key), found, expected)
    for name in application.cmake:
        if name in _SET_OPTIONS or name.startswith(_SET_PREFIX):
            found = "an option that megtrim sets"
            yield Mistake((*path, "cmake", name), found, "one of the application's own")


def _check_toolchain(config: Config, _document: Document) -> Mistakes:
    toolchain = config.toolchain
    packing = config.trim.relocations
    kind = toolchain.kind
    for key, kinds in KINDS_OF_TOOLCHAIN_KEY.items():
        if kind not in kinds and getattr(toolchain, key):
            of_kinds = " or ".join(kinds)
            found = f"a key of kind {of_kinds} on a toolchain of kind {kind}"
            yield Mistake(("toolchain", key), found, f"kind: {of_kinds}, or no such key")
    if kind != "ndk":
        if packing in LOADED_FROM and (kind, packing) != (CLANG, Relocations.RELR):
            found = f"{show(str(packing))} with a toolchain of kind {kind}"
            expected = f"kind: ndk, or relr with kind: {CLANG}, or none"
            yield Mistake(("trim", "relocations"), found, expected)
        return
    abi = toolchain.abi or "arm64-v8a"
    lowest = LOWEST_API[abi]
    api = toolchain.api or lowest
    if api < lowest:
        yield Mistake(("toolchain", "api"), f"{api} for {abi}", f"{lowest} or higher")
    if toolchain.fp16 and abi != "arm64-v8a":
        yield Mistake(("toolchain", "fp16"), f"fp16 for {abi}", "abi: arm64-v8a")
    needed = LOADED_FROM.get(packing or "", 0)
    if api < needed:
        found = f"{show(str(packing))} for phones from API level {api} on"
        expected = f"toolchain.api of {needed} or higher: an older loader kills the process"
        yield Mistake(("trim", "relocations"), found, expected)


def _check_trim(config: Config, _document: Document) -> Mistakes:
    trim = config.trim
    if trim.crash_ids and trim.layout == "upstream":
        found = "true next to layout: upstream, whose regions trap as the engine's header says"
        yield Mistake(("trim", "crash_ids"), found, "layout: scoped, or no such key")
    if trim.keeps_kernels:
        yield from _check_operators(config)
    for key in () if trim.trims_functions else FUNCTION_KEYS:
        if key in trim.model_fields_set:
            found = "a key that has no effect unless functions are trimmed"
            if trim.keeps_kernels and trim.base == "plain" and key == "base":
                found = "plain next to level: operator, which compiles the engine again"
            yield Mistake(("trim", key), found, "level: function, deferred or blocks")
    if trim.level == BLOCKS:
        yield from _check_blocks(config)
    yield from _check_exports(config)
    for key in COMPILED if trim.trims_functions and trim.base == "plain" else ():
        if key in trim.model_fields_set:
            found = "a key of reduced builds, and base: plain makes none"
            yield Mistake(("trim", key), found, "base: region, or no such key")


def _check_blocks(config: Config) -> Mistakes:
    path = ("trim", "level")
    kind = config.toolchain.kind
    if config.trim.base != "plain":
        found = "blocks next to base: region, whose build is not observed by blocks"
        yield Mistake(path, found, "base: plain, or level: deferred")
    elif config.engine.kind not in list_built_by(LINK) and kind not in ("auto", CLANG):
        found = f"blocks with a toolchain of kind {kind}"
        yield Mistake(path, found, f"toolchain.kind: {CLANG}, or level: deferred")


def _check_exports(config: Config) -> Mistakes:
    trim = config.trim
    run = {each.application for each in config.all_runs}
    shared = [each for each in config.applications if each.is_shared and each.name in run]
    guards = trim.on_missing == "error"
    for key, asked in (("exports", bool(trim.exports)), ("on_missing", guards)):
        if asked and not shared:
            no_user = "no scenario runs an application with library: shared"
            found = f"a key of shared objects, and {no_user}"
            yield Mistake(("trim", key), found, "such a scenario, or no such key")
    if guards:
        yield from _check_guards(config)
        return
    for key in GUARD_KEYS:
        if getattr(trim, key):
            found = "a key that has no effect next to on_missing: trap"
            yield Mistake(("trim", key), found, "on_missing: error, or no such key")


def _check_guards(config: Config) -> Mistakes:
    trim = config.trim
    path = ("trim", "on_missing")
    if trim.level != "function":
        found = f"error next to level: {trim.level}"
        yield Mistake(path, found, "level: function, whose functions alone can be errors")
    if trim.crash_ids:
        found = "error next to crash_ids: true, although an error has its function's name"
        yield Mistake(path, found, "no key crash_ids, or on_missing: trap")
    if config.tests is not None:
        found = "error next to tests, which may pass or trap without the companion file"
        yield Mistake(path, found, "no section tests, or on_missing: trap")
    for at, row in enumerate(trim.refusals):
        if row.message is not None and row.format is not None:
            where = ("trim", "refusals", at, "format")
            yield Mistake(where, "format next to message", "one of both, for it is one argument")
    for at, each in enumerate(config.applications):
        if each.is_shared and each.lto == "full":
            found = "full next to on_missing: error, which needs functions to stay apart"
            yield Mistake(("applications", at, "lto"), found, "lto: none, or on_missing: trap")


def _check_operators(config: Config) -> Mistakes:
    trim = config.trim
    if trim.crash_ids:
        found = "true next to level: operator, which leaves out no region and no function"
        yield Mistake(("trim", "crash_ids"), found, "level: region, or no such key")
    if trim.operators == "all":
        found = "all next to level: operator, which would leave out nothing"
        yield Mistake(("trim", "operators"), found, "level: region, or no such key")


def _check_switches(config: Config, _document: Document) -> Mistakes:
    switches = config.trim.switches
    on = [each for each in MINIMUM_SIZE if getattr(switches, each) is True]
    off = ", ".join(f"{each}: false" for each in MINIMUM_SIZE if each not in on)
    for switch in on if config.trim.minimum_size else ():
        expected = f"minimum_size: false, and each switch that is off{f': {off}' if off else ''}"
        found = "true, which minimum_size: true forces off"
        yield Mistake(("trim", "switches", switch), found, expected)
    # Options of engine.cmake override all others: the switch would have no effect.
    for option in (*OPTIONS.values(), MINIMUM_SIZE_OPTION) if switches.model_fields_set else ():
        if option in config.engine.cmake:
            found = f"{option} together with trim.switches"
            yield Mistake(("engine", "cmake", option), found, "only the keys of trim")


def _check_size_flags(config: Config, _document: Document) -> Mistakes:
    trim = config.trim
    means = config.trim.means
    throws = not trim.minimum_size and trim.switches.exceptions is not False
    if means.unwind_tables is False and throws:
        found = "false while exceptions are on, which unwind by these tables"
        expected = "minimum_size: true, or switches: {exceptions: false}"
        yield Mistake(("trim", "means", "unwind_tables"), found, expected)
    whole = means.lto or ("full" if trim.optimize == "size" else "none")
    if means.virtual_functions is False and whole == "none":
        found = "false without lto: full, because only that sees every call"
        yield Mistake(("trim", "means", "virtual_functions"), found, "lto: full, too")
    asking = [application.name for application in config.applications if application.lto == "full"]
    if means.lto == "none" and asking:
        found = f"none while the application {asking[0]} asks for full"
        yield Mistake(("trim", "means", "lto"), found, "full, or no such key")


def _check_budgets(config: Config, document: Document) -> Mistakes:
    places = [((("budgets", i)), each) for i, each in enumerate(config.budgets)]
    artifacts = [((*path, "artifact"), each.artifact) for path, each in places]
    yield from find_unknown(artifacts, config.artifacts)
    models = [((*path, "model"), each.model) for path, each in places if each.model is not None]
    yield from find_unknown(models, [model.name for model in config.models])
    names = [((*path, "artifact"), each.id) for path, each in places]
    yield from find_repeated(document, names)
    for path, budget in places:
        yield from _check_measure(path, budget)
        yield from _check_limits(document, path, budget)
        yield from _check_share(document, path, budget)
    waivers = [(("waivers", i, "budget"), each.budget) for i, each in enumerate(config.waivers)]
    budgets = [name for _, name in names]
    yield from find_unknown(waivers, budgets, none="a budget that is written above")


def _check_measure(path: KeyPath, budget: Budget) -> Mistakes:
    parts = [key for key in PARTS if getattr(budget, key) is not None]
    for key in parts[1:]:
        yield Mistake((*path, key), f"{key} next to {parts[0]}", _ONE_BUDGET)
    if parts and budget.size != "stripped":
        found = f"size: {show(budget.size)} next to {parts[0]}"
        yield Mistake((*path, "size"), found, _ONE_BUDGET)
    for key in parts:
        if key in OF_TRIMMED and budget.variant is not Variant.REDUCED:
            found = f"{key} of the {show(str(budget.variant))} build"
            yield Mistake((*path, key), found, "variant: reduced, or no such key")
    component = budget.component
    if component is not None and not find_components().is_component(component):
        named = find_components().list_components()
        expected = f"{listing(named)}, or what is below one of them: kernels/x86"
        near = closest(component, named)
        yield Mistake((*path, "component"), show(component), expected, near)


def _check_limits(document: Document, path: KeyPath, budget: Budget) -> Mistakes:
    values = {key: getattr(budget, name) for key, name in Budget.names_by_key().items()}
    limits = Budget.find_marked(Limit)
    if not any(values[key] for key in limits):
        yield Mistake(path, "a budget without a limit", listing(limits))
    for key, limit in limits.items():
        soft = values[key]
        hard = values.get(limit.below)
        if soft is None or not limit.below:
            continue
        written = show(document.value((*path, key)))
        if hard is None and soft.share and limit.takes_share:
            found = f"a share, {written}, of no limit"
            yield Mistake((*path, key), found, f"a size, or {limit.below} as well")
        # A warning is of use only before the failure, as far as the file says.
        elif hard and bool(soft.share and not limit.takes_share) is bool(hard.share):
            whole_bytes = hard.size_bytes if limit.takes_share else LARGEST_BYTES
            if soft.limit_bytes(whole_bytes) >= hard.limit_bytes(whole_bytes):
                found = f"{written}, which is not below {limit.below}"
                share = ", or a share of it" if limit.takes_share else ""
                yield Mistake((*path, key), found, f"a size below {limit.below}{share}")
    for key, required in Budget.find_marked(Requirement).items():
        if values[key] is not None and values[required.key] is None:
            yield Mistake((*path, key), f"a {key} without a limit", f"{required.key} as well")


def _check_share(document: Document, path: KeyPath, budget: Budget) -> Mistakes:
    if budget.max_size is not None and budget.max_size.share:
        by_name = next((key for key in OF_TRIMMED if getattr(budget, key) is not None), None)
        whole = "itself" if budget.variant is Variant.PLAIN else ""
        if by_name or whole:
            written = show(document.value((*path, "max")))
            found = f"{written} of {f'a {by_name}' if by_name else whole}"
            expected = "a size such as 2.5 MiB: the share is of the plain build"
            yield Mistake((*path, "max"), found, expected)


def _check_perf(config: Config, document: Document) -> Mistakes:
    perf = config.perf
    scenarios = [f"{m.name}/{s.name}" for m in config.models for s in m.scenarios]
    scenarios += [command.name for command in config.scenarios]
    known = {
        "experiments": ([each.name for each in list_experiments()], "`megtrim perf list` prints"),
        "scenarios": (scenarios, ""),
        "classes": ([cpu_class.name for cpu_class in config.classes], ""),
    }
    for key in ("experiments", "recipes", "scenarios", "classes"):
        names = [(("perf", key, i), name) for i, name in enumerate(getattr(perf, key) or ())]
        yield from find_repeated(document, names)
        if key in known:
            choices, lister = known[key]
            expected = f"an experiment that {lister}" if lister else ""
            yield from find_unknown(names, choices, expected=expected)
    if perf.history.folder is not None and perf.history.branch is not None:
        path = ("perf", "history", "branch")
        yield Mistake(path, "a branch next to a folder", "folder or branch, not both")
