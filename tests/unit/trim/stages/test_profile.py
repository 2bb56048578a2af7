import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.graph import Stage, Task
from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.evidence.bundle import binding
from megtrim.evidence.evidence import DeviceResult
from megtrim.trim.results import SearchResult, TraceResult
from megtrim.trim.stages import profile
from megtrim.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from unit.evidence.support import brought
from unit.trim.stages.built import CONFIG, built
from unit.trim.stages.support import changed, trace

DATA = trace(1, 7)
CACHE = b"algorithms"
SEARCHING = CONFIG.replace("threads: 2", "fast_run: true")


def given(session: Session, scenario: Scenario, folder: Path, **changes: Any) -> DeviceResult:
    (folder / "files").mkdir(parents=True, exist_ok=True)
    for data in (DATA, CACHE):
        (folder / "files" / hashlib.sha256(data).hexdigest()).write_bytes(data)
    files = {"trace": DATA, "cache": CACHE}
    given = {
        "scenario": scenario.id,
        "binding": binding(profile.named_inputs(scenario, session)),
        **{name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    board = DeviceIdentity(name="board", kind="adb", facts={"model": "B"})
    return brought(folder, board, **{**given, **changes})


def prepared(
    tmp_path: Path, *, config: str = CONFIG, **changes: Any
) -> tuple[Session, Task, Task, Path]:
    base = built(tmp_path, config=config)
    scenario = next(all_scenarios(base.request.config))
    found = given(base, scenario, tmp_path / "evidence", **changes)
    traced: Mapping[str, DeviceResult] = {scenario.id: found}
    work = tmp_path / "work"
    work.mkdir()
    task = Task(stage=Stage.PROFILE, name=scenario.id, needs=(), scenario=scenario)
    search = replace(task, name=f"{scenario.id}#search")
    return changed(base, traced=traced), task, search, work


def test_the_trace_is_taken_as_it_is(tmp_path: Path) -> None:
    session, task, _, work = prepared(tmp_path)
    result = profile.work(task, session, work)

    assert result == TraceResult(
        regions=2,
        trace_sha256=hashlib.sha256(DATA).hexdigest(),
        device=session.request.traced["m/s@any"].device,
        time_s=1.5,
    )
    assert (work / "trace.txt").read_bytes() == DATA
    assert session.services.devices["any"].runs == []  # type: ignore[attr-defined]


def test_the_cache_of_a_search_is_taken_too(tmp_path: Path) -> None:
    session, _, search, work = prepared(tmp_path, config=SEARCHING)

    assert profile.work(search, session, work) == SearchResult(time_s=1.5)
    assert (work / "algo.cache").read_bytes() == CACHE


def test_inputs_name_the_trace_and_what_binds_it(tmp_path: Path) -> None:
    session, task, search, _ = prepared(tmp_path, config=SEARCHING)
    named = profile.inputs(task, session)

    assert named["taken elsewhere"] == hashlib.sha256(DATA).hexdigest()
    assert named["by"] == "board"
    assert profile.inputs(search, session)["taken elsewhere"] == hashlib.sha256(CACHE).hexdigest()
    assert {label for label in named if label.startswith("device ")} == set()
    assert {"model", "arguments", "threads", "program", "searching program"} <= named.keys()
    assert "searching program" not in profile.inputs(*prepared_again(tmp_path))


def prepared_again(tmp_path: Path) -> tuple[Task, Session]:
    (tmp_path / "again").mkdir()
    session, task, _, _ = prepared(tmp_path / "again")
    return task, session


def test_a_trace_of_something_else_is_refused(tmp_path: Path) -> None:
    session, task, _, work = prepared(tmp_path, binding="0" * 64)
    with pytest.raises(InputError) as caught:
        profile.work(task, session, work)

    assert caught.value.message == (
        f"m/s@any: the trace in {tmp_path / 'evidence'} is of another program, model or input"
    )


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (ScenarioStatus.INFRASTRUCTURE, InfrastructureFailure),
        (ScenarioStatus.UNVERIFIED, InfrastructureFailure),
        (ScenarioStatus.TRACE, ProductFailure),
        (ScenarioStatus.ENGINE_ERROR, ProductFailure),
    ],
)
def test_a_job_that_took_no_trace_is_a_failure_here(
    tmp_path: Path, status: ScenarioStatus, kind: type[MegtrimError]
) -> None:
    session, task, _, work = prepared(tmp_path, status=status, text="why", trace=None)
    with pytest.raises(MegtrimError) as caught:
        profile.work(task, session, work)

    assert type(caught.value) is kind
    assert caught.value.message == "m/s@any: board: why"
    assert profile.inputs(task, session)["taken elsewhere"] == ""


def test_a_scenario_that_no_job_brought_is_not_traced_here(tmp_path: Path) -> None:
    session, task, _, _ = prepared(tmp_path)
    other = changed(session, traced={"m/t@any": session.request.traced["m/s@any"]})
    with pytest.raises(InfrastructureFailure) as caught:
        profile.inputs(task, other)

    assert caught.value.message == "m/s@any: no device job brought a trace of it"


def test_a_search_without_a_cache_is_refused(tmp_path: Path) -> None:
    session, _, search, work = prepared(tmp_path, config=SEARCHING, cache=None)
    with pytest.raises(InputError, match="the device job brought no algorithm cache"):
        profile.work(search, session, work)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'midout_trace v1\n#include "/etc/passwd"\n',
        b"midout_trace v1\n); system(\n",
        DATA[:-1],
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, data: bytes) -> None:
    digest = hashlib.sha256(data).hexdigest()
    session, task, _, work = prepared(tmp_path, trace=digest)
    (tmp_path / "evidence" / "files" / digest).write_bytes(data)
    with pytest.raises(InputError) as caught:
        profile.work(task, session, work)

    assert caught.value.message.startswith(f"{tmp_path / 'evidence' / 'files' / digest}:")
    assert not (work / "trace.txt").exists()
