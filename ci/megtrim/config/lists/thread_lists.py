"""A scenario with a list of threads, in full: one scenario for each number.

``name: batch`` with ``threads: [1, 4]`` is ``batch-threads-1`` and ``batch-threads-4``. A name does
not depend on what else the list holds, so a number can be added without renaming others. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from megtrim.config.value_types import MOST_LISTED, MOST_THREADS, read_whole
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath
from megtrim.config.yaml.sections import sections

_KEY = "threads"


def expand_threads(document: Document) -> Document:
    """Return the document with a scenario for each number of threads, in the file's order.

    A list that holds anything else stays, and is reported with all other mistakes.
    """
    full: dict[KeyPath, list[tuple[int, Any]]] = {}
    for path, model in sections(document.data, "models"):
        scenarios = model.get("scenarios")
        if not isinstance(scenarios, list):
            continue
        each = [(old, one) for old, scenario in enumerate(scenarios) for one in _expand(scenario)]
        if [one for _, one in each] != scenarios:
            full[*path, "scenarios"] = each
    return document.with_items(full)


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
