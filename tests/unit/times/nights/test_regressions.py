from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.timing.times import Answer, Reference
from megtrim.core.verdict.performance import Performance, PerformanceRow, Row, TrimmingRow
from megtrim.times.nights.history import HistoryRun
from megtrim.times.nights.issue_actions import (
    IssueAction,
    IssueState,
    KnownIssue,
    Night,
    RegressionRecord,
    list_bases,
    list_slower,
    plan_actions,
)
from megtrim.times.report.regression_issue import NightPlace, read_record, render_issue
from support.history_entries import make_row, make_run
from unit.core.verdict.examples import RESNET, TUNED
from unit.core.verdict.performance_examples import TRIMMING, ratio, row, since, skipped

GOOD = "a" * 40
BAD = "b" * 40
LATER = "c" * 40
PLACE = NightPlace(repository_url="", run_url="", artifact="report", head=BAD)
FAST = row(ratios=(since(1.001, different=Answer.NO, exceeds=Answer.NO),))
SLOW = row(status=PerformanceStatus.REGRESSED, ratios=(since(1.3),))
UNPROVEN = row(
    status=PerformanceStatus.INCONCLUSIVE, ratios=(since(1.1, exceeds=Answer.INCONCLUSIVE),)
)
SILENT = (
    skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "pixel-6 went offline"),
    skipped("baseline", PerformanceStatus.FAILED, "it hung: ended after 60 s"),
    skipped("baseline", PerformanceStatus.SKIPPED, "the device has no dot product"),
    row(status=PerformanceStatus.WRONG_OUTPUTS, reason="1 output differs by 0.5"),
    UNPROVEN,
    row(),  # measured, and compared with nothing
    row(ratios=(ratio(1.4),)),  # an option that makes it slower
)


def night(*rows: Row, base: str = GOOD, head: str = BAD, run: int = 2, **more: object) -> Night:
    found = Performance(
        threshold=0.01,
        floor_ms=0.0,
        inconclusive="warn",
        rows=tuple(each for each in rows if isinstance(each, PerformanceRow)),
        trimming=tuple(each for each in rows if isinstance(each, TrimmingRow)),
    )
    fields = {"performance": found, "config": "megtrim.yaml", "base": base, "head": head}
    return Night(**{**fields, "run": run, **more})  # type: ignore[arg-type]


def the_one(of: Night, *known: KnownIssue) -> IssueAction:
    (action,) = plan_actions(of, known)
    return action


def known(action: IssueAction, *, number: int = 7, is_open: bool = True) -> KnownIssue:
    return KnownIssue(number=action.number or number, is_open=is_open, record=action.record)


def opened(**changes: object) -> KnownIssue:
    issue = known(the_one(night(SLOW)))
    return replace(issue, record=replace(issue.record, **changes))  # type: ignore[arg-type]


def test_a_regression_opens_an_issue() -> None:
    action = the_one(night(SLOW))
    assert (action.number, action.rows) == (0, (SLOW,))
    assert action.record == RegressionRecord(
        config="megtrim.yaml",
        scenario=RESNET,
        subjects=(SLOW.subject,),
        base=GOOD,
        last_good=GOOD,
        first_bad=BAD,
        run=2,
        state=IssueState.REGRESSED,
    )


@pytest.mark.parametrize("silent", SILENT, ids=lambda each: str(each.status))
def test_what_was_not_decided_changes_nothing(silent: PerformanceRow) -> None:
    assert plan_actions(night(silent), ()) == ()
    assert plan_actions(night(silent), (opened(),)) == ()
    assert plan_actions(night(), (opened(),)) == ()


def test_a_repeated_night_plans_the_same_and_the_range_stays_that_of_the_first() -> None:
    first = the_one(night(SLOW))
    again = the_one(night(SLOW), known(first))
    assert (again.record, again.rows) == (first.record, first.rows)
    later = the_one(night(SLOW, head=LATER, run=3), opened())
    assert (later.record.last_good, later.record.first_bad) == (GOOD, BAD)


LOST = row(status=PerformanceStatus.INFRASTRUCTURE, times=(), ratios=(), reason="pixel-6 is off")
CANNOT = replace(LOST, status=PerformanceStatus.SKIPPED, reason="the device has no dot product")
TIMED = row()
MEASURED_AT = make_run(0).time


def silent_for(days: int, *rows: PerformanceRow, before: PerformanceRow = TIMED) -> Night:
    runs = [make_run(0, [before])]
    return night(*rows, runs=runs, now=MEASURED_AT + timedelta(days=days))


@pytest.mark.parametrize(
    ("tonight", "opens"),
    [
        (silent_for(6, LOST), False),
        (silent_for(7, LOST), True),
        (silent_for(40, CANNOT), True),
        # Another of its comparisons has a time.
        (silent_for(40, LOST, replace(FAST, experiment="nchw44")), False),
        # It never had a time: the first night that lost it counts, and what cannot run is no loss.
        (silent_for(40, LOST, before=LOST), True),
        (silent_for(40, CANNOT, before=CANNOT), False),
        (silent_for(40, LOST, before=replace(FAST, scenario="other/x@any")), False),
        (night(LOST), False),
    ],
)
def test_a_scenario_without_a_time_for_a_week_has_an_issue(tonight: Night, opens: bool) -> None:
    actions = plan_actions(tonight, ())

    assert [each.record.measured for each in actions] == ["2026-01-01T02:00:00Z"] * opens
    assert [each.record.state for each in actions] == [IssueState.REGRESSED] * opens


def test_an_issue_about_silence_ends_with_the_first_time_and_is_opened_once() -> None:
    action = the_one(silent_for(9, LOST))
    issue = known(action)
    closed = replace(issue, is_open=False)

    assert plan_actions(silent_for(10, LOST), (issue,)) == ()
    assert plan_actions(silent_for(10, LOST), (closed,)) == ()
    ended = the_one(silent_for(10, FAST), issue)
    assert (ended.number, ended.record.state) == (7, IssueState.FIXED)
    # An issue about slowness is another one.
    assert the_one(silent_for(10, SLOW), closed).record.measured == ""
    assert list_bases((issue,), (), config="megtrim.yaml", head=BAD) == ()
    body = render_issue(action, PLACE).body
    assert read_record(body) == action.record
    assert "has a time of `" in body
    assert "pixel-6 is off" in body
    assert render_issue(action, PLACE).title.endswith("is not measured")
    assert "**Measured again** at " in render_issue(ended, PLACE).body


OTHER = replace(SLOW, experiment="nchw44")
OTHER_FAST = replace(FAST, experiment="nchw44")
OPEN = opened()
BOTH = known(the_one(night(SLOW, OTHER)))
ACCEPTED = replace(OPEN, is_open=False)
LATE = known(the_one(night(SLOW, run=9)))
FIXED = opened(state=IssueState.FIXED)
TWO = (replace(OPEN, number=9), OPEN)


@pytest.mark.parametrize(
    ("tonight", "issues", "expected"),
    [
        # One issue for each scenario, however many of its experiments got slower.
        (night(SLOW, OTHER, replace(SLOW, scenario=TUNED)), (), "0 regressed, 0 regressed"),
        # Measured against the same base, and not slower any more; not a base that was slow.
        (night(FAST, head=LATER, run=3), (OPEN,), "7 fixed"),
        (night(FAST, base=BAD, head=LATER, run=3), (OPEN,), ""),
        (night(FAST, base="", head=LATER, run=3), (OPEN,), ""),
        # One row that is missing this night keeps it open, whatever the others do.
        (night(FAST, run=3), (BOTH,), ""),
        (night(FAST, OTHER, run=3), (BOTH,), "7 regressed"),
        (night(FAST, OTHER_FAST, run=3), (BOTH,), "7 fixed"),
        # An old night that is repeated: a later one knows better.
        (night(FAST, run=8, attempt=2), (LATE,), ""),
        (night(SLOW, run=8, attempt=2), (replace(LATE, is_open=False),), ""),
        # A person closed it: until the base moves on, or another row gets slower.
        (night(SLOW, run=3), (ACCEPTED,), ""),
        (night(SLOW, OTHER, run=3), (ACCEPTED,), "0 regressed"),
        (night(SLOW, base=BAD, head=LATER, run=3), (ACCEPTED,), "0 regressed"),
        # What was fixed may break again; one that was opened again is followed.
        (night(SLOW, run=3), (replace(FIXED, is_open=False),), "0 regressed"),
        (night(SLOW, run=3), (FIXED,), "7 regressed"),
        # Two jobs at once may both open one: the older stays, whether it is slow or fixed.
        (night(SLOW, run=3), TWO, "7 regressed, 9 duplicate"),
        (night(FAST, run=3), TWO, "7 fixed, 9 duplicate"),
        # Without a commit no one could say which are suspected, nor ever fix it.
        (night(SLOW, base=""), (), ""),
        # Another configuration has its own issues of the same scenario.
        (night(SLOW, config="b/megtrim.yaml"), (OPEN,), "0 regressed"),
    ],
)
def test_the_fate_of_issues(tonight: Night, issues: tuple[KnownIssue, ...], expected: str) -> None:
    actions = plan_actions(tonight, issues)

    assert ", ".join(f"{each.number} {each.record.state}" for each in actions) == expected


def test_an_issue_lists_what_is_slower() -> None:
    assert the_one(night(FAST, OTHER, run=3), BOTH).record.subjects == (OTHER.subject,)
    both = tuple(sorted((SLOW.subject, OTHER.subject)))
    assert the_one(night(OTHER, run=3), OPEN).record.subjects == both
    assert the_one(night(FAST, head=LATER, run=3), OPEN).rows == (FAST,)


def test_trimming_that_costs_time_opens_an_issue() -> None:
    """It is compared with plain by the same night: no commits are suspected."""
    reduced = TRIMMING.variants[2]
    slower = replace(ratio(1.2, against=Reference.PLAIN))
    costly = replace(
        TRIMMING,
        status=PerformanceStatus.REGRESSED,
        variants=(*TRIMMING.variants[:2], replace(reduced, ratio=slower)),
    )

    action = the_one(night(costly, base=""))
    assert (action.record.base, action.record.last_good) == ("", "")
    assert list_slower(costly) == (slower,)
    repaired = the_one(night(TRIMMING, base="", run=3), known(action))
    assert repaired.record.state is IssueState.FIXED
    # A regression of the program joins the same issue, which then has a base.
    both = the_one(night(costly, SLOW, run=3), known(action))
    assert (both.record.base, len(both.record.subjects)) == (GOOD, 2)


def history(*medians_ms: float) -> tuple[HistoryRun, ...]:
    return tuple(
        make_run(place, [make_row(each, scenario=RESNET, experiment="baseline")], device="board-1")
        for place, each in enumerate(medians_ms)
    )


def commit(number: int) -> str:
    return f"{number:040x}"


@pytest.mark.parametrize(
    ("medians_ms", "last_good", "first_bad"),
    [
        ((4.0,), commit(0), BAD),
        ((4.0, 4.1, 4.05), commit(2), BAD),
        ((4.0, 4.1, 5.2, 5.3), commit(1), commit(2)),
        ((4.0, 5.2, 4.0, 5.1), commit(2), commit(3)),
        ((4.0, 5.2), commit(0), commit(1)),
    ],
)
def test_history_narrows_it(medians_ms: tuple[float, ...], last_good: str, first_bad: str) -> None:
    record = the_one(night(SLOW, base=commit(0), runs=history(*medians_ms))).record

    assert (record.last_good, record.first_bad) == (last_good, first_bad)
    # A history of another device says nothing.
    elsewhere = replace(SLOW, device="board-2")
    record = the_one(night(elsewhere, base=commit(0), runs=history(*medians_ms))).record
    assert (record.last_good, record.first_bad) == (commit(0), BAD)


STATES = st.sampled_from([*SILENT, SLOW, FAST, None])


@given(st.lists(STATES, min_size=1, max_size=12))
def test_no_run_of_nights_is_judged_wrongly(nights: list[PerformanceRow | None]) -> None:
    issues: dict[int, KnownIssue] = {}
    truth = False
    for place, found in enumerate(nights):
        rows = () if found is None else (found,)
        tonight = night(*rows, run=place + 1)
        truth = (truth or found is SLOW) and found is not FAST
        for _ in range(2):  # every job is repeated
            for action in plan_actions(tonight, issues.values()):
                number = action.number or len(issues) + 1
                still = action.record.state is IssueState.REGRESSED
                issues[number] = KnownIssue(number=number, is_open=still, record=action.record)
        assert [each.is_open for each in issues.values()].count(True) == truth


def measured(nights: int) -> tuple[HistoryRun, ...]:
    """Return nights of two devices, each with a commit of its own."""
    return tuple(
        make_run(number, device=device) for number in range(nights) for device in ("old", "new")
    )


RUNS = history(4.0, 4.1)
CLOSED_RISE = replace(opened(base=commit(19), first_bad=commit(20)), is_open=False)
FIXED_RISE = replace(CLOSED_RISE, record=replace(CLOSED_RISE.record, state=IssueState.FIXED))
ELSEWHERE = replace(CLOSED_RISE, record=replace(CLOSED_RISE.record, config="other.yaml"))


@pytest.mark.parametrize(
    ("runs", "issues", "head", "expected"),
    [
        # The last commit that was measured; none on the first night.
        (RUNS, (), BAD, commit(1)),
        ((), (), BAD, ""),
        (RUNS, (), commit(1), commit(0)),
        (RUNS[:1], (), commit(0), ""),
        # It stays while an issue is open: that of the oldest, of this configuration.
        (RUNS, (replace(opened(base=LATER), number=9), OPEN), BAD, GOOD),
        (RUNS, (ACCEPTED, replace(opened(base=LATER), number=9)), BAD, LATER),
        (RUNS, (ACCEPTED, opened(config="other.yaml"), opened(base="")), BAD, commit(1)),
        # Once a week it is that of a fortnight ago, which small steps add up to.
        (measured(6), (), BAD, commit(5)),
        (measured(7), (), BAD, commit(0)),
        (measured(27), (), BAD, commit(26)),
        (measured(28), (), BAD, commit(14)),
        # The night after looks past that one: its last step was only seen with others.
        (measured(8), (), BAD, commit(6)),
        (measured(29), (), BAD, commit(27)),
        (measured(30), (), BAD, commit(29)),
        # A person accepted what came before by closing its issue, here and not elsewhere.
        (measured(28), (CLOSED_RISE,), BAD, commit(20)),
        (measured(28), (FIXED_RISE,), BAD, commit(14)),
        (measured(28), (ELSEWHERE,), BAD, commit(14)),
        (measured(21), (CLOSED_RISE,), BAD, commit(20)),
        (measured(22), (CLOSED_RISE,), BAD, commit(20)),
    ],
)
def test_the_base_of_a_night(
    runs: Sequence[HistoryRun], issues: tuple[KnownIssue, ...], head: str, expected: str
) -> None:
    assert next(iter(list_bases(issues, runs, config="megtrim.yaml", head=head)), "") == expected
