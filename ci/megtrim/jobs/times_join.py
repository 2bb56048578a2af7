"""Joins a build's verdict with the times that devices took: one row, and its check, for each.

The rows are made as in the stage, from the same values; a contest for which nothing counts is a
row that says why, and costs no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import CheckKind
from megtrim.config.device import EMULATED
from megtrim.config.problems import Place
from megtrim.evidence.bundle import Bundle
from megtrim.evidence.bundle_contest import BundleContest, BundleTimes
from megtrim.evidence.evidence import expect_configuration
from megtrim.evidence.times import TimesJudge
from megtrim.experiments.contest import PerformanceStatus
from megtrim.jobs.join import verdict_with
from megtrim.perf.outcomes import (
    ContestOutcome,
    make_performance,
    show_again,
)
from megtrim.perf.plan import PerfResult
from megtrim.perf.rows import performance_checks, summarize
from megtrim.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.verdict.model import Verdict

_HINT = "give the verdict and the bundle of one build job"


def join_times(
    verdict: Verdict, bundle: Bundle, judge: TimesJudge, problems: Iterable[str] = ()
) -> Verdict:
    """Return the verdict with the times that devices brought; ``problems`` are warnings.

    Raises InputError for a verdict of another build or configuration, and for one that has times
    already.
    """
    times = bundle.times
    if times is None:
        msg = f"the bundle asks devices to {bundle.purpose}, expected one that asks to time"
        raise InputError(msg, hint=_HINT)
    expect_configuration("the bundle", bundle.config, verdict.invocation.config)
    _expect_of_one_run(verdict, times)
    outcomes = [
        replace(_find_outcome(each, verdict, judge), base=times.base) for each in times.contests
    ]
    performance = make_performance(
        outcomes, criterion=times.criterion, inconclusive=times.inconclusive
    )
    places = {
        check.subject: Place(file=check.file, line=check.line)
        for check in verdict.checks
        if check.kind is CheckKind.TRAP
    }
    start = Place(file=verdict.config, line=1)
    added = performance_checks(performance, start=start, places=places)
    joined = verdict_with(verdict, (*verdict.checks, *added), found=summarize(performance))
    return replace(
        joined,
        performance=performance,
        devices=tuple(_list_devices(verdict, outcomes)),
        warnings=(*verdict.warnings, *problems),
    )


def _expect_of_one_run(verdict: Verdict, times: BundleTimes) -> None:
    if verdict.engine.digest != times.engine:
        found, expected = times.engine[:12], verdict.engine.digest[:12]
        msg = f"the bundle is of the engine {found}, the verdict of {expected}"
        raise InputError(msg, hint=_HINT)
    if verdict.performance is not None:
        msg = "the verdict holds times already"
        raise InputError(msg, hint="give the verdict that the build left, in OUT/final")


def _find_outcome(asked: BundleContest, verdict: Verdict, judge: TimesJudge) -> ContestOutcome:
    outcome = ContestOutcome(
        scenario=asked.scenario,
        cpu_class=asked.cpu_class,
        subject=asked.subject,
        artifact=asked.artifact,
        result=None,
        sizes=dict(asked.sizes),
        reproduce=show_again(verdict.invocation, asked.scenario, asked.subject),
    )
    match asked.unheld:
        case None:
            return _take(outcome, asked, verdict, judge)
        case PerformanceStatus.SKIPPED:
            return replace(outcome, result=_make_result(asked, skipped=asked.reason))
        case PerformanceStatus.INFRASTRUCTURE:
            return replace(outcome, failure=InfrastructureFailure(asked.reason))
        case _:
            return replace(outcome, failure=ProductFailure(asked.reason))


def _take(
    outcome: ContestOutcome, asked: BundleContest, verdict: Verdict, judge: TimesJudge
) -> ContestOutcome:
    """Return the outcome of a contest that devices were asked for."""
    try:
        found = judge.choose(asked)
    except InfrastructureFailure as failure:
        return replace(outcome, failure=failure)
    if found.result is None:
        return replace(outcome, result=_make_result(asked, skipped=found.skipped))
    result = _make_result(
        asked,
        device=found.device,
        emulated=found.device.kind in EMULATED,
        contest=asked.held,
        measured=found.result,
    )
    invocation = replace(verdict.invocation, device=found.entry)
    again = show_again(
        invocation, asked.scenario, asked.subject, emulated=found.device.kind in EMULATED
    )
    return replace(outcome, result=result, reproduce=again)


def _make_result(asked: BundleContest, **found: Any) -> PerfResult:
    return PerfResult(scenario=asked.scenario, subject=asked.subject, **found)


def _list_devices(verdict: Verdict, outcomes: Iterable[ContestOutcome]) -> Iterator[DeviceIdentity]:
    """Yield the devices of the build and of the times, each once, by name."""
    known = {device.name: device for device in verdict.devices}
    for each in outcomes:
        if each.result and each.result.device:
            known.setdefault(each.result.device.name, each.result.device)
    yield from (known[name] for name in sorted(known))
