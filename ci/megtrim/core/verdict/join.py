"""Joins the results of the stages into one verdict, with a reason for each check."""

from collections.abc import Mapping
from dataclasses import fields, replace

from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import suggest_after
from megtrim.core.checks.statuses import CheckKind, CheckStatus, ScenarioStatus, VerdictKind, decide
from megtrim.core.config.problems import Place
from megtrim.core.config.units import format_bytes
from megtrim.core.proof.results import scenario_checks
from megtrim.core.size.rows import ArtifactSizes, budget_checks
from megtrim.core.verdict.model import Verdict, VerdictFacts
from megtrim.core.verdict.performance import performance_checks, summarize
from megtrim.core.verdict.wording import list_urgent
from megtrim.libs.util.wording import count


class VerdictInputs(VerdictFacts):
    places: Mapping[str, Place]
    expired: frozenset[str] = frozenset()
    """Ids of unverified scenarios whose last proof is older than allowed."""
    checks: tuple[Check, ...] = ()
    advises: bool = False
    """A person reads it, who is told what to do next; ``next`` is what follows a pass."""


def join(facts: VerdictInputs) -> Verdict:
    checks = _list_checks(facts)
    verdict = decide(check.status for check in checks)
    shown = {field.name: getattr(facts, field.name) for field in fields(VerdictFacts)}
    shown["devices"] = tuple(sorted(facts.devices, key=lambda device: device.name))
    shown["scenarios"] = tuple(sorted(facts.scenarios, key=lambda scenario: scenario.id))
    shown["next"] = facts.next if verdict is VerdictKind.PASS else ""
    made = Verdict(
        **shown,
        verdict=verdict,
        headline=_headline(facts, checks),
        checks=checks,
    )
    urgent = list_urgent(made)
    if not (facts.advises and urgent):
        return made
    return replace(made, next=suggest_after(urgent[0], facts.invocation))


def _list_checks(facts: VerdictInputs) -> tuple[Check, ...]:
    checks = list(facts.checks)
    start = Place(file=facts.config, line=1)
    for scenario in facts.scenarios:
        place = facts.places.get(scenario.id, start)
        checks += scenario_checks(
            scenario,
            invocation=facts.invocation,
            file=place.file,
            line=place.line,
            expired=scenario.id in facts.expired,
        )
    checks += budget_checks(
        facts.budgets, invocation=facts.invocation, places=facts.places, start=start
    )
    if facts.performance is not None:
        checks += performance_checks(facts.performance, start=start, places=facts.places)
    # A run that only takes times builds nothing that scenarios could prove.
    if not facts.scenarios and (facts.performance is None or facts.artifacts):
        checks.append(
            Check(
                id="coverage:scenarios",
                kind=CheckKind.COVERAGE,
                subject="scenarios",
                status=CheckStatus.INCONCLUSIVE,
                text="no scenario ran on the reduced build, so nothing shows that it works",
                hint=f"add scenarios to the models in {facts.config}",
                file=facts.config,
            )
        )
    order = list(CheckKind)
    return tuple(sorted(checks, key=lambda check: (order.index(check.kind), check.id)))


def _headline(facts: VerdictFacts, checks: tuple[Check, ...]) -> str:
    parts = [_sizes_text(artifact) for artifact in facts.artifacts]
    if facts.scenarios:
        verified = sum(item.status is ScenarioStatus.PASS for item in facts.scenarios)
        noun = "scenario" if len(facts.scenarios) == 1 else "scenarios"
        parts.append(f"{verified} of {len(facts.scenarios)} {noun} verified")
    if facts.regions.kept:
        of_held = f" of {facts.regions.held}" if facts.regions.held else ""
        noun = "region" if facts.regions.kept == 1 and not of_held else "regions"
        parts.append(f"{facts.regions.kept}{of_held} {noun} kept")
    if facts.performance is not None:
        parts.append(summarize(facts.performance))
    if facts.trim.quick:
        parts.append("the quick way, from the plain build alone")
    failed = sum(check.status is CheckStatus.FAIL for check in checks)
    if failed:
        parts.insert(0, f"{count(failed, 'check')} failed")
    return ", ".join(part for part in parts if part) or "nothing was measured"


def _sizes_text(artifact: ArtifactSizes) -> str:
    by_variant = {size.variant: size for size in artifact.sizes}
    plain = by_variant.get("plain")
    reduced = by_variant.get("reduced")
    if plain is None or reduced is None:
        return ""
    sizes = f"{format_bytes(plain.size_bytes)} → {format_bytes(reduced.size_bytes)}"
    return f"{artifact.name}: {sizes} ({reduced.share:.1%} of plain)"
