"""Joins the results of the stages into one verdict, with a reason for each check.

Pure: facts in, verdict out; nothing is measured or run here. :func:`~.statuses.decide` derives
the verdict from the checks; the exit status follows from the verdict alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from megtrim.checks.invocation import (
    Invocation,
    ScenarioKind,
    suggest_for_budget,
    suggest_for_scenario,
)
from megtrim.checks.statuses import (
    CheckKind,
    CheckStatus,
    ScenarioStatus,
    UnverifiedPolicy,
    decide,
)
from megtrim.config.units import format_bytes
from megtrim.config.yaml.problems import Place
from megtrim.load_and_run.telemetry import Conditions
from megtrim.perf.rows.checks import performance_checks, summarize
from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.size.growth.inputs import Cause, CauseNote
from megtrim.size.history import SizeTrend
from megtrim.util.wording import count
from megtrim.verdict.model import (
    ArtifactSizes,
    Check,
    DeviceIdentity,
    EngineIdentity,
    FunctionsUse,
    NeighbourResult,
    OperatorsUse,
    Origin,
    Performance,
    Rebuild,
    RegionsUse,
    ScenarioResult,
    ToolchainIdentity,
    TrimChoice,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictInputs:
    """The results of the stages. ``places``: where a scenario id or the subject of a budget is
    configured.
    """

    origin: Origin
    config: str
    invocation: Invocation
    """How megtrim was called."""
    places: Mapping[str, Place]
    engine: EngineIdentity
    toolchain: ToolchainIdentity
    devices: tuple[DeviceIdentity, ...]
    trim: TrimChoice
    artifacts: tuple[ArtifactSizes, ...]
    regions: RegionsUse
    operators: OperatorsUse
    scenarios: tuple[ScenarioResult, ...]
    expired: frozenset[str] = frozenset()
    """Ids of unverified scenarios whose last proof is older than allowed."""
    budgets: tuple[BudgetRow, ...]
    baseline: str = ""
    """What growth was measured against, or empty."""
    causes: tuple[Cause, ...] = ()
    """What differs from what the baseline was made from."""
    notes: tuple[CauseNote, ...] = ()
    trends: tuple[SizeTrend, ...] = ()
    neighbours: tuple[NeighbourResult, ...] = ()
    performance: Performance | None = None
    """None: no times were measured."""
    unverified: UnverifiedPolicy = UnverifiedPolicy.WARN
    functions: tuple[FunctionsUse, ...] = ()
    rebuild: Rebuild | None = None
    checks: tuple[Check, ...] = ()
    """Checks besides those of scenarios, budgets and times: build, trace, header, reduce."""
    warnings: tuple[str, ...] = ()


def join(facts: VerdictInputs) -> Verdict:
    """Return the verdict on ``facts``; checks are ordered by kind, then subject."""
    checks = _checks(facts)
    return Verdict(
        verdict=decide(check.status for check in checks),
        headline=_headline(facts, checks),
        checks=checks,
        origin=facts.origin,
        config=facts.config,
        engine=facts.engine,
        toolchain=facts.toolchain,
        devices=tuple(sorted(facts.devices, key=lambda device: device.name)),
        trim=facts.trim,
        artifacts=facts.artifacts,
        regions=facts.regions,
        operators=facts.operators,
        scenarios=tuple(sorted(facts.scenarios, key=lambda scenario: scenario.id)),
        budgets=facts.budgets,
        baseline=facts.baseline,
        causes=facts.causes,
        notes=facts.notes,
        trends=facts.trends,
        functions=facts.functions,
        rebuild=facts.rebuild,
        neighbours=facts.neighbours,
        performance=facts.performance,
        unverified=facts.unverified,
        warnings=facts.warnings,
        invocation=facts.invocation,
    )


def _checks(facts: VerdictInputs) -> tuple[Check, ...]:
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
    for row in facts.budgets:
        place = facts.places.get(row.subject, start)
        checks.append(
            budget_check(row, invocation=facts.invocation, file=place.file, line=place.line)
        )
    if facts.performance is not None:
        checks += performance_checks(facts.performance, start=start, places=facts.places)
    # A run that only takes times builds nothing that scenarios could prove.
    if not facts.scenarios and (facts.performance is None or facts.artifacts):
        checks.append(_nothing_ran(facts.config))
    order = list(CheckKind)
    return tuple(sorted(checks, key=lambda check: (order.index(check.kind), check.id)))


def _nothing_ran(config: str) -> Check:
    return Check(
        id="coverage:scenarios",
        kind=CheckKind.COVERAGE,
        subject="scenarios",
        status=CheckStatus.INCONCLUSIVE,
        text="no scenario ran on the reduced build, so nothing shows that it works",
        hint=f"add scenarios to the models in {config}",
        file=config,
    )


def _headline(facts: VerdictInputs, checks: tuple[Check, ...]) -> str:
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
    plain, reduced = by_variant.get("plain"), by_variant.get("reduced")
    if plain is None or reduced is None:
        return ""
    sizes = f"{format_bytes(plain.size_bytes)} → {format_bytes(reduced.size_bytes)}"
    return f"{artifact.name}: {sizes} ({reduced.share:.1%} of plain)"


_NO_TRAP = "ran to its end, no trap"
_NOT_REACHED = "not reached, see {kind}"


def scenario_checks(
    scenario: ScenarioResult, *, invocation: Invocation, file: str, line: int, expired: bool
) -> tuple[Check, ...]:
    """Return the checks of one scenario, which is configured at ``file``:``line``.

    ``expired``: an unverified scenario's last proof is too old, which is a failure.
    """

    def check(kind: ScenarioKind, status: CheckStatus, text: str) -> Check:
        ended_here = status not in (CheckStatus.PASS, CheckStatus.SKIPPED)
        # Only the verdict stage finds a proof too old; a run would only show the cause.
        failed_by_age = kind is CheckKind.COVERAGE and status is CheckStatus.FAIL
        timed = ended_here or (kind is CheckKind.TRAP and status is CheckStatus.PASS)
        return Check(
            id=f"{kind}:{scenario.id}",
            kind=kind,
            subject=scenario.id,
            status=status,
            text=text,
            detail=detail(scenario) if ended_here else "",
            hint=suggest_for_scenario(kind, invocation) if ended_here else "",
            time_s=scenario.time_s if timed else 0.0,
            file=file,
            line=line,
            reproduce=invocation.again("stage verdict") if failed_by_age else scenario.reproduce,
        )

    if scenario.status is ScenarioStatus.PASS:
        return (
            check(CheckKind.TRAP, CheckStatus.PASS, with_note(_NO_TRAP, scenario.conditions)),
            check(CheckKind.PARITY, CheckStatus.PASS, scenario.text),
        )
    kind, status = _ending(scenario.status, expired=expired)
    ending = check(kind, status, scenario.text)
    not_reached = _NOT_REACHED.format(kind=kind)
    if kind is CheckKind.PARITY:
        return (check(CheckKind.TRAP, CheckStatus.PASS, _NO_TRAP), ending)
    parity = check(CheckKind.PARITY, CheckStatus.SKIPPED, not_reached)
    if kind is CheckKind.TRAP:
        return (ending, parity)
    return (ending, check(CheckKind.TRAP, CheckStatus.SKIPPED, not_reached), parity)


def _ending(
    status: Literal[
        ScenarioStatus.TRAP,
        ScenarioStatus.PARITY,
        ScenarioStatus.ENGINE_ERROR,
        ScenarioStatus.TRACE,
        ScenarioStatus.INFRASTRUCTURE,
        ScenarioStatus.UNVERIFIED,
    ],
    *,
    expired: bool,
) -> tuple[ScenarioKind, CheckStatus]:
    """Return the check that a scenario ended at; an expired proof fails whatever the cause."""
    match status:
        case ScenarioStatus.TRAP:
            return CheckKind.TRAP, CheckStatus.FAIL
        case ScenarioStatus.PARITY:
            return CheckKind.PARITY, CheckStatus.FAIL
        case ScenarioStatus.ENGINE_ERROR:
            return CheckKind.ENGINE, CheckStatus.FAIL
        case ScenarioStatus.TRACE:
            return CheckKind.TRACE, CheckStatus.FAIL
        case ScenarioStatus.INFRASTRUCTURE if not expired:
            return CheckKind.DEVICE, CheckStatus.INFRASTRUCTURE
        case ScenarioStatus.INFRASTRUCTURE | ScenarioStatus.UNVERIFIED:
            return CheckKind.COVERAGE, CheckStatus.FAIL if expired else CheckStatus.UNVERIFIED
        case _:
            assert_never(status)


def with_note(text: str, conditions: Conditions | None) -> str:
    """Return a run's result, with the reason if its time does not count."""
    note = conditions.note if conditions else ""
    return f"{text}; {note}" if note else text


def detail(scenario: ScenarioResult) -> str:
    """Return all that is known about how a scenario ended, as lines."""
    arguments = " ".join(scenario.arguments) or "none"
    lines = [f"model: {scenario.model}", f"arguments: {arguments}", f"device: {scenario.device}"]
    if scenario.attempts:
        lines += ["attempts:", *(f"  {attempt}" for attempt in scenario.attempts)]
    if scenario.missing_regions:
        lines.append(f"regions that are needed and were not kept: {len(scenario.missing_regions)}")
        lines += [f"  {region}" for region in scenario.missing_regions]
    differing = [output for output in scenario.outputs if not output.equal]
    for output in differing:
        largest = output.largest_difference
        shown = "not comparable" if largest is None else f"largest difference {largest:g}"
        lines.append(f"output {output.name}: {output.size_bytes} bytes, {shown}")
    if scenario.conditions is not None:
        measured = (*scenario.conditions.lines(), scenario.conditions.note)
        lines += ["measured before and after:", *(f"  {line}" for line in measured if line)]
    if scenario.crash.strip():
        lines += ["crash:", *(f"  {line}" for line in scenario.crash.splitlines())]
    if scenario.log_tail.strip():
        lines += ["end of the log:", scenario.log_tail.rstrip("\n")]
    return "\n".join(lines)


def budget_check(row: BudgetRow, *, invocation: Invocation, file: str, line: int) -> Check:
    """Return the check of one limit, as it was judged."""
    failed = row.status is BudgetStatus.FAIL
    return Check(
        id=row.check_id,
        kind=CheckKind(row.kind),
        subject=row.subject,
        status=CheckStatus(row.status),
        text=row.text,
        hint=suggest_for_budget(lapsed=bool(row.lapsed), owner=row.owner) if failed else "",
        file=file,
        line=line,
        reproduce=invocation.again("size") if failed else "",
    )
