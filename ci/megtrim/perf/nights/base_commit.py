"""Which commits a night may be compared with: the last good one that matters first. Pure.

Issues come first. Where the history shows a rise that no comparison has decided, it chooses the
base, and opens nothing by itself: machines get slower, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from megtrim.experiments.experiment import TimeStage
from megtrim.history.entries import parse_time
from megtrim.perf.nights.change_points import Direction
from megtrim.perf.nights.history import HistoryRun
from megtrim.perf.nights.regressions import IssueState, KnownIssue
from megtrim.perf.nights.series import Point, Series, make_series

_NIGHTS_WITHOUT_NEWS = 3
_NIGHTS_OF_A_RISE = 14
"""For so long a rise in the history chooses the base: no comparison has called it one by then."""


def list_bases(
    known: Iterable[KnownIssue], runs: Sequence[HistoryRun], *, config: str, head: str
) -> tuple[str, ...]:
    """Return the commits to compare ``head`` with, the best first.

    This is the base of the oldest open issue, so that its regression is seen until it is repaired,
    then the commit before a rise that the history shows, then the other commits that were measured,
    the last one first: a night that is repeated finds it again. A base that brought no news for
    some nights may be one that cannot be built any more: it is left out every second night.
    """
    ours = [each for each in known if each.record.config == config]
    unrepaired = [each for each in ours if _is_active(each) and each.record.base]
    oldest = min(unrepaired, key=lambda each: each.number, default=None)
    if oldest is None:
        best = _find_before_rise(ours, runs)
    elif oldest.record.base == head:
        return ()
    else:
        best = oldest.record.base if _has_its_turn(oldest, runs) else ""
    newest_first = sorted(runs, key=lambda each: each.id, reverse=True)
    every = dict.fromkeys((best, *(each.commit.sha for each in newest_first)))
    return tuple(each for each in every if each not in ("", head))


def _has_its_turn(issue: KnownIssue, runs: Sequence[HistoryRun]) -> bool:
    """Return whether the base of an issue is used, by the nights since the issue was written."""
    written = max((e.measured_at for e in runs if e.job == str(issue.record.run)), default="")
    nights = {each.measured_at for each in runs if each.measured_at > written}
    return len(nights) <= _NIGHTS_WITHOUT_NEWS or len(nights) % 2 == 0


def _is_active(issue: KnownIssue) -> bool:
    return issue.is_open and issue.record.state is IssueState.REGRESSED


def _find_before_rise(known: Sequence[KnownIssue], runs: Sequence[HistoryRun]) -> str:
    """Return the commit of the last night before times rose; empty if they did not lately.

    A rise that a person accepted, by closing its issue, is none.
    """
    closed = (each.record for each in known if not each.is_open)
    accepted = {each.first_bad for each in closed if each.state is IssueState.REGRESSED}
    since = max((each.id for each in runs if each.commit.sha in accepted), default="")
    newest = max((each.measured_at for each in runs), default="")
    found = [
        point
        for series in make_series(runs)
        if series.key.stage is TimeStage.INFERENCE and _is_lately(series, newest)
        for point in _list_before_rise(series)
        if point.run >= since
    ]
    return min(found, key=lambda each: each.run).commit if found else ""


def _list_before_rise(series: Series) -> Iterator[Point]:
    """Yield the last night before the last rise of a series, and one long before on a slope."""
    lately = max(0, len(series.points) - _NIGHTS_OF_A_RISE)
    if series.findings.drift is Direction.SLOWER:
        yield series.points[lately]
    for each in series.changes[-1:]:
        if each.change.direction is Direction.SLOWER and each.change.first >= lately:
            yield each.last_good


def _is_lately(series: Series, newest: str) -> bool:
    """Return whether a series goes on: its scenario and its device are still there."""
    last, now = (
        parse_time("measured_at", each) for each in (series.points[-1].measured_at, newest)
    )
    return (now - last).days <= _NIGHTS_OF_A_RISE
