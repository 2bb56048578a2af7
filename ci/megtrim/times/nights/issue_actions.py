"""Which scenarios got slower, or were not measured, and what becomes of their issues.

Only a decided comparison with a *base* commit opens or closes anything. It stays while an issue is
open. Otherwise it is the commit of the night before, and once a week one of a fortnight ago.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from itertools import accumulate

from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.timing.times import RatioResult, Reference, find_compared_time
from megtrim.core.verdict.performance import Performance, PerformanceRow, Point, Row, TrimmingRow
from megtrim.libs.util.value import Value
from megtrim.times.nights.history import HistoryRun
from megtrim.times.nights.series import make_series

_LONGEST_SUBJECTS = 20_000
_NIGHTS_WITHOUT_NEWS = 3
UNMEASURED_DAYS = 7
"""After so many days without a time someone is told: a phone that is off looks like a quiet one."""
_NIGHTS_OF_A_WEEK = 7
_NIGHTS_OF_A_FORTNIGHT = 14


class IssueState(StrEnum):
    REGRESSED = "regressed"
    FIXED = "fixed"
    DUPLICATE = "duplicate"


class RegressionRecord(Value):
    version: int = 1
    config: str
    scenario: str
    subjects: tuple[str, ...]
    base: str
    """Commit that the program is compared with; empty: with plain, by the same night."""
    last_good: str
    first_bad: str
    """The culprit comes after ``last_good``, up to ``first_bad``. Empty without a base."""
    run: int
    state: IssueState
    """Of an issue about a scenario that is not measured, REGRESSED says that it still is not."""
    measured: str = ""
    """When a scenario without a time had one last; empty: the issue is about its times."""


class KnownIssue(Value):
    number: int
    is_open: bool
    record: RegressionRecord


class Night(Value):
    performance: Performance
    config: str
    base: str
    head: str
    run: int
    attempt: int = 1
    runs: Sequence[HistoryRun] = ()
    now: datetime | None = None
    """None: how long scenarios were not measured is not looked at."""


class IssueAction(Value):
    """An issue to open (``number`` 0) or to bring up to date; only a regression stays open."""

    number: int
    record: RegressionRecord
    rows: tuple[Row, ...]


def plan_actions(night: Night, known: Iterable[KnownIssue]) -> tuple[IssueAction, ...]:
    of_config = (each for each in known if each.record.config == night.config)
    every = sorted(of_config, key=lambda each: each.number)
    about_silence = [each for each in every if each.record.measured]
    ours = [each for each in every if not each.record.measured]
    slower = _plan_slower(night, ours)
    return (*slower, *_plan_unmeasured(night, about_silence))


def _plan_slower(night: Night, ours: Sequence[KnownIssue]) -> tuple[IssueAction, ...]:
    scenarios = {row.scenario for row in night.performance.all_rows}
    scenarios |= {our.record.scenario for our in ours if our.is_open}
    actions: list[IssueAction] = []
    for scenario in sorted(scenarios):
        about = [our for our in ours if our.record.scenario == scenario]
        actions += _plan_one(night, scenario, about)
    return tuple(actions)


def _plan_unmeasured(night: Night, known: Sequence[KnownIssue]) -> Iterator[IssueAction]:
    """A scenario that has a time again closes its issue; one that is gone keeps it for a person."""
    for scenario in sorted({row.scenario for row in night.performance.all_rows}):
        rows = [row for row in night.performance.all_rows if row.scenario == scenario]
        opened = [each for each in known if each.is_open and each.record.scenario == scenario]
        if any(row.status.has_times for row in rows):
            for each in opened:
                measured = replace(each.record, run=night.run, state=IssueState.FIXED)
                yield IssueAction(number=each.number, record=measured, rows=())
            continue
        last = _find_last_time(night, scenario)
        closed = {each.record.measured for each in known if each.record.scenario == scenario}
        if opened or last is None or night.now is None:
            continue
        silent = (night.now - last.time).days >= UNMEASURED_DAYS
        if silent and last.measured_at not in closed:
            record = RegressionRecord(
                config=night.config,
                scenario=scenario,
                subjects=_list_subjects(row.subject for row in rows),
                base="",
                last_good=last.commit.sha,
                first_bad="",
                run=night.run,
                state=IssueState.REGRESSED,
                measured=last.measured_at,
            )
            yield IssueAction(number=0, record=record, rows=tuple(rows))


def _find_last_time(night: Night, scenario: str) -> HistoryRun | None:
    """Return the last run with a time of the scenario, else the first that lost it."""
    runs = sorted(night.runs, key=lambda each: each.id)
    rows = [(run, row) for run in runs for row in run.rows if row.scenario == scenario]
    timed = [run for run, row in rows if row.times]
    if timed:
        return timed[-1]
    # What a device cannot run is skipped for ever: no one waits for its time.
    lost = [run for run, row in rows if row.status is not PerformanceStatus.SKIPPED]
    return lost[0] if lost else None


def _plan_one(night: Night, scenario: str, known: Sequence[KnownIssue]) -> Iterator[IssueAction]:
    rows = [row for row in night.performance.all_rows if row.scenario == scenario]
    slower = tuple(row for row in rows if _is_slower(row, night))
    current = [each for each in known if each.is_open]
    # An old night that is repeated knows less than a later one. The first attempt of a run is the
    # newest night, whatever its number: a server that was moved counts from one again.
    if night.attempt > 1 and any(each.record.run > night.run for each in known):
        return
    if current:
        oldest, *doubles = current
        yield from _follow_up(night, oldest, rows, slower)
        for double in doubles:
            record = replace(double.record, run=night.run, state=IssueState.DUPLICATE)
            yield IssueAction(number=double.number, record=record, rows=())
    elif slower and not any(_is_accepted(each, night, slower) for each in known):
        yield IssueAction(number=0, record=_make_record(night, scenario, slower), rows=slower)


def _follow_up(
    night: Night, issue: KnownIssue, rows: Sequence[Row], slower: tuple[Row, ...]
) -> Iterator[IssueAction]:
    record = issue.record
    proofs = tuple(
        row for row in rows if row.subject in record.subjects and _is_repaired(row, record, night)
    )
    left = {*record.subjects} - {row.subject for row in proofs}
    left |= {row.subject for row in slower}
    if not left:
        repaired = replace(record, run=night.run, state=IssueState.FIXED)
        yield IssueAction(number=issue.number, record=repaired, rows=proofs)
    elif slower:
        if not record.base and any(_is_against_base(row) for row in slower):
            first = _make_record(night, record.scenario, slower)
            record = replace(
                record, base=first.base, last_good=first.last_good, first_bad=first.first_bad
            )
        updated = replace(
            record, subjects=_list_subjects(left), run=night.run, state=IssueState.REGRESSED
        )
        yield IssueAction(number=issue.number, record=updated, rows=slower)


def _list_subjects(subjects: Iterable[str]) -> tuple[str, ...]:
    ordered = sorted(set(subjects))
    ends = accumulate(len(ascii(each)) for each in ordered)
    return tuple(each for each, end in zip(ordered, ends, strict=True) if end <= _LONGEST_SUBJECTS)


def _is_slower(row: Row, night: Night) -> bool:
    counts = (night.base or each.against is not Reference.BASE for each in list_slower(row))
    return row.status is PerformanceStatus.REGRESSED and any(counts)


def _is_accepted(issue: KnownIssue, night: Night, slower: tuple[Row, ...]) -> bool:
    record = issue.record
    base = night.base if any(_is_against_base(row) for row in slower) else ""
    same = record.base == base and {*_list_subjects(row.subject for row in slower)} <= {
        *record.subjects
    }
    return record.state is IssueState.REGRESSED and same


def _is_repaired(row: Row, record: RegressionRecord, night: Night) -> bool:
    if row.status is not PerformanceStatus.MEASURED:
        return False
    if isinstance(row, TrimmingRow):
        return bool(row.named_ratios)
    compared = {ratio.against for ratio in row.ratios}
    if not record.base:
        return Reference.PLAIN in compared
    return record.base == night.base and Reference.BASE in compared


def _is_against_base(row: Row) -> bool:
    return any(each.against is Reference.BASE for each in list_slower(row))


def list_slower(row: Row) -> tuple[RatioResult, ...]:
    slower = (each for _, each in row.named_ratios if each.regressed)
    return tuple(sorted(slower, key=lambda each: -each.ratio))


def _make_record(night: Night, scenario: str, slower: tuple[Row, ...]) -> RegressionRecord:
    since = [row for row in slower if isinstance(row, PerformanceRow) and _is_against_base(row)]
    last_good = ""
    first_bad = ""
    if since:
        worst = max(since, key=lambda row: list_slower(row)[0].ratio)
        last_good, first_bad = _suspect(night, worst)
    return RegressionRecord(
        config=night.config,
        scenario=scenario,
        subjects=_list_subjects(row.subject for row in slower),
        base=night.base if since else "",
        last_good=last_good,
        first_bad=first_bad,
        run=night.run,
        state=IssueState.REGRESSED,
    )


def _suspect(night: Night, row: PerformanceRow) -> tuple[str, str]:
    """Nights between the base and this one are fast or slow by what they are nearer to."""
    now = find_compared_time(row.times)
    ratio = next((each for each in list_slower(row) if each.stage.decides), None)
    last_good = night.base
    first_bad = night.head
    if now is None or ratio is None:
        return last_good, first_bad
    middle_ms = now.median_ms / ratio.ratio**0.5
    for point in reversed(_list_points_since_base(night, row)):
        if point.time.median_ms < middle_ms:
            return point.commit, first_bad
        first_bad = point.commit
    return last_good, first_bad


def _list_points_since_base(night: Night, row: PerformanceRow) -> Sequence[Point]:
    found = [
        each
        for each in make_series(night.runs, scenario=row.scenario)
        if each.key.contestant == row.experiment
        and each.key.stage.decides
        and each.device_name == row.device
    ]
    if not found:
        return ()
    points = max(found, key=lambda each: each.points[-1].run).points
    places = [place for place, each in enumerate(points) if each.commit == night.base]
    return points[places[-1] + 1 :] if places else ()


def list_bases(
    known: Iterable[KnownIssue], runs: Sequence[HistoryRun], *, config: str, head: str
) -> tuple[str, ...]:
    """Return the commits to compare ``head`` with, the best first.

    First the base of the oldest open issue, then that of a week's turn, then the last ones. One
    that brought no news for some nights may not build any more: every second night leaves it out.
    """
    known = [each for each in known if not each.record.measured]
    runs = [each for each in runs if each.has_times]
    ours = [each for each in known if each.record.config == config]
    slow = [our for our in ours if our.record.state is IssueState.REGRESSED]
    unrepaired = [each for each in slow if each.is_open and each.record.base]
    oldest = min(unrepaired, key=lambda each: each.number, default=None)
    if oldest is None:
        best = _choose_in_turn(ours, runs)
    elif oldest.record.base == head:
        return ()
    else:
        record = oldest.record
        written = max((e.measured_at for e in runs if e.job == str(record.run)), default="")
        nights = {run.measured_at for run in runs if run.measured_at > written}
        has_its_turn = len(nights) <= _NIGHTS_WITHOUT_NEWS or len(nights) % 2 == 0
        best = record.base if has_its_turn else ""
    newest_first = sorted(runs, key=lambda each: each.id, reverse=True)
    every = dict.fromkeys((best, *(each.commit.sha for each in newest_first)))
    return tuple(each for each in every if each not in ("", head))


def _choose_in_turn(known: Sequence[KnownIssue], runs: Sequence[HistoryRun]) -> str:
    """Return the commit of the night before, or what a week's turn asks for.

    Small steps, none of which exceeds the threshold, and a step that no comparison decided, are
    found by the comparison with the commit of a fortnight ago. The night after that one skips it,
    so that no step between two neighbours is only seen together with others. A regression that a
    person accepted, by closing its issue, is no reason to look further back.
    """
    closed = (each.record for each in known if not each.is_open)
    accepted = {each.first_bad for each in closed if each.state is IssueState.REGRESSED}
    since = max((run.id for run in runs if run.commit.sha in accepted), default="")
    in_order = sorted(runs, key=lambda each: each.id)
    nights = {run.measured_at for run in in_order}
    by_night = {run.measured_at: run.commit.sha for run in in_order if run.id >= since}
    commits = list(by_night.values())
    if not commits:
        return ""
    if len(nights) % _NIGHTS_OF_A_WEEK == 0:
        return commits[-_NIGHTS_OF_A_FORTNIGHT:][0]
    if len(nights) > _NIGHTS_OF_A_WEEK and len(nights) % _NIGHTS_OF_A_WEEK == 1:
        return commits[-2:][0]
    return commits[-1]
