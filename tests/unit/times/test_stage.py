from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.chain.graph import BASE, REDUCED, Stage
from megtrim.core.chain.session import Session
from megtrim.core.chain.stage_result import dump_result, parse_result
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.config_id import DEFAULT_CONFIG
from megtrim.core.config.model import Config
from megtrim.core.evidence.evidence import JobPurpose
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.lab.evidence.bundle import BundleContest
from megtrim.lab.evidence.times import ContestRecord, TimesJudge, read_times
from megtrim.lab.jobs.pack import list_devices
from megtrim.libs.util.console import show_time
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.times import plan
from megtrim.times import stage as perf
from megtrim.times.experiments.contest import Contest, ContestResult, Side
from megtrim.times.measuring.contest_plan import find_files, plan_contest, plan_for_runner
from megtrim.times.measuring.timing_runs import ContestFiles
from unit.core.trim.stages.built import finish
from unit.core.trim.stages.fake_device import FakeDevice
from unit.core.trim.stages.support import changed
from unit.lab.evidence.support import BUNDLE, contest_result, write_times
from unit.lab.jobs.timed import PERF, timed
from unit.times.measuring.test_timing_runs import CONFIG, find_task, open_session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return open_session(tmp_path)


def test_a_contest_depends_on_program_files_and_settings(session: Session) -> None:
    tuned = perf.inputs(find_task(session, "m/s@any#fast-run"), session)
    trimmed = perf.inputs(find_task(session, "m/s@any#trimming-reduced"), session)

    assert {"plain", "model", "input data", "contest", "method", "device kind"} <= tuned.keys()
    assert trimmed.keys() - tuned.keys() == {"reduced"}
    assert '"threshold": 0.03' in tuned["contest"]


def test_a_comparison_with_a_base_rests_on_both_programs(session: Session) -> None:
    session.done[BASE] = session.done[REDUCED]
    task = find_task(session, "m/s@any#since-fast-run", since_base=True)
    own = perf.inputs(find_task(session, "m/s@any#fast-run"), session)
    since = perf.inputs(task, session)

    assert since.keys() - own.keys() == {"base"}
    contest = plan_contest(task, session)
    assert isinstance(contest, Contest)
    reference, rival = (each for _, each in contest.sides)
    assert (reference.name, rival.name) == ("base", "fast-run")
    assert [each.step for each in reference.commands] == [each.step for each in rival.commands]
    files = find_files(task, session)
    assert isinstance(files, ContestFiles)
    programs = files.programs
    assert programs[Side.REFERENCE] != programs[Side.RIVAL]


def test_another_threshold_is_measured_again(session: Session, tmp_path: Path) -> None:
    """It decides when the runs end; it does not for the baseline alone."""
    (tmp_path / "other").mkdir()
    sessions = session, open_session(tmp_path / "other", CONFIG.replace("3%", "4%"))
    for name, same in (("m/s@any#fast-run", False), ("m/s@any#baseline", True)):
        first, second = (perf.inputs(find_task(each, name), each) for each in sessions)
        assert (first == second) is same


def test_what_cannot_be_held_is_a_result_with_a_reason(session: Session, tmp_path: Path) -> None:
    device = FakeDevice("here")
    session = changed(session, devices={"any": device})
    found = perf.work(find_task(session, "m/s@any#nchw88"), session, tmp_path)

    assert found.skipped == "needs x86_64, and this is aarch64"
    assert (found.contest, found.measured, found.exit_code) == (None, None, 0)
    assert device.runs == []


@pytest.mark.parametrize(
    ("features", "skipped"),
    [
        ("fp asimd", "phone: needs a CPU with dotprod, which this one does not have"),
        ("fp asimd asimddp", ""),
    ],
)
def test_a_phone_without_a_feature_is_skipped_once_it_is_reached(
    session: Session, tmp_path: Path, features: str, skipped: str
) -> None:
    phone = FakeDevice("phone", kind="adb", reported={"CPU features": features})
    session = changed(session, devices={"any": phone})
    found = perf.work(find_task(session, "m/s@any#nchw44-dot"), session, tmp_path)

    assert found.skipped == skipped
    assert bool(phone.runs) == (found.measured is not None) == (not skipped)


def test_a_comparison_says_its_place_and_what_is_left(session: Session) -> None:
    tasks = [each for each in plan.perf_tasks(session.config) if each.stage is Stage.PERF]
    took = ContestResult(status=PerformanceStatus.MEASURED, time_s=20.0)
    finish(session, tasks[0].id, {}, {"number": "0"}, measured=took)
    finish(session, tasks[1].id, {}, {"number": "1"}, measured=None)

    assert perf._describe_place(tasks[0], session) == f"comparison 1 of {len(tasks)}"
    left = show_time(10.0 * (len(tasks) - 2))
    place = perf._describe_place(tasks[2], session)
    assert place == f"comparison 3 of {len(tasks)}, about {left} left"


def test_a_program_that_fails_costs_its_own_row(session: Session, tmp_path: Path) -> None:
    session = changed(session, devices={"any": FakeDevice("here", reported={"model": "P"})})
    found = perf.work(find_task(session, "m/s@any#record-1"), session, tmp_path)

    assert found.measured is not None
    assert found.measured.status is PerformanceStatus.FAILED
    assert found.measured.reason == "baseline: it dumped no output"
    assert found.device is not None
    assert (found.device.name, found.subject, found.exit_code) == ("here", "record-1", 1)
    assert parse_result(plan.PerfResult, dump_result(found)) == found


BOARD = DeviceIdentity(name="board", kind="local", facts={})
NAME = "m/s@any#fast-run-cache"
CRASHED = contest_result(status=PerformanceStatus.FAILED, reason="it crashed", samples=())
HUNG = contest_result(status=PerformanceStatus.FAILED, reason="it hung", samples=())


def asked(session: Session) -> BundleContest:
    task = find_task(session, NAME)
    contest = plan_for_runner(task, session)
    assert not isinstance(contest, str)
    return perf.describe_contest(task, session, contest)


def taking(session: Session, folder: Path) -> Session:
    judge = TimesJudge(
        brought=read_times([folder], config=DEFAULT_CONFIG)[0],
        devices=list_devices(session.request, JobPurpose.TIME),
        pending=None,
        today=date(2027, 1, 31),
    )
    return changed(session, timed=judge)


def bring(session: Session, folder: Path, result: ContestResult, **changes: Any) -> Session:
    binding = asked(session).binding
    record = ContestRecord(bundle=BUNDLE, contest=NAME, binding=binding, result=result)
    write_times(folder, record, **{"device": BOARD, **changes})
    return taking(session, folder)


def test_what_was_brought_is_the_result(tmp_path: Path) -> None:
    session = bring(timed(tmp_path), tmp_path / "times", CRASHED)
    found = perf.work(find_task(session, NAME), session, tmp_path)

    assert (found.scenario, found.subject) == ("m/s@any", "fast-run-cache")
    assert (found.device, found.emulated, found.skipped) == (BOARD, False, "")
    assert (found.contest, found.measured) == (asked(session).contest, CRASHED)


def test_a_key_rests_on_what_was_brought(tmp_path: Path) -> None:
    base = timed(tmp_path)
    first = bring(base, tmp_path / "1", CRASHED)
    same = bring(base, tmp_path / "2", CRASHED)
    other = bring(base, tmp_path / "3", HUNG)
    facts = replace(BOARD, facts={"serial": "2"})
    elsewhere = bring(base, tmp_path / "4", CRASHED, device=facts)
    keys = [perf.inputs(find_task(each, NAME), each) for each in (first, same, other, elsewhere)]

    assert keys[0] == keys[1]
    assert keys[0] != keys[2]
    assert keys[0] != keys[3]
    assert "device kind" not in keys[0]


def test_what_no_job_brought_is_lost(tmp_path: Path) -> None:
    """It is not measured here instead: that would be another device's time."""
    session = bring(timed(tmp_path), tmp_path / "times", CRASHED)
    task = find_task(session, "m/s@any#baseline")
    for work in (lambda: perf.inputs(task, session), lambda: perf.work(task, session, tmp_path)):
        with pytest.raises(InfrastructureFailure, match="no device job delivered a result for it"):
            work()


def test_a_class_without_a_runner_is_skipped(tmp_path: Path) -> None:
    session = bring(timed(tmp_path), tmp_path / "times", CRASHED)
    task = find_task(session, "m/s@big#baseline")

    reason = "no device of class big is attached to a runner"
    assert perf.inputs(task, session)["contest"] == reason
    assert perf.work(task, session, tmp_path).skipped == reason


def test_a_class_on_machines_of_github_is_not_timed(tmp_path: Path) -> None:
    session = timed(tmp_path, PERF.replace("{name: any}", "{name: any, runner: ubuntu-24.04-arm}"))

    reason = "class any runs on machines of GitHub's, whose times are not compared"
    assert plan_for_runner(find_task(session, NAME), session) == reason


def make_config(perf: dict[str, Any], **keys: Any) -> Config:
    scenarios = [{"name": "default"}, {"name": "tuned", "fast_run": True}]
    return Config.model_validate(
        {
            "version": 1,
            "engine": {"kind": "sample"},
            "classes": [{"name": "big"}, {"name": "little"}],
            "models": [{"name": "m", "file": "m.mge", "scenarios": scenarios}],
            "perf": perf,
            **keys,
        }
    )


def test_experiments_need_the_plain_build_alone() -> None:
    found = plan.perf_tasks(make_config({"experiments": ["nchw88"]}))

    assert next(task.id for task in found) == "build/plain"
    measured = [task for task in found if task.stage is Stage.PERF]
    first, second, *_ = measured
    assert (first.name, second.name) == ("m/default@big#baseline", "m/default@big#nchw88")
    assert len(measured) == 8
    assert {task.needs for task in measured} == {("build/plain",)}
    stages = {Stage.BUILD, Stage.PERF, Stage.VERDICT, Stage.REPORT}
    assert {task.stage for task in found} == stages


def test_trimming_needs_a_trim() -> None:
    found = plan.perf_tasks(make_config({"experiments": [], "trimming": True}))

    measured = {task.name: task for task in found if task.stage is Stage.PERF}
    assert sorted(measured) == [
        "m/default@big#trimming-reduced",
        "m/default@little#trimming-reduced",
        "m/tuned@big#trimming-reduced",
        "m/tuned@little#trimming-reduced",
    ]
    assert measured["m/tuned@big#trimming-reduced"].needs == (
        "build/plain",
        "profile/m/tuned@big#search",
        "reduce/reduced",
    )
    assert plan.subject_of(measured["m/tuned@big#trimming-reduced"]) == "trimming-reduced"
    assert not any(task.stage in (Stage.VERIFY, Stage.SIZE) for task in found)


@pytest.mark.parametrize(
    ("trim", "variants"),
    [
        ({}, ["reduced"]),
        ({"level": "function"}, ["region", "reduced"]),
        ({"level": "function", "base": "plain"}, ["reduced"]),
    ],
)
def test_each_level_of_trimming_is_compared(trim: dict[str, str], variants: list[str]) -> None:
    assert [name for name, _ in plan.list_trimmed(make_config({}, trim=trim))] == variants


@pytest.mark.parametrize(
    ("perf", "expected"),
    [
        ({}, ["m/default@big", "m/default@little", "m/tuned@big", "m/tuned@little"]),
        ({"scenarios": ["m/tuned"]}, ["m/tuned@big", "m/tuned@little"]),
        ({"scenarios": ["m/tuned@big"]}, ["m/tuned@big"]),
        ({"classes": ["little"]}, ["m/default@little", "m/tuned@little"]),
        ({"scenarios": ["m/default"], "classes": ["big"]}, ["m/default@big"]),
    ],
)
def test_scenarios_and_classes_are_chosen(perf: dict[str, Any], expected: list[str]) -> None:
    assert [each.id for each in plan.select_measured(make_config(perf))] == expected


def test_the_verdict_speaks_of_all_and_the_report_of_the_verdict() -> None:
    *before, verdict, report = plan.perf_tasks(make_config({"experiments": ["nchw88"]}))

    assert verdict.needs == ()
    assert set(verdict.wants) == {task.id for task in before}
    assert report.needs == (verdict.id,)


def test_each_experiment_is_compared_with_the_base() -> None:
    config = make_config({"experiments": ["nchw88"], "scenarios": ["m/default@big"]})

    found = plan.perf_tasks(config, since_base=True)

    measured = {plan.subject_of(task): task.needs for task in found if task.stage is Stage.PERF}
    assert measured == {
        "baseline": ("build/plain",),
        "since-baseline": ("build/plain", "build/base"),
        "nchw88": ("build/plain",),
        "since-nchw88": ("build/plain", "build/base"),
    }
    assert not any(task.id == "build/base" for task in found)
