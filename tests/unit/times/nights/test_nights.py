import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from megtrim.core.checks.statuses import VerdictKind
from megtrim.core.config.config_id import DEFAULT_CONFIG
from megtrim.core.report import comment
from megtrim.core.timing.spec import Criterion, PerformanceStatus
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.core.verdict.performance import PerformanceRow
from megtrim.hosting.github.api import Api
from megtrim.lab.evidence.bundle import Bundle, BundleContest, BundleInput
from megtrim.lab.evidence.times import TimesJudge, read_times
from megtrim.lab.jobs.join import join_times
from megtrim.lab.jobs.worker import DeviceJob, run
from megtrim.libs.history.folder import append_to_folder, read_folder
from megtrim.libs.util.console import Console
from megtrim.libs.util.strict_json import dump
from megtrim.times.experiments.contest import Contestant
from megtrim.times.nights.history import RUN_FILES
from megtrim.times.nights.night import NightFacts, make_runs
from support.history_entries import make_run
from unit.core.cli.support import Shell
from unit.core.report.test_comment_rendered import inert
from unit.core.verdict.examples import passing
from unit.hosting.cli.github.job import FAST, SLOW, open_team
from unit.lab.evidence.support import (
    BUNDLE,
    CONTEST,
    DAY,
    bundle_contest,
    contest,
    device,
    record,
    scenario,
    time_bundle,
    write_evidence,
    write_times,
)
from unit.times.nights import faults
from unit.times.nights.device_faults import DEVICE_FAULTS, HEALTHY, DeviceFault, Machine

_FEWEST_FAULTS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    folder: Path
    bundle: Path
    env: pytest.MonkeyPatch
    shell: Shell


Trial = Callable[[Night], None]


def tell_contest(asked: BundleContest) -> BundleContest:
    def tell(side: Contestant) -> Contestant:
        commands = tuple(replace(each, argv=(*each.argv, HEALTHY)) for each in side.commands)
        return replace(side, commands=commands)

    held = asked.held
    assert held.rival is not None
    marked = replace(held, reference=tell(held.reference), rival=tell(held.rival))
    return replace(asked, contest=marked)


def make_bundle(folder: Path) -> Bundle:
    digests = {}
    (folder / "files").mkdir(parents=True, exist_ok=True)
    for name in ("plain", "model", "numbers"):
        digests[name] = hashlib.sha256(name.encode()).hexdigest()
        (folder / "files" / digests[name]).write_text(name, encoding="utf-8")
    criterion = Criterion(threshold=0.05, other_load=0.5)
    bad = bundle_contest(contest=contest(criterion=criterion))
    inputs = (BundleInput(name="data", file=digests["numbers"], suffix=".npy"),)
    made = time_bundle(
        bad,
        tell_contest(replace(bad, id=faults.OTHER)),
        scenarios=(scenario(model=digests["model"], inputs=inputs),),
        programs={"plain": digests["plain"]},
    )
    assert made.times is not None
    return replace(made, times=replace(made.times, engine=passing().engine.digest))


def join_night(brought: Path, bundle: Bundle) -> Verdict:
    times, problems = read_times([brought], config=DEFAULT_CONFIG)
    today = date.fromisoformat(DAY)
    judge = TimesJudge(brought=times, devices=(device(),), pending=None, today=today, bundle=BUNDLE)
    found = join_times(passing(), bundle, judge, problems)
    assert parse_verdict(to_json(found), source="verdict.json") == found
    return found


def row_of(verdict: Verdict, id_: str) -> PerformanceRow:
    assert verdict.performance is not None
    name = id_.partition("#")[2]
    return next(each for each in verdict.performance.rows if each.experiment == name)


def expect_delivered(verdict: Verdict) -> None:
    other = row_of(verdict, faults.OTHER)
    assert other.times
    assert other.device == "pixel-6"
    facts = NightFacts(commit=make_run().commit, measured_at="2027-01-31T02:00:00Z", job="1/1")
    kept = [each for made in make_runs(verdict, facts) for each in made.rows if each.times]
    assert other.experiment in {each.experiment for each in kept}
    assert inert(comment.render(verdict)).links == []


def hold_night(fault: DeviceFault, night: Night) -> Verdict:
    bundle = make_bundle(night.bundle)
    work = night.folder / "work"
    work.mkdir()
    job = DeviceJob(
        bundle=bundle,
        folder=night.bundle,
        sha256=BUNDLE,
        work=work,
        scenarios=bundle.of_class("any"),
        asked=device(),
        today=date.fromisoformat(DAY),
    )
    found = run(job, lambda: Machine(fault), Console(io.StringIO()))
    write_evidence(night.folder / "times", dump(found.evidence), dict(found.files))
    return join_night(night.folder / "times", bundle)


def try_device_fault(fault: DeviceFault, night: Night) -> None:
    verdict = hold_night(fault, night)
    row = row_of(verdict, CONTEST)

    assert row.status is fault.status
    assert fault.reason in row.reason
    assert verdict.verdict is not VerdictKind.PASS
    expect_delivered(verdict)
    assert row_of(verdict, faults.OTHER).status is PerformanceStatus.MEASURED


def try_evidence_fault(fault: faults.EvidenceFault, reason: str, night: Night) -> None:
    write_times(night.folder / "times" / "whole", record(contest=faults.OTHER))
    fault(night.folder / "times" / "bad")
    made = time_bundle(bundle_contest(), bundle_contest(id=faults.OTHER))
    assert made.times is not None
    bundle = replace(made, times=replace(made.times, engine=passing().engine.digest))
    verdict = join_night(night.folder / "times", bundle)
    row = row_of(verdict, CONTEST)

    assert row.status is PerformanceStatus.INFRASTRUCTURE
    assert reason in row.reason
    assert verdict.verdict is not VerdictKind.PASS
    expect_delivered(verdict)


def try_folder_fault(fault: Callable[[Path], object], night: Night) -> None:
    history = night.folder / "history"
    append_to_folder(history, [faults.LAST_WEEK])
    fault(history)
    append_to_folder(history, [faults.TONIGHT])
    found = read_folder(history, RUN_FILES)

    assert found.entries == (faults.LAST_WEEK, faults.TONIGHT)
    assert {each.path for each in found.unreadable} <= {faults.SPOILED}


def try_race(name: str, night: Night) -> None:
    first, second = faults.RACES[name]
    one, two = faults.open_writers(night.folder, first)
    two.append([second])

    expected = sorted({each.path: each for each in (faults.LAST_WEEK, first, second)}.items())
    found = one.read(RUN_FILES)
    assert sorted((each.path, each) for each in found.entries) == expected
    assert found.unreadable == ()


def try_issue_fault(fault: faults.Fault, night: Night) -> None:
    night.env.chdir(night.folder)
    # Pauses are not waited for.
    night.env.setitem(Api.__init__.__kwdefaults__ or {}, "pause", lambda _: None)
    with open_team(night.shell, night.env) as team:
        for number, rows, allowed in ((1, SLOW, ([], ["open"])), (2, FAST, (["open"], ["closed"]))):
            team.write(rows, run=number)
            fault(team)
            assert team.publish().status in (0, 2, 3)
            assert faults.own(team) in allowed
            faults.heal(team)
            assert team(rows, run=number).status == 0
            assert faults.own(team) == allowed[1]


FAULTS: dict[str, Trial] = {
    **{f"device: {name}": partial(try_device_fault, each) for name, each in DEVICE_FAULTS.items()},
    **{
        f"evidence: {name}": partial(try_evidence_fault, *each)
        for name, each in faults.EVIDENCE_FAULTS.items()
    },
    **{
        f"history: {name}": partial(try_folder_fault, each)
        for name, each in faults.FOLDER_FAULTS.items()
    },
    **{f"history: {name}": partial(try_race, name) for name in faults.RACES},
    **{
        f"issues: {name}": partial(try_issue_fault, each)
        for name, each in faults.ISSUE_FAULTS.items()
    },
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundle")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_night_costs_itself_alone(
    name: str,
    bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shell = Shell(tmp_path, capsys)
    FAULTS[name](Night(folder=tmp_path, bundle=bundle, env=monkeypatch, shell=shell))


def test_there_are_many_faults() -> None:
    assert len(FAULTS) >= _FEWEST_FAULTS
    parts = {name.partition(":")[0] for name in FAULTS}
    assert parts == {"device", "evidence", "history", "issues"}


def test_a_night_without_a_fault_is_measured(
    bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nothing = DeviceFault(change=lambda each: each, status=PerformanceStatus.MEASURED, reason="")
    shell = Shell(tmp_path, capsys)
    night = Night(folder=tmp_path, bundle=bundle, env=monkeypatch, shell=shell)
    verdict = hold_night(nothing, night)

    statuses = {row_of(verdict, each).status for each in (CONTEST, faults.OTHER)}
    assert statuses == {PerformanceStatus.MEASURED}
    assert verdict.verdict is VerdictKind.PASS
