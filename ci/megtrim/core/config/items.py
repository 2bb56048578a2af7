"""A document as it is checked: read in full, and as one of its toolchains sees it.

Paths in an item's file are relative to megtrim.yaml; where its pattern begins with ``../``, which
several configurations share, to the folder that it climbs to.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from megtrim.core.config.config_id import choose
from megtrim.core.config.document import (
    LARGEST_FILE_BYTES,
    Document,
    MarkedDict,
    MarkedList,
    SourceMark,
    parse_document,
)
from megtrim.core.config.model import Config, NamedToolchain
from megtrim.core.config.problems import ConfigError, KeyPath, Problem, closest, listing, show
from megtrim.core.config.references import LIMITED
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.core.config.value_types import MOST_ITEMS, MOST_LISTED, MOST_THREADS, read_whole
from megtrim.libs.programs.made_inputs import is_made
from megtrim.libs.util.input_files import read_bytes

_MOST_PARTS = 100
"""Of a pattern's path."""
_FILES = ("file", "algo_cache", "strip_info", "also", "stdin")
_OF_ITS_OWN = tuple(
    key
    for key in NamedToolchain.model_fields
    if key not in ToolchainConfig.model_fields and key in Config.model_fields
)
"""Keys of the file that a toolchain may have itself."""


def expand_threads(document: Document) -> Document:
    def expand(model: object) -> Iterator[object]:
        if isinstance(model, MarkedDict):
            yield model.replace_items("scenarios", _expand)
        else:
            yield model

    data = document.data.replace_items("models", expand)
    return replace(document, data=data.replace_items("scenarios", _expand))


def _expand(scenario: Any) -> Iterator[object]:
    numbers = _read_numbers(scenario)
    if not numbers:
        yield scenario
    for number in numbers:
        name = f"{scenario['name']}-threads-{number}"
        yield scenario.replace({"name": name, "threads": number})


def _read_numbers(scenario: Any) -> list[int]:
    listed = scenario.get("threads") if isinstance(scenario, dict) else None
    if not isinstance(listed, list) or not isinstance(scenario.get("name"), str):
        return []
    numbers = [read_whole(each, least=1, most=MOST_THREADS) for each in listed]
    known = [number for number in numbers if number is not None]
    fits = len(set(known)) == len(listed) <= MOST_LISTED
    return known if fits else []


def read_items(document: Document, folder: Path) -> Document:
    items = _Items(document, folder)
    data = items.fill(document.data, (), "models")
    data = items.fill(data, (), "scenarios")
    models = data.get("models")
    if isinstance(models, MarkedList):
        filled = [
            items.fill(each, ("models", at), "scenarios") if isinstance(each, MarkedDict) else each
            for at, each in enumerate(models)
        ]
        data = data.replace({"models": MarkedList(filled, models.marks)})
    if len(items.digests) == 1:
        return document
    digest = hashlib.sha256(" ".join(items.digests).encode()).hexdigest()
    return replace(
        document,
        data=data,
        repeated=tuple(items.repeated),
        sha256=digest,
        patterns=tuple(items.patterns),
    )


class _Items:
    def __init__(self, document: Document, folder: Path) -> None:
        self.digests = [document.sha256]
        self.repeated: list[Problem] = [*document.repeated]
        self.patterns: list[str] = []
        self._document = document
        self._folder = folder

    def fill(self, section: MarkedDict, path: KeyPath, key: str) -> MarkedDict:
        pattern = section.get(key)
        names = _glob(self._folder, pattern) if isinstance(pattern, str) else []
        if not 0 < len(names) <= MOST_ITEMS:
            return section  # a list, or a pattern that is reported with all other mistakes
        self.patterns.append(str(pattern))
        climbed = climb(str(pattern))
        items = [self._read(name, (*path, key, at)) for at, name in enumerate(names)]
        values = (_rebase(item.data, climbed) for item in items)
        return section.replace({key: MarkedList(values, (item.root for item in items))})

    def _read(self, name: str, path: KeyPath) -> Document:
        shown = self._document.show_file(name)
        expected = "a part of megtrim.yaml"
        file = self._folder / name
        raw = read_bytes(file, most_bytes=LARGEST_FILE_BYTES, expected=expected, shown=shown)
        item = parse_document(raw, file=shown, place=SourceMark(file=name, line=0, path=path))
        self.digests.append(item.sha256)
        self.repeated += item.repeated
        return item


def _glob(folder: Path, pattern: str) -> list[str]:
    if len(PurePath(pattern).parts) > _MOST_PARTS:
        return []  # a search goes as deep as its pattern, and ends in a bug
    try:
        found = [each.relative_to(folder).as_posix() for each in folder.glob(pattern)]
    except (ValueError, NotImplementedError, IndexError, OSError):
        # an empty, impossible or absolute pattern, or one with a part that no file can have
        return []
    return sorted(name for name in found if not PurePath(name).name.startswith("."))


def climb(pattern: str) -> PurePosixPath:
    """Return the leading ``..`` of a pattern, the folder that paths in its files begin at."""
    parts = PurePosixPath(pattern).parts
    ups = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    return PurePosixPath(*parts[:ups])


def _rebase(item: MarkedDict, base: PurePosixPath) -> MarkedDict:
    def rebase(value: object) -> object:
        if isinstance(value, MarkedList):
            return value.remake(lambda each: [rebase(each)])
        if not isinstance(value, str) or not value.strip() or is_made(Path(value)):
            return value
        return str(base / value)

    if not base.parts:
        return item
    own = {key: rebase(item[key]) for key in _FILES if key in item}
    inputs = item.get("inputs")
    scenarios = item.get("scenarios")
    if isinstance(inputs, MarkedDict):
        own["inputs"] = inputs.replace({name: rebase(value) for name, value in inputs.items()})
    if isinstance(scenarios, str):
        own["scenarios"] = rebase(scenarios)
    whole = item.replace(own)
    return whole.replace_items(
        "scenarios", lambda each: [_rebase(each, base) if isinstance(each, MarkedDict) else each]
    )


def toolchain_names(document: Document) -> tuple[str, ...]:
    entries = document.data.get("toolchains")
    named = (
        entry.get("name")
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    )
    return tuple(name for name in named if isinstance(name, str))


def choose_toolchain(document: Document, chosen: str) -> Document:
    """Return the document as a toolchain sees it; ``chosen`` is empty for a file that has one."""
    names = toolchain_names(document)
    if chosen and document.data.get("toolchains") is None:
        found = f"no toolchains, of which {show(chosen)} was chosen"
        expected = "--config FILE"
        raise ConfigError([document.problem((), found, f"{expected}, without #{chosen}")])
    if not names:
        return document  # it has one, or a list that is reported with all other mistakes
    key = ("toolchains",)
    if not chosen:
        ways = listing(choose(document.file, name) for name in names)
        raise ConfigError([document.problem(key, "no choice of one", f"--config {ways}")])
    if chosen not in names:
        likely = closest(chosen, names)
        raise ConfigError([document.problem(key, f"no {show(chosen)}", listing(names), likely)])
    return replace(document, data=_put_in_place(_keep_own(document.data, chosen), chosen))


def _keep_own(whole: MarkedDict, chosen: str) -> MarkedDict:
    def keep(item: MarkedDict) -> Iterator[MarkedDict]:
        if _is_of(item, chosen):
            yield item.replace_items("scenarios", keep)

    left = whole
    for key in LIMITED:
        left = left.replace_items(key, keep)
    # As if they had been left out.
    for key in LIMITED:
        left = _without_empty(left, key)
    if perf := left.get("perf"):
        classes = {*_class_names(whole)} - {*_class_names(left)}
        scenarios = {*_scenario_names(whole)} - {*_scenario_names(left)}
        perf = _drop_names(perf, "classes", classes)
        perf = _drop_names(perf, "scenarios", scenarios)
        left = left.replace({"perf": perf})
    return left


def _drop_names(perf: MarkedDict, key: str, names: set[str]) -> MarkedDict:
    def keep(name: str) -> Iterator[str]:
        if name not in names:
            yield name

    return _without_empty(perf.replace_items(key, keep), key)


def _without_empty(section: MarkedDict, key: str) -> MarkedDict:
    if section.get(key) != []:
        return section
    left = {name: value for name, value in section.items() if name != key}
    return MarkedDict(left, {name: section.marks[name] for name in left})


def _scenario_names(data: MarkedDict) -> Iterator[str]:
    for model in data.get("models") or ():
        yield from (f"{model['name']}/{each['name']}" for each in model["scenarios"])
    yield from (each["name"] for each in data.get("scenarios") or ())


def _class_names(data: MarkedDict) -> Iterable[str]:
    return (each["name"] for each in data.get("classes") or ())


def _is_of(item: MarkedDict, chosen: str) -> bool:
    named = item.get("toolchains")
    if named and chosen not in named:
        return False
    inside = item.get("scenarios")
    return not inside or any(_is_of(each, chosen) for each in inside)


def _put_in_place(data: MarkedDict, chosen: str) -> MarkedDict:
    entries = data["toolchains"]
    at = next(at for at, each in enumerate(entries) if each.get("name") == chosen)
    entry = entries[at]
    mark = entries.marks[at]
    compiler = {key: value for key, value in entry.items() if key in ToolchainConfig.model_fields}
    own = [key for key in _OF_ITS_OWN if entry.get(key) is not None]
    values = {"toolchain": MarkedDict(compiler, entry.marks), "keep_set": _keep_set(data, chosen)}
    return data.replace(
        values | {key: entry[key] for key in own},
        {"toolchain": mark} | {key: entry.marks[key] for key in own},
    )


def _keep_set(data: MarkedDict, chosen: str) -> str:
    whole = data.get("keep_set")
    if whole is None:
        whole = Config.model_fields["keep_set"].default
    return f"{whole}/{chosen}"
