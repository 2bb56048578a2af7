"""What becomes of issues after a night: pure decisions on made-up nights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.nights.history import HistoryRun
from megtrim.perf.nights.regressions import (
    IssueAction,
    IssueState,
    KnownIssue,
    Night,
    RegressionRecord,
    Row,
    list_bases,
    list_slower,
    plan_actions,
)
from megtrim.perf.rows.model import Performance, PerformanceRow, TrimmingRow
from megtrim.perf.times import Answer, Reference
from support.history_entries import make_row, make_run
from unit.verdict.examples import RESNET, TUNED
from unit.verdict.performance_examples import TRIMMING, ratio, row, since, skipped

GOOD, BAD, LATER = ("a" * 40, "b" * 40, "c" * 40)
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
"""Rows that prove neither a regression nor its repair."""


def night(*rows: Row, base: str = GOOD, head: str = BAD, run: int = 2, **more: object) -> Night:
    """Return a night with these rows."""
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
    """Return the only action of a night."""
    (action,) = plan_actions(of, known)
    return action


def known(action: IssueAction, *, number: int = 7, is_open: bool = True) -> KnownIssue:
    """Return the issue that an action left."""
    return KnownIssue(number=action.number or number, is_open=is_open, record=action.record)


def opened(**changes: object) -> KnownIssue:
    """Return the issue of the slow scenario, with a record that was changed."""
    issue = known(the_one(night(SLOW)))
    return replace(issue, record=replace(issue.record, **changes))  # type: ignore[arg-type]


def test_a_regression_opens_an_issue() -> None:
    """With what it was compared with, and the commits that may have done it."""
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


def test_one_issue_for_each_scenario() -> None:
    """However many of its experiments got slower."""
    other = replace(SLOW, experiment="nchw44")
    elsewhere = replace(SLOW, scenario=TUNED)

    actions = plan_actions(night(SLOW, other, elsewhere), ())

    assert [each.record.scenario for each in actions] == sorted([RESNET, TUNED])
    assert {len(each.rows) for each in actions} == {1, 2}


@pytest.mark.parametrize("silent", SILENT, ids=lambda each: str(each.status))
def test_what_was_not_decided_changes_nothing(silent: PerformanceRow) -> None:
    """It opens no issue, and closes and updates none; nor does a row that is missing."""
    assert plan_actions(night(silent), ()) == ()
    assert plan_actions(night(silent), (opened(),)) == ()
    assert plan_actions(night(), (opened(),)) == ()


def test_a_repair_closes_it() -> None:
    """Measured against the same base, and not slower any more."""
    action = the_one(night(FAST, head=LATER, run=3), opened())

    assert (action.number, action.record.state, action.rows) == (7, IssueState.REPAIRED, (FAST,))


def test_as_fast_as_a_slow_base_is_no_repair() -> None:
    """Nor is a night that had no base."""
    for base in (BAD, ""):
        assert plan_actions(night(FAST, base=base, head=LATER, run=3), (opened(),)) == ()


def test_all_rows_of_an_issue_must_be_repaired() -> None:
    """One that is missing this night keeps it open, whatever the others do."""
    other = replace(SLOW, experiment="nchw44")
    issue = known(the_one(night(SLOW, other)))

    assert plan_actions(night(FAST, run=3), (issue,)) == ()
    still = the_one(night(FAST, other, run=3), issue)
    assert (still.record.state, still.record.subjects) == (IssueState.REGRESSED, (other.subject,))
    both = night(FAST, replace(FAST, experiment="nchw44"), run=3)
    assert the_one(both, issue).record.state is IssueState.REPAIRED


def test_a_row_that_is_missing_stays_in_the_issue() -> None:
    """While another one of its scenario gets slower."""
    other = replace(SLOW, experiment="nchw44")

    action = the_one(night(other, run=3), opened())

    assert action.record.subjects == tuple(sorted((SLOW.subject, other.subject)))


def test_a_repeated_night_plans_the_same() -> None:
    """The issue that it opened is updated to what it says already."""
    first = the_one(night(SLOW))
    again = the_one(night(SLOW), known(first))

    assert (again.record, again.rows) == (first.record, first.rows)


def test_an_old_night_that_is_repeated_is_silent() -> None:
    """A later one knows better."""
    later = known(the_one(night(SLOW, run=9)))

    assert plan_actions(night(FAST, run=8, attempt=2), (later,)) == ()
    assert plan_actions(night(SLOW, run=8, attempt=2), (replace(later, is_open=False),)) == ()


def test_the_range_stays_that_of_the_first_night() -> None:
    """Later nights are slow, too, and say nothing about when it began."""
    action = the_one(night(SLOW, head=LATER, run=3), opened())

    assert (action.record.last_good, action.record.first_bad) == (GOOD, BAD)


def test_an_issue_that_a_person_closed_is_accepted() -> None:
    """Until the base moves on, or another row gets slower."""
    accepted = replace(opened(), is_open=False)
    other = replace(SLOW, experiment="nchw44")

    assert plan_actions(night(SLOW, run=3), (accepted,)) == ()
    assert the_one(night(SLOW, other, run=3), accepted).number == 0
    assert the_one(night(SLOW, base=BAD, head=LATER, run=3), accepted).number == 0


def test_what_was_repaired_may_break_again() -> None:
    """Megtrim closed that issue; the next one is new."""
    repaired = replace(opened(state=IssueState.REPAIRED), is_open=False)

    assert the_one(night(SLOW, run=3), repaired).number == 0


def test_an_issue_that_was_opened_again_is_followed() -> None:
    """It is of a regression again."""
    reopened = opened(state=IssueState.REPAIRED)

    assert the_one(night(SLOW, run=3), reopened).record.state is IssueState.REGRESSED


def test_doubles_are_closed() -> None:
    """Two jobs at once may both open one: the older stays, whether it is slow or repaired."""
    first, second = opened(), replace(opened(), number=9)

    for found in (SLOW, FAST):
        kept, double = plan_actions(night(found, run=3), (second, first))
        assert (kept.number, double.number) == (7, 9)
        assert double.record.state is IssueState.DOUBLE


def test_a_base_without_a_commit_opens_nothing() -> None:
    """No one could say which commits are suspected, nor ever repair it."""
    assert plan_actions(night(SLOW, base=""), ()) == ()


def test_another_configuration_has_its_own_issues() -> None:
    """Of the same scenario."""
    assert the_one(night(SLOW, config="b/megtrim.yaml"), opened()).number == 0


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
    assert repaired.record.state is IssueState.REPAIRED
    # A regression of the program joins the same issue, which then has a base.
    both = the_one(night(costly, SLOW, run=3), known(action))
    assert (both.record.base, len(both.record.subjects)) == (GOOD, 2)


def history(*medians_ms: float) -> tuple[HistoryRun, ...]:
    """Return nights of the baseline on board-1; the commit of each is its number."""
    return tuple(
        make_run(place, [make_row(each, scenario=RESNET, contestant="baseline")], device="board-1")
        for place, each in enumerate(medians_ms)
    )


def commit(number: int) -> str:
    """Return the commit of a night of the history."""
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
def test_the_history_narrows_the_range(
    medians_ms: tuple[float, ...], last_good: str, first_bad: str
) -> None:
    """Each night since the base was fast or slow, by what it is nearer to."""
    record = the_one(night(SLOW, base=commit(0), runs=history(*medians_ms))).record

    assert (record.last_good, record.first_bad) == (last_good, first_bad)


def test_a_history_of_another_device_says_nothing() -> None:
    """The range is all that came since the base."""
    elsewhere = replace(SLOW, device="board-2")
    record = the_one(night(elsewhere, base=commit(0), runs=history(4.0, 4.1, 5.2))).record

    assert (record.last_good, record.first_bad) == (commit(0), BAD)


STATES = st.sampled_from([*SILENT, SLOW, FAST, None])


@given(st.lists(STATES, min_size=1, max_size=12))
def test_no_run_of_nights_is_judged_wrongly(nights: list[PerformanceRow | None]) -> None:
    """An issue is open exactly if the last night that decided anything was slow."""
    issues: dict[int, KnownIssue] = {}
    truth = False
    for place, found in enumerate(nights):
        tonight = night(*(() if found is None else (found,)), run=place + 1)
        truth = (truth or found is SLOW) and found is not FAST
        for _ in range(2):  # every job is repeated
            for action in plan_actions(tonight, issues.values()):
                number = action.number or len(issues) + 1
                still = action.record.state is IssueState.REGRESSED
                issues[number] = KnownIssue(number=number, is_open=still, record=action.record)
        assert [each.is_open for each in issues.values()].count(True) == truth


def choose_best(
    known: Sequence[KnownIssue], runs: Sequence[HistoryRun], *, config: str, head: str
) -> str:
    """Return the base of a night that can be built and is an ancestor."""
    return next(iter(list_bases(known, runs, config=config, head=head)), "")


def test_the_base_is_the_last_commit_that_was_measured() -> None:
    """There is none on the first night; where nothing changed since, it is the one before."""
    runs = history(4.0, 4.1)

    assert choose_best((), runs, config="megtrim.yaml", head=BAD) == commit(1)
    assert choose_best((), (), config="megtrim.yaml", head=BAD) == ""
    assert choose_best((), runs, config="megtrim.yaml", head=commit(1)) == commit(0)
    assert choose_best((), runs[:1], config="megtrim.yaml", head=commit(0)) == ""


def test_the_base_stays_while_an_issue_is_open() -> None:
    """That of the oldest; issues that are closed, or of another configuration, do not count."""
    runs, first, second = history(4.0), opened(), replace(opened(base=LATER), number=9)
    closed = replace(first, is_open=False)

    def choose(*issues: KnownIssue) -> str:
        return choose_best(issues, runs, config="megtrim.yaml", head=BAD)

    assert choose(second, first) == GOOD
    assert choose(closed, second) == LATER
    assert choose(closed, opened(config="other.yaml"), opened(base="")) == commit(0)


def rising(nights: int, ratio: float, *, at: int, slope: bool = False) -> tuple[HistoryRun, ...]:
    """Return nights whose times grow by a ratio: at once, or from that night to the last."""
    noise = np.random.default_rng(5).standard_normal(nights)
    found = []
    for number in range(nights):
        risen = (number - at) / (nights - 1 - at) if slope else 1.0
        growth = 1 + (ratio - 1) * risen * (number >= at)
        found.append(make_run(number, [make_row(40 * growth * (1 + 0.002 * noise[number]))]))
    return tuple(found)


def choose_after(runs: Sequence[HistoryRun], *known: KnownIssue) -> str:
    return choose_best(known, runs, config="megtrim.yaml", head=BAD)


def test_a_rise_that_no_night_decided_is_compared_with_what_was_before() -> None:
    """It is found by the history alone, and opens nothing by itself; for two weeks."""
    assert choose_after(rising(30, 1.1, at=20)) == commit(19)
    assert choose_after(rising(30, 1.1, at=20)[:22]) == commit(21)
    assert choose_after(rising(40, 1.1, at=20)) == commit(39)
    assert choose_after(rising(30, 0.9, at=20)) == commit(29)
    assert choose_after(rising(30, 1.0, at=20)) == commit(29)


def test_a_slope_is_compared_with_what_was_two_weeks_ago() -> None:
    """No single night is slower than the one before it by more than any threshold."""
    assert choose_after(rising(60, 1.2, at=5, slope=True)) == commit(46)
    assert choose_after(rising(60, 0.8, at=5, slope=True)) == commit(59)


def test_a_rise_that_a_person_accepted_is_none() -> None:
    """Its issue was closed by hand: the new time is the one to keep."""
    runs = rising(30, 1.1, at=20)
    accepted = replace(opened(base=commit(19)), is_open=False)
    accepted = replace(accepted, record=replace(accepted.record, first_bad=commit(20)))
    repaired = replace(accepted, record=replace(accepted.record, state=IssueState.REPAIRED))

    assert choose_after(runs, accepted) == commit(29)
    assert choose_after(runs, repaired) == commit(19)
    other = replace(accepted, record=replace(accepted.record, config="other.yaml"))
    assert choose_after(runs, other) == commit(19)


def test_a_scenario_that_is_gone_holds_no_base() -> None:
    """Nor does a device: its series ended."""
    gone = rising(30, 1.1, at=20)
    now = tuple(make_run(number, device="new") for number in range(30, 60))

    assert choose_after((*gone, *now)) == commit(59)
