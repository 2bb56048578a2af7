"""Whether budgets for neighbours fit the programs that are run.

Pure. Works on plain data like :mod:`megtrim.config.checks.references`. Which neighbours there are
depends on the engine and on the scenarios; their names are checked before a build, not here.
"""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import Variant
from megtrim.config.checks.applications import application_names, engine_target, runs_engine
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import Problem, closest, listing, show
from megtrim.config.yaml.sections import items, sections


def neighbour_problems(document: Document) -> Iterator[Problem]:
    """Yield budgets for neighbours of what is not run or not trimmed, and names given twice."""
    own = [engine_target(document)] if runs_engine(document) else []
    programs = [*own, *application_names(document)]
    for path, budget in sections(document.data, "budgets"):
        if budget.get("neighbours") is None:
            continue
        key, artifact, variant = (
            (*path, "neighbours"),
            budget.get("artifact"),
            budget.get("variant"),
        )
        if isinstance(variant, str) and variant != Variant.REDUCED:
            found = f"neighbours of the {show(variant)} build"
            yield document.problem(key, found, "variant: reduced, or no such key")
        if isinstance(artifact, str) and programs and artifact not in programs:
            found = f"neighbours of {show(artifact)}, which no scenario runs"
            yield document.problem(key, found, listing(programs), closest(artifact, programs))
        named: list[object] = []
        for name_path, name in items(budget, "neighbours", path):
            if name in named:
                yield document.problem(name_path, f"{show(name)} a second time", "each name once")
            named.append(name)
