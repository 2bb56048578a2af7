"""Checks of applications and of the scenarios that run them.

Pure, and works on plain data like :mod:`megtrim.config.checks.references`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from megtrim.config.model import DEFAULT_TARGET
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath, Problem, closest, listing, show
from megtrim.config.yaml.sections import Placed, Section, items, sections
from megtrim.errors import InputError
from megtrim.load_and_run import application as command

_OURS = ("algo.cache", "dump", "model.mge", "trace.txt")
"""Names of files in a program's folder while it runs."""
SET_PREFIX = "MEGTRIM_ENGINE_"
SET_OPTIONS = ("CMAKE_BUILD_TYPE", "CMAKE_TOOLCHAIN_FILE")
"""CMake options that the build of an application sets."""
_INPUT = re.compile(r"input\d+(\..*)?")
_ARCHIVE_EXPECTED = "the application that links it: what an archive weighs is no program's size"


def application_problems(document: Document) -> Iterator[Problem]:
    """Yield keys of applications that do not fit, and commands with the wrong placeholders."""
    data = document.data
    names = []
    for path, each in sections(data, "applications"):
        yield from _one(document, path, each)
        names.append(each.get("name"))
    for path, artifact in items(data, "artifacts"):
        if isinstance(artifact, str) and artifact.endswith(".a"):
            yield document.problem(path, show(artifact), _ARCHIVE_EXPECTED)
    for model_path, model in sections(data, "models"):
        for path, scenario in sections(model, "scenarios", model_path):
            yield from _scenario(document, path, scenario, names)


def application_names(document: Document) -> list[str]:
    """Return the names of all applications, in the file's order."""
    entries = (each.get("name") for _, each in sections(document.data, "applications"))
    return [name for name in entries if isinstance(name, str)]


def engine_target(document: Document) -> str:
    """Return the name of the engine's own program."""
    engine = document.data.get("engine")
    target = engine.get("target") if isinstance(engine, dict) else None
    return target if isinstance(target, str) else DEFAULT_TARGET


def runs_engine(document: Document) -> bool:
    """Tell whether any scenario runs the engine's own program."""
    return any(
        scenario.get("application") is None
        for path, model in sections(document.data, "models")
        for _, scenario in sections(model, "scenarios", path)
    )


def _one(document: Document, path: KeyPath, each: Section) -> Iterator[Problem]:
    name = each.get("name")
    if isinstance(name, str) and name == engine_target(document):
        expected = "a name of its own: that is the engine's target"
        yield document.problem((*path, "name"), show(name), expected)
    if isinstance(name, str) and (name in _OURS or _INPUT.fullmatch(name)):
        expected = "another name: a file of megtrim's has it where programs run"
        yield document.problem((*path, "name"), show(name), expected)
    if each.get("source") is None and each.get("library") is not None:
        found = "library without source, on a target of the engine's tree"
        yield document.problem((*path, "library"), found, "source, or no such key")
    yield from _options(document, path, each)


def _options(document: Document, path: KeyPath, each: Section) -> Iterator[Problem]:
    """Yield CMake options that its CMakeLists.txt cannot be given."""
    options = each.get("cmake")
    if not isinstance(options, dict):
        return
    if each.get("source") is None:
        found = "cmake without source, on a target of the engine's tree"
        yield document.problem((*path, "cmake"), found, "source, or the key engine.cmake")
    for name in options:
        if name in SET_OPTIONS or name.startswith(SET_PREFIX):
            found = "an option that megtrim sets"
            yield document.problem((*path, "cmake", name), found, "one of the application's own")


def _scenario(
    document: Document, path: KeyPath, scenario: Section, names: Iterable[object]
) -> Iterator[Problem]:
    name = scenario.get("application")
    if not isinstance(name, str):
        return
    known = list(dict.fromkeys(each for each in names if isinstance(each, str)))
    if name not in known:
        expected = listing(known) if known else "one of `applications`, of which there are none"
        yield document.problem((*path, "application"), show(name), expected, closest(name, known))
    if scenario.get("args") is None:
        found = "nothing, in a scenario of an application"
        yield document.problem((*path, "args"), found, "its whole command line")
        return
    used, problems = _collect_placeholders(document, items(scenario, "args", path))
    yield from problems
    if not problems:
        yield from _check_placeholders(document, path, scenario, used)


def _collect_placeholders(
    document: Document, arguments: Iterable[Placed]
) -> tuple[set[str], list[Problem]]:
    used: set[str] = set()
    problems = []
    for path, argument in arguments:
        if not isinstance(argument, str):
            continue
        try:
            used |= set(command.placeholders(argument))
        except InputError:
            expected = f"{command.KNOWN}, and {{{{ or }}}} for a brace"
            problems.append(document.problem(path, show(argument), expected))
    return used, problems


def _check_placeholders(
    document: Document, path: KeyPath, scenario: Section, used: set[str]
) -> Iterator[Problem]:
    """Yield what is given but not used, and what is used but not given."""
    args = (*path, "args")
    if command.MODEL not in used:
        yield document.problem(args, "a command line without {model}", "{model} in its place")
    inputs = scenario.get("inputs")
    given = {f"{command.INPUT}{name}" for name in inputs} if isinstance(inputs, dict) else set()
    wanted = {name for name in used if name.startswith(command.INPUT)}
    for name in sorted(given - wanted):
        key = (*path, "inputs", name.removeprefix(command.INPUT))
        yield document.problem(key, "an input that args does not use", f"{{{name}}} in args")
    for name in sorted(wanted - given):
        yield document.problem(args, f"{{{name}}}", "an input that `inputs` names")
    threads = scenario.get("threads")
    if isinstance(threads, int) and threads > 1 and command.THREADS not in used:
        found = f"{threads} threads that args does not ask for"
        yield document.problem((*path, "threads"), found, "{threads} in args")
    yield from _cache(document, path, scenario, used)


def _cache(
    document: Document, path: KeyPath, scenario: Section, used: set[str]
) -> Iterator[Problem]:
    recorded, is_used = scenario.get("algo_cache") is not None, command.ALGO_CACHE in used
    if is_used and not recorded:
        expected = "algo_cache, a recorded one: only the engine's own program searches"
        yield document.problem((*path, "args"), "{algo_cache}", expected)
    if recorded and not is_used:
        found = "a cache that args does not use"
        yield document.problem((*path, "algo_cache"), found, "{algo_cache} in args")
    if scenario.get("fast_run") is True and not (recorded and is_used):
        expected = "a recorded algo_cache and {algo_cache} in args: an application does not search"
        yield document.problem((*path, "fast_run"), "fast_run with an application", expected)
