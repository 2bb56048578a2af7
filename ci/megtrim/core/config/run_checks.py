"""What megtrim.yaml says of scenarios and commands, and of the project that they run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from megtrim.core.config.commands import CommandConfig
from megtrim.core.config.document import Document
from megtrim.core.config.kinds import CMAKE, LINK, find_builder
from megtrim.core.config.mistakes import Mistake, Mistakes, find_repeated, find_unknown
from megtrim.core.config.model import (
    ARCHIVE_SUFFIX,
    Config,
    ScenarioConfig,
    TrimConfig,
    is_shared_object,
)
from megtrim.core.config.own_tests import CLASS_OF_TESTS, id_of_test
from megtrim.core.config.problems import KeyPath, show
from megtrim.libs.programs import application_arguments
from megtrim.libs.util.errors import InputError

OWN_ARGUMENTS: Mapping[str, str] = {
    "--input": "the key inputs in its place",
    "--fast-run": "the key fast_run in its place",
    "--fast-run-algo-policy": "the key algo_cache in its place",
    "--bin_out_dump": "no such argument: verification adds it",
    "--bin-out-dump": "no such argument: verification adds it",
}
"""Arguments that megtrim adds itself, from keys whose files it identifies by digest."""


_NO_SCENARIO = "at least one scenario, or trim: {level: operator}, which needs none"


def list_scenarios(config: Config) -> Iterator[tuple[KeyPath, ScenarioConfig]]:
    for i, model in enumerate(config.models):
        for j, scenario in enumerate(model.scenarios):
            yield ("models", i, "scenarios", j), scenario


def list_commands(config: Config) -> Iterator[tuple[KeyPath, CommandConfig]]:
    for i, command in enumerate(config.scenarios):
        yield ("scenarios", i), command


def check_scenarios(config: Config, document: Document) -> Mistakes:
    for i, model in enumerate(config.models):
        if not model.scenarios:
            yield Mistake(("models", i, "scenarios"), "nothing", _NO_SCENARIO)
    classes = [cpu_class.name for cpu_class in config.classes]
    applications = [application.name for application in config.applications]
    for path, scenario in list_scenarios(config):
        yield from _check_classes(document, (*path, "classes"), scenario.classes, classes)
        if scenario.application is None:
            for i, argument in enumerate(scenario.args):
                if expected := OWN_ARGUMENTS.get(argument.partition("=")[0]):
                    yield Mistake((*path, "args", i), show(argument), expected)
            continue
        yield from find_unknown(
            [((*path, "application"), scenario.application)],
            applications,
            none="one of `applications`, of which there are none",
        )
        if document.value((*path, "args")) is None:
            found = "nothing, in a scenario of an application"
            yield Mistake((*path, "args"), found, "its whole command line")
        else:
            yield from _check_command(path, scenario)


def check_caches(config: Config, _document: Document) -> Mistakes:
    """A recorded cache would be a second one, and what it was traced with would not be joined."""
    if config.trim.caches == "each":
        return
    if config.engine.is_project:
        found = f"joined with kind: {config.engine.kind}, whose scenarios do not search"
        yield Mistake(("trim", "caches"), found, "no such key")
    elif not any(scenario.fast_run for _, scenario in list_scenarios(config)):
        found = "joined, and no scenario that searches"
        yield Mistake(("trim", "caches"), found, "fast_run: true in the scenarios that do")
    for path, scenario in list_scenarios(config):
        if scenario.algo_cache is not None:
            found = "a recorded cache next to trim.caches: joined"
            alone = "" if scenario.application else "fast_run: true alone, or "
            expected = f"{alone}this file in all scenarios and no key trim.caches"
            yield Mistake((*path, "algo_cache"), found, expected)


def _check_classes(
    document: Document, path: KeyPath, named: Sequence[str], known: Sequence[str]
) -> Mistakes:
    if document.value(path) is not None:
        names = [((*path, i), name) for i, name in enumerate(named)]
        yield from find_repeated(document, names)
        yield from find_unknown(names, known)


def check_commands(config: Config, document: Document) -> Mistakes:
    classes = [cpu_class.name for cpu_class in config.classes]
    programs = [application.name for application in config.applications]
    target = config.engine.target
    is_library = target.endswith(ARCHIVE_SUFFIX) or is_shared_object(target)
    for path, command in list_commands(config):
        yield from _check_classes(document, (*path, "classes"), command.classes, classes)
        if command.program is not None:
            none = "no such key: engine.target is what runs, and there are no `applications`"
            yield from find_unknown([((*path, "program"), command.program)], programs, none=none)
        elif is_library:
            found = f"nothing, and engine.target {target} is no program"
            yield Mistake((*path, "program"), found, "one of `applications` that use it")
        yield from _check_command(path, command)
    if config.scenarios and not _starts_from_plain(config.trim):
        found = "scenarios without a model, where kernels are compiled out by what models need"
        expected = "trim: {level: function, base: plain} or deferred in its place, or models"
        yield Mistake(("scenarios",), found, expected)
    if not (config.models or config.scenarios):
        of_project = config.engine.is_project
        key = "scenarios" if of_project else "models"
        other = "models" if of_project else "scenarios"
        yield Mistake((key,), "nothing", f"this key, or {other}: what must work")


def _starts_from_plain(trim: TrimConfig) -> bool:
    return trim.trims_functions and trim.base == "plain"


BUILDER_OF_KEY: Mapping[str, str] = {
    "folder": CMAKE,
    "include": CMAKE,
    "build": LINK,
    "compiler": LINK,
}
"""What builds the kinds of engine that have each of these keys."""


def check_project(config: Config, _document: Document) -> Mistakes:
    engine = config.engine
    for key, kind in BUILDER_OF_KEY.items():
        if key in engine.model_fields_set and find_builder(engine.kind) != kind:
            found = f"a key of kind {kind} next to kind: {engine.kind}"
            yield Mistake(("engine", key), found, f"kind: {kind}, or no such key")
    if not engine.is_project:
        return
    if "target" not in engine.model_fields_set:
        expected = "the target that is trimmed: a program, or a library such as libzstd.so"
        yield Mistake(("engine", "target"), "nothing", expected)
    yield from _check_folders(config)
    yield from _check_of_models(config)
    if engine.kind == LINK:
        yield from _check_recorded(config)


def check_tests(config: Config, _document: Document) -> Mistakes:
    """They run where the project was built, on this machine."""
    if config.tests is None:
        return
    if not config.engine.is_project:
        found = f"tests of kind: {config.engine.kind}"
        yield Mistake(("tests",), found, f"kind: {CMAKE} or {LINK}, or no such key")
    names = [each.name for each in config.classes]
    if config.tests.keep and CLASS_OF_TESTS in names:
        found = f"a CPU class {CLASS_OF_TESTS} next to tests.keep"
        expected = f"another name: {id_of_test('NAME')} is a test in the keep set"
        yield Mistake(("classes", names.index(CLASS_OF_TESTS), "name"), found, expected)
    image = config.toolchain.image
    if image:
        expected = "no such key: tests run on this machine, and not in an image"
        yield Mistake(("tests",), f"tests next to toolchain.image {show(image)}", expected)


def _check_recorded(config: Config) -> Mistakes:
    """Its commands choose compiler and flags, and build its programs."""
    engine = config.engine
    if not engine.build:
        yield Mistake(("engine", "build"), "nothing", "the commands that build it, as lists")
    if engine.target.endswith(ARCHIVE_SUFFIX):
        expected = "a program that links it, or a shared object"
        yield Mistake(("engine", "target"), show(engine.target), expected)
    if engine.cmake:
        expected = f"words of a command in build, or kind: {CMAKE}"
        yield Mistake(("engine", "cmake"), f"CMake options of kind {LINK}", expected)
    for key in ("kind", "prefer", "ndk", "abi", "image", "clang"):
        if key in config.toolchain.model_fields_set:
            found = f"a toolchain of a project of kind {LINK}, which its commands choose"
            yield Mistake(("toolchain", key), found, "engine.compiler in its place")
    if config.toolchains:
        found = f"toolchains of a project of kind {LINK}, which its commands choose"
        yield Mistake(("toolchains",), found, "a configuration of its own for each")
    for at, application in enumerate(config.applications):
        if application.source is not None:
            expected = "no such key: a program that the commands of engine.build link"
            yield Mistake(("applications", at, "source"), show(str(application.source)), expected)


def _check_folders(config: Config) -> Mistakes:
    engine = config.engine
    named: list[tuple[KeyPath, Path | None]] = [(("engine", "folder"), engine.folder)]
    named += [(("engine", "include", at), path) for at, path in enumerate(engine.include)]
    for keys, path in named:
        if path is not None and (path.is_absolute() or ".." in path.parts):
            yield Mistake(keys, show(str(path)), "a folder in source, relative to it")


def _check_of_models(config: Config) -> Mistakes:
    """A project has no marked kernels and no switches that megtrim knows, and few have models."""
    trim = config.trim
    if config.models and not config.engine.has_models:
        found = f"models of a project of kind {config.engine.kind}, which has none"
        yield Mistake(("models",), found, "scenarios, each with the arguments of a command")
    if not trim.trims_functions:
        found = f"{trim.level}, and a project of kind {config.engine.kind} marks none"
        yield Mistake(("trim", "level"), found, "function, deferred or blocks")
    if trim.base != "plain":
        found = f"region, and a project of kind {config.engine.kind} has no such build"
        yield Mistake(("trim", "base"), found, "plain, or no such key")


def _check_command(path: KeyPath, scenario: ScenarioConfig | CommandConfig) -> Mistakes:
    used: set[str] = set()
    unreadable = []
    known = application_arguments.KNOWN
    if isinstance(scenario, CommandConfig):
        known = application_arguments.OF_COMMAND
    for i, argument in enumerate(scenario.args):
        try:
            used |= set(application_arguments.placeholders(argument))
        except InputError:
            expected = f"{known}, and {{{{ or }}}} for a brace"
            unreadable.append(Mistake((*path, "args", i), show(argument), expected))
    yield from unreadable
    if unreadable:
        return
    if isinstance(scenario, CommandConfig):
        yield from _check_inputs(path, scenario, used)
        yield from _check_outputs(path, scenario, used)
        return
    if application_arguments.MODEL not in used:
        found = "a command line without {model}"
        yield Mistake((*path, "args"), found, "{model} in its place")
    yield from _check_inputs(path, scenario, used)
    yield from _check_cache(path, scenario, is_used=application_arguments.ALGO_CACHE in used)


def _check_outputs(path: KeyPath, command: CommandConfig, used: set[str]) -> Mistakes:
    for word in (application_arguments.MODEL, application_arguments.ALGO_CACHE):
        if word in used:
            expected = "{input:NAME} for a file that it reads"
            yield Mistake((*path, "args"), f"{{{word}}}, which only models have", expected)
    compared = command.stdout != "ignored" or command.stderr == "compared"
    if not compared and application_arguments.OUTPUTS not in used:
        expected = (
            "compared, or {outputs} in args, or `stderr: compared`: something must show that it "
            "works"
        )
        yield Mistake((*path, "stdout"), "ignored, and it writes no files", expected)


def _check_inputs(
    path: KeyPath, scenario: ScenarioConfig | CommandConfig, used: set[str]
) -> Mistakes:
    args = (*path, "args")
    given = {f"{application_arguments.INPUT}{name}" for name in scenario.inputs}
    wanted = {name for name in used if name.startswith(application_arguments.INPUT)}
    for name in sorted(given - wanted):
        key = (*path, "inputs", name.removeprefix(application_arguments.INPUT))
        yield Mistake(key, "an input that args does not use", f"{{{name}}} in args")
    for name in sorted(wanted - given):
        yield Mistake(args, f"{{{name}}}", "an input that `inputs` names")
    if scenario.threads > 1 and application_arguments.THREADS not in used:
        found = f"{scenario.threads} threads that args does not ask for"
        yield Mistake((*path, "threads"), found, "{threads} in args")


def _check_cache(path: KeyPath, scenario: ScenarioConfig, *, is_used: bool) -> Mistakes:
    recorded = scenario.algo_cache is not None
    if is_used and not recorded:
        expected = "algo_cache, a recorded one: only the engine's own program searches"
        yield Mistake((*path, "args"), "{algo_cache}", expected)
    if recorded and not is_used:
        found = "a cache that args does not use"
        yield Mistake((*path, "algo_cache"), found, "{algo_cache} in args")
    if scenario.fast_run and not (recorded and is_used):
        expected = "a recorded algo_cache and {algo_cache} in args: an application does not search"
        yield Mistake((*path, "fast_run"), "fast_run with an application", expected)
