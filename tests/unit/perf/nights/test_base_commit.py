"""Which commit a night is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from megtrim.perf.nights.base_commit import list_bases
from megtrim.perf.nights.history import HistoryRun
from megtrim.perf.nights.regressions import IssueState, KnownIssue
from support.history_entries import make_row, make_run
from unit.perf.nights.test_regressions import BAD, GOOD, LATER, commit, history, opened


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
