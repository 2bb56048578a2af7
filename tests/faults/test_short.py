"""The suite in short: some faults of every kind, and a product that is wrong on purpose.

In full: `nox -s faults`.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faults import suite
from faults.matrix import WAYS, Case, Fault, Judged, Moment, Verdict, judge, short, tally
from faults.record import summary
from faults.suite import attempt
from faults.world import Lane, compile_program, lane
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.remote.run_directory import RemoteDirectory
from megtrim.places.devices.remote.transport import ConnectionLost


@pytest.fixture
def phones(processes: ProcessRunner, tmp_path: Path) -> Iterator[Lane]:
    with lane(processes, os.getpid(), tmp_path) as found:
        yield found


def test_no_verdict_is_wrong() -> None:
    judged, _ = suite.run(short(), lanes=2, in_short=True, tell=lambda _judged: None)
    found = tally(judged)
    wrong = [f"{each.case}: {said}" for each in judged for said in each.wrong]
    assert wrong == [], summary(judged)
    assert (found.runs, found.void, found.left) == (len(short()), 0, 0), summary(judged)
    assert found.given_up == 0, [f"{e.case}: {e.seen.text}" for e in judged if e.given_up]


def test_a_lost_link_taken_for_a_failure_is_caught(
    phones: Lane, processes: ProcessRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suite can fail: a device room that says exit status 1 for a lost link is found out."""
    honest = RemoteDirectory.run

    def lying(directory: RemoteDirectory, *words: object, **more: object) -> ProgramRun:
        try:
            return honest(directory, *words, **more)  # type: ignore[arg-type]
        except ConnectionLost as lost:
            return ProgramRun(
                argv=("load_and_run",),
                rc=1,
                stdout="",
                stderr=lost.message,
                wall_s=1.0,
                timed_out=False,
            )

    judged = _unplugged(phones, processes, tmp_path)
    assert (judged.seen.verdict, judged.wrong) == (Verdict.PASS, ())
    monkeypatch.setattr(RemoteDirectory, "run", lying)
    judged = _unplugged(phones, processes, tmp_path)
    assert judged.seen.fired
    assert [text.split(",")[0] for text in judged.wrong] == ["it says engine-error"]


def _unplugged(phones: Lane, processes: ProcessRunner, tmp_path: Path) -> Judged:
    compiled = compile_program(processes, tmp_path).read_bytes()
    way = replace(WAYS[0], turn=1)
    case = Case(number=1, fault=Fault.UNPLUG, moment=Moment.RUN, way=way)
    return judge(case, attempt(case, phones, compiled))
