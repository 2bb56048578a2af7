import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.chain.graph import FUNCTIONS, Stage, Task
from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.config.scenarios import all_scenarios
from megtrim.evidence.bundle import binding
from megtrim.functions.observables import FunctionList, dump_list
from megtrim.regions.keepset import KeepSet
from megtrim.regions.keepset_files import dump_keep_set
from megtrim.regions.trace import TraceFailure
from megtrim.trim.builds import links
from megtrim.trim.committed_keepset import write_committed
from megtrim.trim.results import FunctionsKeepSetResult, RecordResult
from megtrim.trim.stages import functions
from megtrim.util.errors import InfrastructureFailure, InputError, ProductFailure
from unit.evidence.support import brought
from unit.trim.stages.built import CONFIG, LINK, built, linked
from unit.trim.stages.support import changed, keep_set

OTHER = "8" * 64
LISTED = dump_list(FunctionList(link_sha256=LINK, names=("main", "one")))


def prepared(tmp_path: Path, text: str = LISTED, **changes: Any) -> tuple[Session, Task, Path]:
    base = linked(tmp_path)
    scenario = next(all_scenarios(base.request.config))
    digest = hashlib.sha256(text.encode()).hexdigest()
    (tmp_path / "evidence/files").mkdir(parents=True)
    (tmp_path / "evidence/files" / digest).write_text(text, encoding="utf-8")
    given = {"binding": binding(functions.named_inputs(scenario, base)), "functions": digest}
    board = DeviceIdentity(name="board", kind="adb", facts={})
    found = brought(tmp_path / "evidence", board, **{"scenario": scenario.id, **given, **changes})
    work = tmp_path / "work"
    work.mkdir()
    task = Task(stage=Stage.FUNCTIONS, name=scenario.id, needs=(), scenario=scenario)
    return changed(base, recorded={scenario.id: found}), task, work


def test_the_list_is_taken_as_it_is(tmp_path: Path) -> None:
    session, task, work = prepared(tmp_path)

    assert functions.work(task, session, work) == RecordResult(functions=2, time_s=1.5)
    assert (work / "functions.txt").read_text("utf-8") == LISTED
    assert cast("Any", session.services.devices["any"]).runs == []


def test_inputs_name_the_list_and_what_binds_it(tmp_path: Path) -> None:
    session, task, _ = prepared(tmp_path)
    named = functions.inputs(task, session)

    assert named["taken elsewhere"] == hashlib.sha256(LISTED.encode()).hexdigest()
    assert (named["by"], named["link"]) == ("board", LINK)
    assert {label for label in named if label.startswith("device ")} == set()


def test_a_list_of_another_link_is_refused(tmp_path: Path) -> None:
    """Whatever it says that it is bound to: its functions are other functions."""
    session, task, work = prepared(tmp_path, LISTED.replace(LINK, OTHER))
    with pytest.raises(InputError) as caught:
        functions.work(task, session, work)

    assert caught.value.message == (
        "m/s@any: its functions were recorded on another link (888888888888), "
        "this one is 777777777777"
    )
    assert not (work / "functions.txt").exists()


def test_a_list_of_something_else_is_refused(tmp_path: Path) -> None:
    session, task, work = prepared(tmp_path, binding="0" * 64)
    with pytest.raises(InputError) as caught:
        functions.work(task, session, work)

    assert caught.value.message == (
        f"m/s@any: the list of functions in {tmp_path / 'evidence'} "
        "is of another program, model or input"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: found '', expected 'megtrim functions v1'"),
        (f"megtrim functions v1\nlink {LINK}\n", ":3: a list without any function"),
        (LISTED[:-1], "the last line does not end with a newline"),
        (LISTED.replace("one", "; system("), "expected a linkage name"),
        (LISTED.replace("one", "run"), "holds other functions than a list of this link"),
        (LISTED.replace("main", "_Exit"), "holds other functions than a list of this link"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path: Path, text: str, said: str) -> None:
    session, task, work = prepared(tmp_path, text)
    with pytest.raises(InputError) as caught:
        functions.work(task, session, work)

    assert said in caught.value.message
    assert not (work / "functions.txt").exists()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (ScenarioStatus.INFRASTRUCTURE, InfrastructureFailure),
        (ScenarioStatus.ENGINE_ERROR, ProductFailure),
        (ScenarioStatus.PASS, InputError),
    ],
)
def test_a_job_that_made_no_list_is_a_failure_here(
    tmp_path: Path, status: ScenarioStatus, kind: type[Exception]
) -> None:
    session, task, work = prepared(tmp_path, status=status, text="why", functions=None)
    with pytest.raises(kind) as caught:
        functions.work(task, session, work)

    assert str(caught.value).startswith("m/s@any: board")


def test_a_scenario_that_no_job_brought_is_not_recorded_here(tmp_path: Path) -> None:
    session, task, _ = prepared(tmp_path)
    other = changed(session, recorded={"m/t@any": session.request.recorded["m/s@any"]})
    with pytest.raises(InfrastructureFailure) as caught:
        functions.inputs(task, other)

    assert caught.value.message == "m/s@any: no device job brought a list of functions of it"


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


def test_functions_of_this_link_are_kept(tmp_path: Path) -> None:
    now, keep = committed(tmp_path)

    assert functions.work(TASK, now, tmp_path) == FunctionsKeepSetResult(functions=1)
    assert (tmp_path / "keepset.json").read_text("utf-8") == dump_keep_set(keep)


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

    assert caught.value.message == f"{said} (stale trace)"
    assert caught.value.hint.endswith(" ".join(["megtrim", *command]))
    assert not (tmp_path / "keepset.json").exists()
