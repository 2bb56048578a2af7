"""References within megtrim.yaml: each name once, and only names that exist.

Pure. Works on plain data before the model has accepted it, so that these mistakes are reported
together with all others; the model reports values of the wrong type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from megtrim.config.model import ANY_CLASS
from megtrim.config.yaml.document import Document, nearest_line
from megtrim.config.yaml.problems import KeyPath, Problem, closest, listing, show
from megtrim.config.yaml.sections import Placed, Section, items, sections

OWN_ARGUMENTS: Mapping[str, str] = {
    "--input": "the key inputs in its place",
    "--fast-run": "the key fast_run in its place",
    "--fast-run-algo-policy": "the key algo_cache in its place",
    "--bin_out_dump": "no such argument: verification adds it",
    "--bin-out-dump": "no such argument: verification adds it",
}
"""Arguments that megtrim adds itself, from keys whose files it identifies by digest."""
OF_ONE: Mapping[str, str] = {
    "toolchain": "toolchain or toolchains, not both",
    "baseline": "the key baseline of each toolchain",
}
"""Keys that do not go with several toolchains, and what does."""
LIMITED = ("classes", "devices", "applications", "models", "budgets", "waivers")
"""Lists whose items, and the scenarios of models, may be for some toolchains alone."""


def toolchain_references(document: Document) -> Iterator[Problem]:
    """Yield toolchains that are named twice or not at all, and keys that do not go with several.

    It is for the file as a whole: the other checks see what is left for one toolchain.
    """
    data = document.data
    named = at_key(sections(data, "toolchains"), "name")
    yield from find_duplicates(document, named)
    for key, expected in OF_ONE.items() if named else ():
        if data.get(key) is not None:
            yield document.problem((key,), "a key of one toolchain next to toolchains", expected)
    known = texts_of(named)
    expected = listing(known) if known else "no such key: the file has no toolchains"
    for path, each in _list_limited(data):
        given = list(items(each, "toolchains", path))
        yield from find_duplicates(document, given)
        for place, name in given:
            if isinstance(name, str) and name not in known:
                yield document.problem(place, show(name), expected, closest(name, known))


def _list_limited(data: Section) -> Iterator[tuple[KeyPath, Section]]:
    """Yield what may be for some toolchains alone."""
    for key in LIMITED:
        yield from sections(data, key)
    for path, model in sections(data, "models"):
        yield from sections(model, "scenarios", path)


def reference_problems(document: Document) -> Iterator[Problem]:
    """Yield names that occur twice, and names of things that do not exist."""
    data = document.data
    for key in ("applications", "classes", "devices", "models"):
        yield from find_duplicates(document, at_key(sections(data, key), "name"))
    classes = texts_of(at_key(sections(data, "classes"), "name")) or [ANY_CLASS.name]
    yield from find_unknown(document, at_key(sections(data, "devices"), "class"), classes)
    serials = at_key(sections(data, "devices"), "serial")
    yield from find_duplicates(document, serials, expected="each phone once")
    for path, model in sections(data, "models"):
        scenarios = list(sections(model, "scenarios", path))
        yield from find_duplicates(document, at_key(scenarios, "name"))
        for scenario_path, scenario in scenarios:
            named = list(items(scenario, "classes", scenario_path))
            yield from find_duplicates(document, named)
            yield from find_unknown(document, named, classes)
            if scenario.get("application") is None:
                yield from _own_arguments(document, items(scenario, "args", scenario_path))


def at_key(entries: Iterable[tuple[KeyPath, Section]], key: str) -> list[Placed]:
    """Return what sections hold at a key, and where."""
    return [((*path, key), entry.get(key)) for path, entry in entries]


def texts_of(values: Iterable[Placed]) -> list[str]:
    """Return those values that are text."""
    return [value for _, value in values if isinstance(value, str)]


def find_duplicates(
    document: Document, values: Iterable[Placed], expected: str = "each name once"
) -> Iterator[Problem]:
    """Yield texts that are there a second time."""
    first: dict[str, KeyPath] = {}
    for path, value in values:
        if not isinstance(value, str):
            continue
        if value in first:
            there = document.file_of(first[value])
            other = "" if there == document.file_of(path) else f" of {there}"
            line = nearest_line(document.lines, first[value])
            found = f"{show(value)} a second time (the first is on line {line}{other})"
            yield document.problem(path, found, expected)
        first.setdefault(value, path)


def find_unknown(
    document: Document, values: Iterable[Placed], known: Iterable[str]
) -> Iterator[Problem]:
    """Yield names of things that do not exist."""
    choices = list(dict.fromkeys(known))
    for path, value in values:
        if isinstance(value, str) and value not in choices:
            expected = listing(choices) if choices else "a budget that is written above"
            yield document.problem(path, show(value), expected, closest(value, choices))


def _own_arguments(document: Document, arguments: Iterable[Placed]) -> Iterator[Problem]:
    for path, argument in arguments:
        if isinstance(argument, str):
            expected = OWN_ARGUMENTS.get(argument.partition("=")[0])
            if expected is not None:
                yield document.problem(path, show(argument), expected)
