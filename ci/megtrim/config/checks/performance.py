"""Names within the key ``perf``: of experiments, scenarios and classes.

Pure. Works on plain data like :mod:`megtrim.config.checks.references`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from megtrim.config.model import ANY_CLASS
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath, Problem, closest, listing, show
from megtrim.config.yaml.sections import class_names, items, scenario_names
from megtrim.perf.experiments.table import EXPERIMENTS

_EXPERIMENTS_EXPECTED = "an experiment that `megtrim perf list` prints"


def performance_problems(document: Document) -> Iterator[Problem]:
    """Yield names that nothing has, names given twice, and two places for one history."""
    perf = document.data.get("perf")
    if not isinstance(perf, dict):
        return
    scenarios = scenario_names(document.data)
    classes = class_names(document.data) or [ANY_CLASS.name]
    known = {
        "experiments": ([each.name for each in EXPERIMENTS], _EXPERIMENTS_EXPECTED),
        "recipes": ((), ""),
        "scenarios": (scenarios, listing(scenarios) if scenarios else ""),
        "classes": (classes, listing(classes)),
    }
    for key, (choices, expected) in known.items():
        yield from _check_names(document, items(perf, key, ("perf",)), choices, expected)
    history = perf.get("history")
    if isinstance(history, dict) and {"folder", "branch"} <= history.keys():
        path = ("perf", "history", "branch")
        yield document.problem(path, "a branch next to a folder", "folder or branch, not both")


def _check_names(
    document: Document,
    named: Iterable[tuple[KeyPath, object]],
    choices: Iterable[str],
    expected: str,
) -> Iterator[Problem]:
    seen: list[object] = []
    known = list(choices)
    for path, name in named:
        if name in seen:
            yield document.problem(path, f"{show(name)} a second time", "each name once")
        elif expected and isinstance(name, str) and name not in known:
            yield document.problem(path, show(name), expected, closest(name, known))
        seen.append(name)
