import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from megtrim.core.chain.graph import PLAIN, PROFILE, REDUCED, Stage, Task
from megtrim.core.chain.session import Session
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.proof.neighbours import NeighbourOutcome, NeighboursResult
from megtrim.core.proof.scenario_results import neighbour_results
from megtrim.core.proof.trap_diagnosis import SymbolizingLink
from megtrim.core.trim.runs.execution import RunResult, RunSpec
from megtrim.engines.load_and_run.dialects import LITE
from megtrim.engines.load_and_run.program import LoadAndRun
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.programs.parity import EXACT
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.places.devices.device import Device, Lease
from megtrim.times.neighbours import requests, stage
from unit.core.trim.stages.built import PROGRAMS, built, finish
from unit.core.trim.stages.fake_device import GOOD, TRAPS, FakeDevice, Fickle
from unit.core.trim.stages.fake_device import PROFILE as TRACES
from unit.core.trim.stages.support import MARKS, changed, evidence, floats, keep_set, run

COMPLAINT = "exit 1\nstderr ERROR: cannot open\n"


CONFIG = """\
version: 1
engine: {kind: sample}
models:
- {name: m, file: m.mge, also: m.v2.mge, scenarios: [{name: s, inputs: {data: d.npy}}]}
"""
Opened = tuple[Session, Task, Fickle]
Opener = Callable[[Path, Sequence[str], Sequence[str]], Opened]
EVERY = requests.near


def opened(folder: Path, plays: Sequence[str] = ()) -> Opened:
    (folder / "m.v2.mge").write_bytes(b"model")
    device = Fickle(plays=list(plays))
    programs = {PLAIN: GOOD, REDUCED: GOOD}
    keep = dump_keep_set(keep_set(1))
    made = built(folder, config=CONFIG, programs=programs, keep=keep, devices={"any": device})
    flags = LoadAndRun(dialect=LITE)
    made = changed(made, engine=cast("Any", SimpleNamespace(flags=flags, marks=MARKS)))
    np.save(folder / "d.npy", np.arange(6, dtype="<f4"))
    scenario = next(all_scenarios(made.request.config))
    return made, Task(stage=Stage.NEIGHBOURS, name=scenario.id, needs=(), scenario=scenario), device


@pytest.fixture
def some(monkeypatch: pytest.MonkeyPatch) -> Opener:
    """Open a session in which these neighbours alone are tried."""

    def open_some(folder: Path, names: Sequence[str], plays: Sequence[str]) -> Opened:
        def near(scenario: Scenario, session: Session) -> tuple[requests.Neighbour, ...]:
            return tuple(each for each in EVERY(scenario, session) if each.name in names)

        monkeypatch.setattr(requests, "near", near)
        return opened(folder, plays)

    return open_some


def ran(session: Session, task: Task) -> NeighboursResult:
    named = stage.inputs(task, session)
    session.done[task.id], _ = session.services.store.ensure(
        Stage.NEIGHBOURS,
        task.name,
        named,
        lambda folder: stage.work(task, session, folder),
        NeighboursResult,
    )
    return session.done[task.id].result_as(NeighboursResult)


def test_neighbours_are_tried(tmp_path: Path, some: Opener) -> None:
    plays = [GOOD, GOOD, GOOD, TRAPS, GOOD, GOOD, COMPLAINT, COMPLAINT]
    names = ("iter-1", "other-values", "model-m.v2.mge", "no-model")
    session, task, device = some(tmp_path, names, plays)
    found = ran(session, task)

    rows = {row.name: row for row in found.neighbours}
    outcomes = {name: [level.outcome for level in row.levels] for name, row in rows.items()}
    assert outcomes == {
        "iter-1": ["same"],
        "other-values": ["trapped"],
        "model-m.v2.mge": ["same"],
        "no-model": ["same"],
    }
    assert {level.level for row in rows.values() for level in row.levels} == {"region"}
    assert found.exit_code == 0
    assert device.runs[0][2:5] == ("--cpu", "--iter", "1")
    numbers = np.load(io.BytesIO(device.put[2]["input0.npy"]))
    assert numbers.tolist() == [5, 4, 3, 2, 1, 0]
    assert ["model.mge" in files for files in device.put] == [True] * 6 + [False] * 2
    assert device.runs[-1][1] == "model.mge"


def test_what_was_tried_is_not_tried_again(tmp_path: Path, some: Opener) -> None:
    session, task, device = some(tmp_path, ("iter-1", "iter-3"), [GOOD, GOOD, GOOD, "lose phone"])
    with pytest.raises(InfrastructureFailure, match="phone is gone"):
        ran(session, task)
    device.plays[:] = [GOOD, GOOD]
    second = ran(session, task)
    more, again, _ = some(tmp_path, ("iter-1", "iter-3", "warm-up-0"), ())
    other = Fickle(plays=[GOOD, TRAPS])
    more = changed(more, devices=cast("dict[str, Device]", {"any": other}))
    third = ran(more, again)

    assert [row.name for row in second.neighbours] == ["iter-1", "iter-3"]
    assert second.exit_code == 0
    assert len(other.runs) == 2
    assert [row.levels[0].outcome for row in third.neighbours] == ["same", "same", "trapped"]


def test_a_trap_is_explained_once_the_profile_build_is_there(tmp_path: Path, some: Opener) -> None:
    session, task, _ = some(tmp_path, ("iter-1", "iter-3"), [GOOD, GOOD, GOOD, TRAPS])
    before = ran(session, task)
    finish(session, PROFILE, {"bin/load_and_run": TRACES})
    device = Fickle(plays=[GOOD, TRAPS, TRACES])
    after = ran(changed(session, devices=cast("dict[str, Device]", {"any": device})), task)

    assert [row.levels[0].needs for row in before.neighbours] == [(), ()]
    assert [row.levels[0].needs for row in after.neighbours] == [(), ("kern<7>",)]
    assert len(device.runs) == 3


def test_the_key_says_which_are_tried_with_what(tmp_path: Path) -> None:
    session, task, _ = opened(tmp_path)
    assert task.scenario is not None
    named = stage.inputs(task, session)

    names = {each.removeprefix("neighbour ") for each in named if each.startswith("neighbour ")}
    assert {"iter-1", "threads-4", "enable-nchw44", "help", "other-values"} < names
    assert "batch-2" not in names  # an input of one dimension has no batch
    assert {"plain", "region", "model", "tolerance", "keep set", "other dumps"} <= named.keys()
    looser = task.scenario.settings.model_copy(update={"relative_tolerance": 0.5})
    loose = replace(task, scenario=replace(task.scenario, settings=looser))
    assert stage.inputs(loose, session)["tolerance"] != named["tolerance"]
    (tmp_path / "m.v2.mge").write_bytes(b"another")
    assert stage.inputs(task, session)["other dumps"] != named["other dumps"]


def test_a_verdict_reports_them(tmp_path: Path, some: Opener) -> None:
    session, task, _ = some(tmp_path, ("iter-1", "iter-3"), [GOOD, GOOD, GOOD, TRAPS])

    assert neighbour_results(session) == ()
    ran(session, task)
    assert [(row.scenario, row.name, row.works) for row in neighbour_results(session)] == [
        ("m/s@any", "iter-1", True),
        ("m/s@any", "iter-3", False),
    ]


ORDER = RunSpec(
    program=Path("plain"), model=Path("m"), arguments=(), inputs={}, threads=1, timeout_s=90.0
)
COMPUTES = stage.Attempt(spec=ORDER, builds=(), complains=False, searches=False, tolerance=EXACT)
COMPLAINS = replace(COMPUTES, complains=True)
SEARCHES = replace(COMPUTES, searches=True)
COMPUTED = evidence(outputs={"o": floats(1, 200)})
GONE = "ERROR: cannot open model.mge: No such file"


def said(rc: int, stderr: str = "", **more: Any) -> RunResult:
    return evidence(replace(run(rc, stderr=stderr), **more))


@pytest.mark.parametrize(
    ("wanted", "seen", "expected"),
    [
        (COMPUTES, COMPUTED, (NeighbourOutcome.SAME, "the same outputs")),
        (COMPUTES, said(133), (NeighbourOutcome.TRAPPED, "it trapped")),
        (COMPUTES, said(1, GONE), (NeighbourOutcome.REFUSED, f"it ended with 1: {GONE[7:]}")),
        (COMPUTES, said(134), (NeighbourOutcome.CRASHED, "it ended with 134, no message")),
        (COMPUTES, said(1), (NeighbourOutcome.CRASHED, "it ended with 1, no message")),
        (
            COMPUTES,
            said(137, timed_out=True, wall_s=30.2),
            (NeighbourOutcome.HANGS, "it did not end within 30 s"),
        ),
        (
            COMPUTES,
            evidence(outputs={"o": floats(1, 200.125)}),
            (NeighbourOutcome.DIFFERS, "output o: largest difference 0.125, allowed is 0"),
        ),
        (
            SEARCHES,
            evidence(outputs={"o": floats(1, 200.125)}),
            (NeighbourOutcome.SAME, "the same outputs"),
        ),
        (
            SEARCHES,
            evidence(outputs={"o": floats(1, 200.25)}),
            (NeighbourOutcome.DIFFERS, "output o: largest difference 0.25, allowed is 0.2"),
        ),
        (
            COMPUTES,
            evidence(),
            (NeighbourOutcome.DIFFERS, "output o came only from the plain build"),
        ),
    ],
)
def test_how_a_run_that_computes_ended(
    wanted: stage.Attempt, seen: RunResult, expected: tuple[NeighbourOutcome, str]
) -> None:
    assert stage.judge_outcome(wanted, COMPUTED, seen) == expected


def test_equal_outputs_that_prove_little_are_equal() -> None:
    constant = evidence(outputs={"o": floats(0, 0)})

    assert stage.judge_outcome(COMPUTES, constant, constant)[0] is NeighbourOutcome.SAME


@pytest.mark.parametrize(
    ("plain", "seen", "expected"),
    [
        (said(1, GONE), said(1, GONE), NeighbourOutcome.SAME),
        (
            said(1, "ERROR: at /a/b.cpp:12: 0x1f"),
            said(1, "ERROR: at ../c.cpp:7: 0x2"),
            NeighbourOutcome.SAME,
        ),
        (said(1, GONE), said(1, "ERROR: no"), NeighbourOutcome.REFUSED),
        (said(1, GONE), said(134, GONE), NeighbourOutcome.REFUSED),
        (said(1, GONE), said(0, stdout="all is well"), NeighbourOutcome.DIFFERS),
        (said(1, GONE), said(133, GONE), NeighbourOutcome.TRAPPED),
        (said(1, GONE), said(1), NeighbourOutcome.CRASHED),
        (said(0, stdout="usage: 3 flags"), said(0, stdout="usage: 4 flags"), NeighbourOutcome.SAME),
        (said(0, stdout="usage"), said(0), NeighbourOutcome.DIFFERS),
        (said(1, stdout="usage"), said(1, stdout="usage"), NeighbourOutcome.SAME),
    ],
)
def test_how_a_complaint_ended(
    plain: RunResult, seen: RunResult, expected: NeighbourOutcome
) -> None:
    assert stage.judge_outcome(COMPLAINS, plain, seen)[0] is expected


def tried(
    folder: Path, *plays: str, complains: bool = False
) -> tuple[stage.RunObservation, list[str], FakeDevice]:
    for name in ("plain", "region", "function", "m"):
        (folder / name).write_bytes(b"")
    device = Fickle(plays=list(plays))
    logs: list[str] = []

    def needs(lease: Lease, spec: RunSpec, trapped: ProgramRun) -> tuple[str, ...]:
        assert (spec.program, trapped.rc) == (folder / "plain", 133)
        return ("kern<7>",)

    wanted = replace(
        COMPUTES,
        spec=replace(ORDER, program=folder / "plain", model=folder / "m"),
        builds=tuple(
            stage.Build(level=level, program=folder / level, needs=needs)
            for level in ("region", "function")
        ),
        complains=complains,
    )
    seen = stage.attempt(wanted, cast("Lease", device), lambda build, _: logs.append(build))
    return seen, logs, device


def test_every_level_is_held_against_plain(tmp_path: Path) -> None:
    seen, logs, device = tried(tmp_path, "output o 1 2", "output o 1 2", "exit 133")

    assert seen.text == "it runs: 1 output"
    assert [(e.level, e.outcome, e.works, e.needs, e.time_s) for e in seen.levels] == [
        ("region", NeighbourOutcome.SAME, True, (), 0.5),
        ("function", NeighbourOutcome.TRAPPED, False, ("kern<7>",), 0.5),
    ]
    assert logs == ["plain", "region", "function"]
    assert [argv[0] for argv in device.runs] == ["plain", "region", "function"]


@pytest.mark.parametrize(
    ("play", "complains", "text"),
    [
        ("exit 1\nstderr ERROR: no such layout", False, "plain cannot run this: no such layout"),
        ("exit 133", False, "plain cannot run this: it ended with 133"),
        ("exit 0", False, "it leaves no output to compare"),
        ("exit 1", True, "it ended with 1, no message"),
        ("exit 133\nstderr ERROR: so", True, "it ended with 133: so"),
    ],
)
def test_what_plain_cannot_do_says_nothing_of_trimming(
    tmp_path: Path, play: str, complains: bool, text: str
) -> None:
    seen, logs, _ = tried(tmp_path, play, complains=complains)

    assert seen.levels == ()
    assert seen.text == text
    assert logs == ["plain"]


@pytest.mark.parametrize(
    ("plain", "complains", "text"),
    [
        ("exit 1\nstderr ERROR: words", True, "it ended with 1: words"),
        ("output o 1 2", False, "it runs: 1 output"),
    ],
)
def test_a_complaint_in_other_words_works_all_the_same(
    tmp_path: Path, plain: str, complains: bool, text: str
) -> None:
    """Whoever reads it knows what is wrong; one that computes must not refuse."""
    refuses = "exit 1\nstderr ERROR: other words"
    seen, _, _ = tried(tmp_path, plain, refuses, refuses, complains=complains)

    assert seen.text == text
    assert [(e.outcome, e.works) for e in seen.levels] == [
        (NeighbourOutcome.REFUSED, complains)
    ] * 2


@pytest.mark.parametrize(
    ("wall_s", "allowed_s", "expected_s"),
    [(0.1, 90.0, 30.0), (2.0, 90.0, 40.0), (20.0, 90.0, 90.0), (0.1, 10.0, 10.0)],
)
def test_a_trimmed_program_is_waited_for_by_the_time_of_plain(
    monkeypatch: pytest.MonkeyPatch, wall_s: float, allowed_s: float, expected_s: float
) -> None:
    waited: list[float] = []

    def ran(_lease: Lease, spec: RunSpec) -> RunResult:
        waited.append(spec.timeout_s)
        return replace(COMPUTED, run=replace(COMPUTED.run, wall_s=wall_s))

    monkeypatch.setattr("megtrim.times.neighbours.stage.run_on", ran)
    wanted = replace(
        COMPUTES,
        spec=replace(ORDER, timeout_s=allowed_s),
        builds=(stage.Build(level="region", program=Path("r"), needs=lambda *_: ()),),
    )
    stage.attempt(wanted, cast("Lease", FakeDevice()), lambda *_: None)

    assert waited == [allowed_s, expected_s]


DROPPED = ("_ZN2ns3oneEv", "_ZN2ns3twoEv")
SAYS_ONE = "exit 133\nstderr megtrim: function #1 is not kept\n"


@pytest.mark.parametrize(
    ("profile", "named", "needed"),
    [
        (True, SAYS_ONE, ("ns::two()",)),
        (True, TRAPS, ("kern<7>",)),
        (True, None, ("kern<7>",)),
        (False, SAYS_ONE, ("ns::two()",)),
        (False, TRAPS, ()),
        (False, None, ()),
    ],
)
def test_a_trap_is_named_as_far_as_that_is_at_hand(
    tmp_path: Path, profile: bool, named: str | None, needed: tuple[str, ...]
) -> None:
    programs = {PLAIN: GOOD, REDUCED: TRAPS} | ({PROFILE: PROGRAMS[PROFILE]} if profile else {})
    session = built(tmp_path, programs=programs, keep=dump_keep_set(keep_set(1)))
    link = None
    if named is not None:
        (tmp_path / "named").mkdir()
        program = tmp_path / "named/load_and_run"
        program.write_text(named, encoding="utf-8")
        link = SymbolizingLink(program=program, dropped=DROPPED)
    spec = replace(ORDER, program=tmp_path / "m.mge", model=tmp_path / "m.mge")
    needs = stage.needs_of(next(all_scenarios(session.config)), session, link)

    assert needs(cast("Lease", FakeDevice()), spec, run(133)) == needed
