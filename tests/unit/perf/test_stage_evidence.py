"""The stage `perf` on what device jobs brought: the same result as of its own runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.graph import Stage, Task
from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.config.config_id import DEFAULT_CONFIG
from megtrim.evidence.bundle_contest import BundleContest
from megtrim.evidence.times import ContestRecord, TimesJudge, read_times
from megtrim.experiments.contest import ContestResult, PerformanceStatus
from megtrim.jobs.pack import list_runners
from megtrim.perf import stage as perf
from megtrim.perf.measuring.contest_plan import plan_for_runner
from megtrim.perf.plan import perf_tasks
from megtrim.util.errors import InfrastructureFailure
from unit.evidence.support import BUNDLE, contest_result, write_times
from unit.jobs.timed import timed
from unit.trim.stages.support import changed

BOARD = DeviceIdentity(name="board", kind="local", facts={})
NAME = "m/s@any#fast-run-cache"
CRASHED = contest_result(status=PerformanceStatus.FAILED, reason="it crashed", samples=())
HUNG = contest_result(status=PerformanceStatus.FAILED, reason="it hung", samples=())


def task_of(session: Session, name: str = NAME) -> Task:
    every = perf_tasks(session.request.config)
    return next(each for each in every if each.stage is Stage.PERF and each.name == name)


def asked(session: Session) -> BundleContest:
    """Return what a bundle would ask for."""
    task = task_of(session)
    contest = plan_for_runner(task, session)
    assert not isinstance(contest, str)
    return perf.describe_contest(task, session, contest)


def taking(session: Session, folder: Path) -> Session:
    """Return the session that takes what lies in a folder."""
    judge = TimesJudge(
        brought=read_times([folder], config=DEFAULT_CONFIG)[0],
        devices=list_runners(session.request),
        pending=None,
        today=date(2027, 1, 31),
    )
    return changed(session, timed=judge)


def bring(session: Session, folder: Path, result: ContestResult, **changes: Any) -> Session:
    """Let a device job bring a result; return the session that takes it."""
    binding = asked(session).binding
    record = ContestRecord(bundle=BUNDLE, contest=NAME, binding=binding, result=result)
    write_times(folder, record, **{"device": BOARD, **changes})
    return taking(session, folder)


def test_what_was_brought_is_the_result(tmp_path: Path) -> None:
    """With its contest, and the machine that measured; no device is asked here."""
    session = bring(timed(tmp_path), tmp_path / "times", CRASHED)
    found = perf.work(task_of(session), session, tmp_path)

    assert (found.scenario, found.subject) == ("m/s@any", "fast-run-cache")
    assert (found.device, found.emulated, found.skipped) == (BOARD, False, "")
    assert (found.contest, found.measured) == (asked(session).contest, CRASHED)


def test_a_key_rests_on_what_was_brought(tmp_path: Path) -> None:
    """On its bytes and its machine; not on where it lies."""
    base = timed(tmp_path)
    first = bring(base, tmp_path / "1", CRASHED)
    same = bring(base, tmp_path / "2", CRASHED)
    other = bring(base, tmp_path / "3", HUNG)
    facts = replace(BOARD, facts={"serial": "2"})
    elsewhere = bring(base, tmp_path / "4", CRASHED, device=facts)
    keys = [perf.inputs(task_of(each), each) for each in (first, same, other, elsewhere)]

    assert keys[0] == keys[1]
    assert keys[0] != keys[2]
    assert keys[0] != keys[3]
    assert "device kind" not in keys[0]


def test_what_no_job_brought_is_lost(tmp_path: Path) -> None:
    """It is not measured here instead: that would be another device's time."""
    session = bring(timed(tmp_path), tmp_path / "times", CRASHED)
    task = task_of(session, "m/s@any#baseline")
    for work in (
        lambda: perf.inputs(task, session),
        lambda: perf.work(task, session, tmp_path),
    ):
        with pytest.raises(InfrastructureFailure, match="no device job brought a result of it"):
            work()


def test_a_class_without_a_runner_is_skipped(tmp_path: Path) -> None:
    """No device job could bring anything of it."""
    session = bring(timed(tmp_path), tmp_path / "times", CRASHED)
    task = task_of(session, "m/s@big#baseline")

    reason = "no device of class big is attached to a runner"
    assert perf.inputs(task, session)["contest"] == reason
    assert perf.work(task, session, tmp_path).skipped == reason
