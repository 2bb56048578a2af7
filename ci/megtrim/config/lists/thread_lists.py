"""A scenario with a list of threads, in full: one scenario for each number.

``name: batch`` with ``threads: [1, 4]`` is ``batch-threads-1`` and ``batch-threads-4``. A name does
not depend on what else the list holds, so a number can be added without renaming others. Pure.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from megtrim.config.number_types import MOST_LISTED, MOST_THREADS, read_whole
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath

_KEY = "threads"
_DEPTH = 4
"""Length of a scenario's path: models, its number, scenarios, its number."""

_Value = TypeVar("_Value")


def expand_threads(document: Document) -> Document:
    """Return the document with a scenario for each number of threads, in the file's order.

    A list that holds anything else stays, and is reported with all other mistakes.
    """
    data = copy.deepcopy(document.data)
    written: dict[KeyPath, KeyPath] = {}
    models = data.get("models")
    for at, model in enumerate(models if isinstance(models, list) else ()):
        scenarios = model.get("scenarios") if isinstance(model, dict) else None
        if not isinstance(scenarios, list):
            continue
        full = [(old, each) for old, one in enumerate(scenarios) for each in _expand(one)]
        if [each for _, each in full] != scenarios:
            model["scenarios"] = [each for _, each in full]
            place = ("models", at, "scenarios")
            written |= {(*place, new): (*place, old) for new, (old, _) in enumerate(full)}
    if not written:
        return document
    return replace(
        document,
        data=data,
        lines=_follow(document.lines, written),
        files=_follow(document.files, written),
        written=written,
    )


def _expand(scenario: Any) -> Iterator[Any]:
    numbers = _read_numbers(scenario)
    if not numbers:
        yield scenario
    for number in numbers:
        yield scenario | {"name": f"{scenario['name']}-threads-{number}", _KEY: number}


def _read_numbers(scenario: Any) -> list[int]:
    """Return the numbers of a list of threads; none if there is no list, or a wrong one."""
    listed = scenario.get(_KEY) if isinstance(scenario, dict) else None
    if not isinstance(listed, list) or not isinstance(scenario.get("name"), str):
        return []
    numbers = [read_whole(each, least=1, most=MOST_THREADS) for each in listed]
    known = [each for each in numbers if each is not None]
    fits = len(set(known)) == len(listed) <= MOST_LISTED
    return known if fits else []


def _follow(
    values: Mapping[KeyPath, _Value], written: Mapping[KeyPath, KeyPath]
) -> dict[KeyPath, _Value]:
    """Return what is known by path with the paths of the scenarios in full."""
    lists = {path[: _DEPTH - 1] for path in written}
    found = {path: value for path, value in values.items() if path[: _DEPTH - 1] not in lists}
    found |= {path: values[path] for path in lists if path in values}
    of_scenario: dict[KeyPath, list[tuple[KeyPath, _Value]]] = {}
    for path, value in values.items():
        of_scenario.setdefault(path[:_DEPTH], []).append((path[_DEPTH:], value))
    for new, old in written.items():
        found |= {(*new, *inner): value for inner, value in of_scenario.get(old, ())}
    return found
