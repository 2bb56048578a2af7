import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.chain.graph import FUNCTIONS, Stage, Task
from megtrim.core.chain.session import Session
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.evidence.binding import binding
from megtrim.core.functions.observables import FunctionList, dump_list
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.keep.trace import TraceFailure
from megtrim.core.trim.builds import links
from megtrim.core.trim.committed_keepset import write_committed
from megtrim.core.trim.results import (
    FunctionsKeepSetResult,
    RecordResult,
    SearchResult,
    TraceResult,
)
from megtrim.core.trim.stages import functions, profile
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from unit.core.trim.stages.built import CONFIG, LINK, built, linked
from unit.core.trim.stages.support import changed, keep_set, trace
from unit.lab.evidence.support import brought

LISTED = dump_list(FunctionList(link_sha256=LINK, names=("main", "one")))


DATA = trace(1, 7)
CACHE = b"algorithms"
SEARCHING = CONFIG.replace("threads: 2", "fast_run: true")
BOARD = DeviceIdentity(name="board", kind="adb", facts={"model": "B"})


@dataclass(frozen=True)
class Kind:
    """What a device job records for a stage, and under which names it lies."""

    module: ModuleType
    brought: str
    data: bytes
    file: str
    what: str


KINDS = {
    "functions": Kind(functions, "recorded", LISTED.encode(), "functions.txt", "list of functions"),
    "trace": Kind(profile, "traced", DATA, "trace.txt", "trace"),
}


def prepared(
    tmp_path: Path, name: str, data: bytes | None = None, *, config: str = CONFIG, **changes: Any
) -> tuple[Session, Task, Path]:
    kind = KINDS[name]
    open_base = linked if name == "functions" else built
    base = open_base(tmp_path, config=config)
    scenario = next(all_scenarios(base.request.config))
    files = {name: kind.data if data is None else data}
    if kind.module is profile:
        files["cache"] = CACHE
    digests = {each: hashlib.sha256(content).hexdigest() for each, content in files.items()}
    (tmp_path / "evidence/files").mkdir(parents=True)
    for each, content in files.items():
        (tmp_path / "evidence/files" / digests[each]).write_bytes(content)
    given = {"binding": binding(kind.module.named_inputs(scenario, base)), **digests}
    facts = {"scenario": scenario.id, **given, **changes}
    found = brought(tmp_path / "evidence", BOARD, **facts)
    (tmp_path / "work").mkdir()
    stage = Stage.FUNCTIONS if name == "functions" else Stage.PROFILE
    task = Task(stage=stage, name=scenario.id, needs=(), scenario=scenario)
    return changed(base, **{kind.brought: {scenario.id: found}}), task, tmp_path / "work"


def search_of(task: Task) -> Task:
    return replace(task, name=f"{task.name}#search")


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("functions", RecordResult(functions=2, time_s=1.5)),
        (
            "trace",
            TraceResult(
                regions=2, trace_sha256=hashlib.sha256(DATA).hexdigest(), device=BOARD, time_s=1.5
            ),
        ),
    ],
)
def test_what_a_job_recorded_is_taken_as_it_is(
    tmp_path: Path, name: str, result: StageResult
) -> None:
    kind = KINDS[name]
    session, task, work = prepared(tmp_path, name)

    assert kind.module.work(task, session, work) == result
    assert (work / kind.file).read_bytes() == kind.data
    assert "searching program" not in kind.module.inputs(task, session)
    assert cast("Any", session.services.devices["any"]).runs == []


@pytest.mark.parametrize("name", KINDS)
def test_a_record_of_something_else_is_refused(tmp_path: Path, name: str) -> None:
    session, task, work = prepared(tmp_path, name, binding="0" * 64)
    with pytest.raises(InputError) as caught:
        KINDS[name].module.work(task, session, work)

    assert caught.value.message == (
        f"m/s@any: the {KINDS[name].what} in {tmp_path / 'evidence'} "
        "is for another program, model or input"
    )


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("functions", ScenarioStatus.INFRASTRUCTURE, InfrastructureFailure),
        ("functions", ScenarioStatus.ENGINE_ERROR, ProductFailure),
        ("functions", ScenarioStatus.PASS, InputError),
        ("trace", ScenarioStatus.INFRASTRUCTURE, InfrastructureFailure),
        ("trace", ScenarioStatus.UNVERIFIED, InfrastructureFailure),
        ("trace", ScenarioStatus.TRACE, ProductFailure),
        ("trace", ScenarioStatus.ENGINE_ERROR, ProductFailure),
    ],
)
def test_a_job_that_recorded_nothing_is_a_failure_here(
    tmp_path: Path, name: str, status: ScenarioStatus, kind: type[MegtrimError]
) -> None:
    facts: dict[str, Any] = {"status": status, "text": "why", name: None}
    session, task, work = prepared(tmp_path, name, **facts)
    with pytest.raises(MegtrimError) as caught:
        KINDS[name].module.work(task, session, work)

    assert type(caught.value) is kind
    assert caught.value.message.startswith("m/s@any: board")
    if name == "trace":
        assert caught.value.message == "m/s@any: board: why"
        assert profile.inputs(task, session)["taken elsewhere"] == ""


@pytest.mark.parametrize("name", KINDS)
def test_a_scenario_that_no_job_brought_is_not_recorded_here(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    session, task, _ = prepared(tmp_path, name)
    [record] = getattr(session.request, kind.brought).values()
    with pytest.raises(InfrastructureFailure) as caught:
        kind.module.inputs(task, changed(session, **{kind.brought: {"m/t@any": record}}))

    assert caught.value.message == f"m/s@any: no device job delivered a {kind.what}"


@pytest.mark.parametrize(
    "data", [b"", b'midout_trace v1\n#include "/x"\n', b"midout_trace v1\n); system(\n", DATA[:-1]]
)
def test_what_is_no_trace_is_refused(tmp_path: Path, data: bytes) -> None:
    session, task, work = prepared(tmp_path, "trace", data)
    with pytest.raises(InputError) as caught:
        profile.work(task, session, work)

    digest = hashlib.sha256(data).hexdigest()
    assert caught.value.message.startswith(f"{tmp_path / 'evidence' / 'files' / digest}:")
    assert not (work / "trace.txt").exists()


@pytest.mark.parametrize("name", KINDS)
def test_inputs_name_the_record_and_what_binds_it(tmp_path: Path, name: str) -> None:
    config = SEARCHING if name == "trace" else CONFIG
    session, task, _ = prepared(tmp_path, name, config=config)
    named = KINDS[name].module.inputs(task, session)

    assert named["taken elsewhere"] == hashlib.sha256(KINDS[name].data).hexdigest()
    assert named["by"] == "board"
    assert {label for label in named if label.startswith("device ")} == set()
    if name == "functions":
        assert named["link"] == LINK
    else:
        searched = profile.inputs(search_of(task), session)
        assert searched["taken elsewhere"] == hashlib.sha256(CACHE).hexdigest()
        assert {"model", "arguments", "threads", "program", "searching program"} <= named.keys()


def test_a_list_of_another_link_is_refused(tmp_path: Path) -> None:
    """Whatever it says that it is bound to: its functions are other functions."""
    session, task, work = prepared(tmp_path, "functions", LISTED.replace(LINK, "8" * 64).encode())
    with pytest.raises(InputError) as caught:
        functions.work(task, session, work)

    assert caught.value.message == (
        "m/s@any: its functions were recorded on another link (888888888888), "
        "this one is 777777777777"
    )
    assert not (work / "functions.txt").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: found '', expected 'megtrim functions v1'"),
        (f"megtrim functions v1\nlink {LINK}\n", ":3: a list without any function"),
        (LISTED[:-1], "the last line does not end with a newline"),
        (LISTED.replace("one", "; system("), "expected a linkage name"),
        (LISTED.replace("one", "run"), "lists other functions than this link has"),
        (LISTED.replace("main", "_Exit"), "lists other functions than this link has"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path: Path, text: str, said: str) -> None:
    session, task, work = prepared(tmp_path, "functions", text.encode())
    with pytest.raises(InputError) as caught:
        functions.work(task, session, work)

    assert said in caught.value.message
    assert not (work / "functions.txt").exists()


@pytest.mark.parametrize(
    ("runner", "changes", "probed"),
    [
        ("local", {}, "True"),
        ("qemu", {}, "False"),
        ("local", {"committed": True}, "False"),
        ("local", {"quick": True}, "False"),
        ("local", {"recorded": {"m/s@any": None}}, "False"),
    ],
)
def test_a_twin_is_linked_for_whom_no_emulator_reports_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runner: str,
    changes: dict[str, Any],
    probed: str,
) -> None:
    """Also for a device that hangs elsewhere; not where functions are not to be recorded."""
    monkeypatch.setattr(links, "base_inputs", lambda _context: {})
    emulated = cast("Any", SimpleNamespace(kind="qemu"))
    config = CONFIG.replace("{name: any}", "{name: any, qemu_cpu: max}")
    config = config.replace("local, class: any, runner", f"{runner}, class: any, runner")
    session = built(tmp_path, config=config + "trim: {level: function}\n")
    session = changed(session, devices={"any": emulated, "big": emulated}, **changes)
    task = Task(stage=Stage.FUNCTIONS, name="linked", needs=())

    assert functions.inputs(task, session)["probed"] == probed


TASK = Task(stage=Stage.FUNCTIONS, name=FUNCTIONS.partition("/")[2], needs=())


def committed(folder: Path, **changes: Any) -> tuple[Session, KeepSet]:
    now = changed(linked(folder), committed=True)
    [record] = keep_set(1).scenarios
    record = replace(record, **({"functions": ("main",), "link_sha256": LINK} | changes))
    keep = replace(keep_set(1), scenarios=(record,))
    write_committed(now.request.path(now.request.config.keep_set), keep)
    return now, keep


@pytest.mark.parametrize(
    ("changes", "said", "command"),
    [
        (
            {"link_sha256": "8" * 64},
            (
                "m/s@any: its functions were recorded on another link (888888888888), "
                "this one is 777777777777"
            ),
            ("trim", "--accept"),
        ),
        (
            {"functions": (), "link_sha256": None},
            "m/s@any: the committed keep set lists no functions for it",
            ("trim",),
        ),
    ],
    ids=["another link", "none"],
)
def test_functions_of_another_link_are_refused(
    tmp_path: Path, changes: dict[str, Any], said: str, command: tuple[str, ...]
) -> None:
    now, _ = committed(tmp_path, **changes)

    with pytest.raises(TraceFailure) as caught:
        functions.work(TASK, now, tmp_path)

    # Those of this link are kept.
    (tmp_path / "same").mkdir()
    same, keep = committed(tmp_path / "same")
    assert functions.work(TASK, same, tmp_path / "same") == FunctionsKeepSetResult(functions=1)
    assert (tmp_path / "same/keepset.json").read_text("utf-8") == dump_keep_set(keep)
    assert caught.value.message == f"{said} (stale trace)"
    assert caught.value.hint.endswith(" ".join(["megtrim", *command]))
    assert not (tmp_path / "keepset.json").exists()


def test_the_cache_of_a_search_is_taken_too(tmp_path: Path) -> None:
    session, task, work = prepared(tmp_path, "trace", config=SEARCHING)

    assert profile.work(search_of(task), session, work) == SearchResult(time_s=1.5)
    assert (work / "algo.cache").read_bytes() == CACHE


def test_a_search_without_a_cache_is_refused(tmp_path: Path) -> None:
    session, task, work = prepared(tmp_path, "trace", config=SEARCHING, cache=None)
    with pytest.raises(InputError, match="the device job delivered no algorithm cache"):
        profile.work(search_of(task), session, work)
