"""How each scenario ended, as a verdict shows it: its own result, or what failed before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.errors import InfrastructureFailure, MegtrimError
from megtrim.loadrun.conditions import Conditions
from megtrim.midout.trace import TraceFailure
from megtrim.plan.graph import Stage, Task, functions_task, search_task, trace_task, verify_task
from megtrim.stages.context import Context
from megtrim.stages.kept import traced_regions
from megtrim.stages.proofs import LastProof
from megtrim.verdict.checks import scenario_checks
from megtrim.verdict.codec import decode
from megtrim.verdict.model import Check, OutputResult, ScenarioResult, ScenarioStatus


def scenario_results(
    context: Context, proofs: Mapping[str, LastProof | None]
) -> tuple[ScenarioResult, ...]:
    """Return how every scenario ended; ``proofs``: the last one of each without a result."""
    traced = traced_regions(context)
    return tuple(
        scenario_result(each, context, traced.get(each.id, 0), proofs.get(each.id))
        for each in all_scenarios(context.loaded.config)
    )


def scenario_checks_of(tasks: Iterable[Task], context: Context) -> Iterator[Check]:
    """Yield the checks of the scenarios that these tasks verified, whatever became of them."""
    traced = traced_regions(context)
    for task in tasks:
        if task.stage is Stage.VERIFY and task.scenario is not None:
            each = task.scenario
            yield from scenario_checks(
                scenario_result(each, context, traced.get(each.id, 0), None),
                invocation=context.invocation,
                file=context.loaded.path.name,
                line=context.loaded.line(*each.path),
                expired=False,
            )


def scenario_result(
    each: Scenario, context: Context, regions: int, proof: LastProof | None
) -> ScenarioResult:
    """Return how a scenario ended; ``regions``: how many its trace holds."""
    task = verify_task(each)
    if task not in context.done:
        return _unverified(each, context, regions, proof)
    result = context.done[task].result
    return ScenarioResult(
        id=each.id,
        model=each.model.name,
        scenario=each.settings.name,
        cpu_class=each.cpu_class.name,
        arguments=each.settings.command,
        device=result["device"]["name"],
        status=ScenarioStatus(result["status"]),
        regions=regions,
        time_s=float(result["time_s"]),
        text=result["text"],
        outputs=tuple(OutputResult(**row) for row in result["outputs"]),
        missing_regions=tuple(result["missing regions"]),
        log_tail=result["log tail"],
        conditions=decode(Conditions | None, result["conditions"], "conditions"),
        crash=result["crash"],
        reproduce=context.invocation.verify(each.id),
    )


def _unverified(
    each: Scenario, context: Context, regions: int, proof: LastProof | None
) -> ScenarioResult:
    """Say why a scenario has no result: what failed before it could be verified."""
    failure = next((context.failed[task] for task in _before(each) if task in context.failed), None)
    device = context.devices.get(each.cpu_class.name)
    status = _status(failure, each, context)
    unknown = status in (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)
    return ScenarioResult(
        id=each.id,
        model=each.model.name,
        scenario=each.settings.name,
        cpu_class=each.cpu_class.name,
        arguments=each.settings.command,
        device=device.name if device else "",
        status=status,
        regions=regions,
        time_s=0.0,
        text=_why(failure, proof if unknown else None, context),
        log_tail=str(failure) if failure else "",
        attempts=failure.attempts if isinstance(failure, InfrastructureFailure) else (),
        reproduce=context.invocation.verify(each.id),
    )


def _why(failure: MegtrimError | None, proof: LastProof | None, context: Context) -> str:
    why = failure.message.splitlines()[0] if failure else "a stage before it did not succeed"
    if proof is None:
        return why
    return f"unverified, {proof.told(context.loaded.config.verify.max_age_s)}: {why}"


def _before(each: Scenario) -> tuple[str, ...]:
    return (search_task(each), trace_task(each), functions_task(each), verify_task(each))


def _status(failure: MegtrimError | None, each: Scenario, context: Context) -> ScenarioStatus:
    if failure is None:
        return ScenarioStatus.UNVERIFIED
    if isinstance(failure, InfrastructureFailure):
        return ScenarioStatus.INFRASTRUCTURE
    # Without tracing, it is verification that finds a scenario to be another than was traced.
    recorded = (trace_task(each), functions_task(each))
    by_trace = isinstance(failure, TraceFailure) or any(t in context.failed for t in recorded)
    return ScenarioStatus.TRACE if by_trace else ScenarioStatus.ENGINE_ERROR
