"""How each scenario ended, as a verdict shows it: its own result, or what failed before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from megtrim.core.chain.graph import (
    REDUCED,
    Stage,
    Task,
    cache_task,
    functions_task,
    search_task,
    trace_task,
    verify_task,
)
from megtrim.core.chain.session import Session, TaskResults
from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import (
    CheckKind,
    CheckStatus,
    Contradiction,
    ScenarioStatus,
    expect_consistent,
)
from megtrim.core.config.scenarios import Scenario, all_scenarios, run_scenarios
from megtrim.core.evidence.evidence import DAY_S
from megtrim.core.keep.trace import TraceFailure
from megtrim.core.proof.neighbours import NeighbourResult, NeighboursResult
from megtrim.core.proof.results import (
    STOPPED_BEFORE,
    ScenarioResult,
    VerifyResult,
    scenario_checks,
)
from megtrim.core.trim.builds import applications
from megtrim.core.trim.keepset_usage import traced_regions
from megtrim.libs.util.errors import InfrastructureFailure, MegtrimError
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

_VERIFY_AGAIN = "verify it again"
_VERIFY = ("verify", "--again")


def scenario_results(
    session: Session, proofs: Mapping[str, LastProof | None]
) -> tuple[ScenarioResult, ...]:
    """``proofs``: the last one of each scenario without a result."""
    traced = traced_regions(session)
    return tuple(
        scenario_result(scenario, session, traced.get(scenario.id, 0), proofs.get(scenario.id))
        for scenario in run_scenarios(session.config)
    )


def idle_checks(session: Session) -> Iterator[Check]:
    """Yield a check for each scenario that megtrim added and that could not run here."""
    config = session.config
    for each in all_scenarios(config):
        if each.id not in config.idle:
            continue
        place = session.request.loaded.place(*each.path)
        yield Check(
            id=f"{CheckKind.COVERAGE}:{each.id}",
            kind=CheckKind.COVERAGE,
            subject=each.id,
            status=CheckStatus.INCONCLUSIVE,
            text=config.idle[each.id],
            hint="give the model a scenario with inputs, and a device that runs it",
            file=place.file,
            line=place.line,
        )


def scenario_checks_of(tasks: Iterable[Task], session: Session) -> Iterator[Check]:
    traced = traced_regions(session)
    for task in tasks:
        if task.stage is Stage.VERIFY and task.scenario is not None:
            each = task.scenario
            place = session.request.loaded.place(*each.path)
            yield from scenario_checks(
                scenario_result(each, session, traced.get(each.id, 0), None),
                invocation=session.request.invocation,
                file=place.file,
                line=place.line,
                expired=False,
            )


def scenario_result(
    each: Scenario, session: Session, regions: int, proof: LastProof | None
) -> ScenarioResult:
    task = verify_task(each)
    if task not in session.done:
        return _report_unverified(each, session, regions, proof)
    folder = session.done[task]
    result = folder.result_as(VerifyResult)
    outcome = result.outcome
    try:
        expect_consistent(each.id, outcome)
        if outcome.status is ScenarioStatus.PASS and outcome.unexplained:
            msg = f"{each.id}: its status is pass, but it is unexplained"
            raise Contradiction(msg, hint="")
    except Contradiction as error:
        msg = f"{folder.path}: {error.message}"
        raise Contradiction(msg, hint=_VERIFY_AGAIN, command=_VERIFY) from None
    settings = each.settings
    reproduce = session.request.invocation.verify(each.id)
    return ScenarioResult(
        id=each.id,
        model="" if each.model is None else each.model.name,
        scenario=settings.name,
        cpu_class=each.cpu_class.name,
        arguments=settings.command,
        device=result.device.name,
        regions=regions,
        **outcome.list_fields(),
        reproduce=reproduce,
        binding=result.binding,
    )


def _report_unverified(
    each: Scenario, session: Session, regions: int, proof: LastProof | None
) -> ScenarioResult:
    cache = cache_task(each, session.config)
    before = (
        search_task(each),
        cache,
        trace_task(each),
        functions_task(each),
        verify_task(each),
    )
    failed = session.results.failed
    failure = next((failed[task] for task in before if task in failed), None)
    device = session.services.devices.get(each.cpu_class.name)
    status = _status(failure, each, session.results)
    text = failure.title if failure else STOPPED_BEFORE
    attempts = failure.attempts if isinstance(failure, InfrastructureFailure) else ()
    settings = each.settings
    reproduce = session.request.invocation.verify(each.id)
    if proof and status in (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED):
        age = proof.describe_age(session.config.verify.max_age_s)
        text = f"unverified, {age}: {text}"
    return ScenarioResult(
        id=each.id,
        model="" if each.model is None else each.model.name,
        scenario=settings.name,
        cpu_class=each.cpu_class.name,
        arguments=settings.command,
        device=device.name if device else "",
        status=status,
        regions=regions,
        time_s=0.0,
        text=text,
        log_tail=str(failure) if failure else "",
        attempts=attempts,
        reproduce=reproduce,
    )


def _status(failure: MegtrimError | None, each: Scenario, results: TaskResults) -> ScenarioStatus:
    if failure is None:
        return ScenarioStatus.UNVERIFIED
    if isinstance(failure, InfrastructureFailure):
        return ScenarioStatus.INFRASTRUCTURE
    # Without tracing, it is verification that finds a scenario to be another than was traced.
    recorded = (trace_task(each), functions_task(each))
    by_trace = isinstance(failure, TraceFailure) or any(t in results.failed for t in recorded)
    return ScenarioStatus.TRACE if by_trace else ScenarioStatus.ENGINE_ERROR


class LastProof(Value):
    days: int
    """Its age; below -1 it is of a day to come, and would never grow old."""
    same: bool
    """Of this very program, not of an earlier one."""

    def is_expired(self, allowed_s: float) -> bool:
        return self.days < -1 or self.days * DAY_S > allowed_s

    def describe_age(self, allowed_s: float) -> str:
        ahead = self.days < -1
        text = (
            "last proof of a day to come" if ahead else f"last proof {count(self.days, 'day')} old"
        )
        text += "" if self.same else ", of another program"
        expired = f", allowed are {count(int(allowed_s // DAY_S), 'day')}"
        return text + expired * self.is_expired(allowed_s)


def last_proofs(session: Session) -> dict[str, LastProof | None]:
    """Return the last proof of each scenario without a result; None: its last word is none.

    An earlier program's counts as well: code that changes every day would else never be held to
    a device again.
    """
    return {
        scenario.id: _last(session, scenario)
        for scenario in run_scenarios(session.config)
        if verify_task(scenario) not in session.done
    }


def find_expired(proofs: Mapping[str, LastProof | None], *, allowed_s: float) -> frozenset[str]:
    return frozenset(
        id_ for id_, proof in proofs.items() if proof is not None and proof.is_expired(allowed_s)
    )


def ahead(session: Session) -> Iterator[str]:
    """Yield a warning where the day that all is judged by lies before what was verified already.

    Where the machine is, it may be tomorrow; a clock that was set back lets lapsed waivers count.
    """
    tasks = (verify_task(scenario) for scenario in all_scenarios(session.config))
    done = [session.done[task] for task in tasks if task in session.done]
    latest = max((each.result_as(VerifyResult).day for each in done), default=session.request.today)
    if latest > session.request.today + timedelta(days=1):
        yield f"this is the verdict of {session.request.today}, of what was verified on {latest}"


def _last(session: Session, scenario: Scenario) -> LastProof | None:
    last = session.services.store.previous(Stage.VERIFY, VerifyResult, scenario.id)
    if last is None:
        return None
    verified = last.result_as(VerifyResult)
    if verified.outcome.status is not ScenarioStatus.PASS:
        return None
    days = (session.request.today - verified.day).days
    now = (
        applications.digests(scenario, session, REDUCED, "reduced")
        if REDUCED in session.done
        else {}
    )
    same = bool(now) and all(last.inputs.get(label) == digest for label, digest in now.items())
    # One of tomorrow, by another clock, is of today.
    return LastProof(days=0 if days == -1 else days, same=same)


def neighbour_results(session: Session) -> tuple[NeighbourResult, ...]:
    done = session.done
    every = all_scenarios(session.config)
    tasks = (f"{Stage.NEIGHBOURS}/{scenario.id}" for scenario in every)
    found = (done[task].result_as(NeighboursResult) for task in tasks if task in done)
    return tuple(row for each in found for row in each.neighbours)
