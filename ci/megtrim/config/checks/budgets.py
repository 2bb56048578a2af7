"""Whether budgets and waivers name what there is, and whether their limits make sense.

Pure. Works on plain data like :mod:`megtrim.config.checks.references`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from megtrim.build_spec import Variant
from megtrim.config.checks.applications import application_names, engine_target, runs_engine
from megtrim.config.checks.references import at_key, find_duplicates, find_unknown, texts_of
from megtrim.config.measure_names import name_budget, name_measure
from megtrim.config.units import parse_bytes, parse_growth
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath, Problem, closest, listing, show
from megtrim.config.yaml.sections import Section, items, sections
from megtrim.elf.components import is_component, list_components
from megtrim.errors import InputError

LIMITS = ("max", "growth", "warn", "warn_growth")
"""Keys of which a budget needs one."""
PARTS = ("section", "component", "model")
"""Keys of which a budget has one at most: what is measured in place of the file."""
OF_TRIMMED = ("component", "model")
"""Parts that only what ships has, as names are known of that build alone."""


def budget_problems(document: Document) -> Iterator[Problem]:
    """Yield budgets of nothing, twice, or without a limit, and waivers of no budget."""
    data = document.data
    artifacts = list(items(data, "artifacts"))
    yield from find_duplicates(document, artifacts)
    budgets = list(sections(data, "budgets"))
    applications = application_names(document)
    own = [engine_target(document)] if runs_engine(document) or not applications else []
    known = texts_of(artifacts) or [*own, *applications]
    yield from find_unknown(document, at_key(budgets, "artifact"), known)
    models = texts_of(at_key(sections(data, "models"), "name"))
    yield from find_unknown(document, at_key(budgets, "model"), models)
    named = [((*path, "artifact"), _name(budget)) for path, budget in budgets]
    yield from find_duplicates(document, named)
    for path, budget in budgets:
        yield from _measures(document, path, budget)
        yield from _limits(document, path, budget)
    waivers = at_key(sections(data, "waivers"), "budget")
    yield from find_unknown(document, waivers, texts_of(named))


def _measures(document: Document, path: KeyPath, budget: Section) -> Iterator[Problem]:
    """Yield measures that contradict each other, and components that there cannot be."""
    parts = [key for key in PARTS if budget.get(key) is not None]
    for key in parts[1:]:
        found = f"{key} next to {parts[0]}"
        yield document.problem((*path, key), found, "one of them, in a budget of its own")
    if parts and budget.get("size") not in (None, "stripped"):
        found = f"size: {show(budget.get('size'))} next to {parts[0]}"
        yield document.problem((*path, "size"), found, "one of them, in a budget of its own")
    variant = budget.get("variant")
    for key in parts:
        if key in OF_TRIMMED and variant not in (None, Variant.REDUCED):
            found = f"{key} of the {show(variant)} build"
            yield document.problem((*path, key), found, "variant: reduced, or no such key")
    component = budget.get("component")
    if isinstance(component, str) and not is_component(component):
        expected = f"{listing(list_components())}, or what is below one of them: kernels/x86"
        near = closest(component, list_components())
        yield document.problem((*path, "component"), show(component), expected, near)


def _limits(document: Document, path: KeyPath, budget: Section) -> Iterator[Problem]:
    """Yield budgets without a limit, and limits that are of nothing or never reached."""
    if all(budget.get(key) is None for key in LIMITS):
        expected = f"{', '.join(LIMITS[:-1])} or {LIMITS[-1]}"
        yield document.problem(path, "a budget without a limit", expected)
    most, warn = budget.get("max"), budget.get("warn")
    if most is None:
        if _is_share(warn):
            found, expected = f"a share, {show(warn)}, of no limit", "a size, or max as well"
            yield document.problem((*path, "warn"), found, expected)
        if budget.get("ratchet") is not None:
            found, expected = "a ratchet without a limit", "max, the size that it lowers"
            yield document.problem((*path, "ratchet"), found, expected)
    elif _is_share(most):
        by_name = next((key for key in OF_TRIMMED if budget.get(key) is not None), None)
        of_plain = budget.get("variant") == Variant.PLAIN
        if by_name or of_plain:
            found = f"{show(most)} of a {by_name}" if by_name else f"{show(most)} of itself"
            expected = "a size such as 2.5 MiB: the share is of the plain build"
            yield document.problem((*path, "max"), found, expected)
    for soft, hard, below in (("warn", "max", True), ("warn_growth", "growth", False)):
        if _is_late(budget.get(soft), budget.get(hard), share_of_hard=below):
            found = f"{show(budget.get(soft))}, which is not below {hard}"
            share = ", or a share of it" if below else ""
            yield document.problem((*path, soft), found, f"a size below {hard}{share}")


def _is_share(value: object) -> bool:
    return isinstance(value, str) and value.strip().endswith("%")


def _is_late(soft: object, hard: object, *, share_of_hard: bool) -> bool:
    """Return whether a warning would come with the failure, as far as the file says."""
    with suppress(InputError):  # no sizes: the model reports it
        if _is_share(soft) and _is_share(hard) and not share_of_hard:
            return parse_growth(soft).share >= parse_growth(hard).share
        limit_bytes = parse_bytes(hard)
        if share_of_hard or not _is_share(soft):
            return parse_growth(soft).limit_bytes(limit_bytes) >= limit_bytes
    return False


def _name(budget: Section) -> object:
    """Spell a budget as :attr:`megtrim.config.model.Budget.id` does."""
    artifact, variant = budget.get("artifact"), budget.get("variant")
    if not isinstance(artifact, str):
        return artifact
    build = variant if isinstance(variant, str) else str(Variant.REDUCED)
    parts = {key: budget.get(key) for key in PARTS}
    return name_budget(artifact, build, name_measure(budget.get("size"), **parts))
