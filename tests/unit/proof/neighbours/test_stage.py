from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from megtrim.chain.graph import PROFILE
from megtrim.devices import Device
from megtrim.proof.neighbours import stage as neighbours
from megtrim.util.errors import InfrastructureFailure
from unit.proof.neighbours.support import Opener, opened, ran
from unit.trim.stages.built import finish
from unit.trim.stages.fake_device import GOOD, TRAPS, Fickle
from unit.trim.stages.fake_device import PROFILE as TRACES
from unit.trim.stages.support import changed

COMPLAINT = "exit 1\nstderr ERROR: cannot open\n"


@pytest.fixture
def some(monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(monkeypatch)


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
    more, again, _ = some(tmp_path, ("iter-1", "iter-3", "warm-up-0"))
    other = Fickle(plays=[GOOD, TRAPS])
    more = changed(more, devices=cast("dict[str, Device]", {"any": other}))
    third = ran(more, again)

    assert [row.name for row in second.neighbours] == ["iter-1", "iter-3"]
    assert second.exit_code == 0
    assert len(other.runs) == 2
    assert [row.levels[0].outcome for row in third.neighbours] == [
        *("same", "same", "trapped"),
    ]


def test_a_trap_is_explained_once_the_profile_build_is_there(tmp_path: Path, some: Opener) -> None:
    session, task, _ = some(tmp_path, ("iter-1", "iter-3"), [GOOD, GOOD, GOOD, TRAPS])
    before = ran(session, task)
    finish(session, PROFILE, {"bin/load_and_run": TRACES})
    device = Fickle(plays=[GOOD, TRAPS, TRACES])
    after = ran(changed(session, devices=cast("dict[str, Device]", {"any": device})), task)

    assert [row.levels[0].needs for row in before.neighbours] == [(), ()]
    assert [row.levels[0].needs for row in after.neighbours] == [(), ("kern<7>",)]
    assert len(device.runs) == 3


def test_the_key_says_which_are_tried(tmp_path: Path) -> None:
    session, task, _ = opened(tmp_path)

    labels = neighbours.inputs(task, session)

    names = {each.removeprefix("neighbour ") for each in labels if each.startswith("neighbour ")}
    assert {"iter-1", "threads-4", "enable-nchw44", "help", "other-values"} < names
    assert "batch-2" not in names  # an input of one dimension has no batch


def test_another_program_or_dump_is_another_result(tmp_path: Path) -> None:
    session, task, _ = opened(tmp_path)
    assert task.scenario is not None
    named = neighbours.inputs(task, session)

    assert {"plain", "region", "model", "tolerance", "keep set", "other dumps"} <= named.keys()
    looser = task.scenario.settings.model_copy(update={"relative_tolerance": 0.5})
    loose = replace(task, scenario=replace(task.scenario, settings=looser))
    assert neighbours.inputs(loose, session)["tolerance"] != named["tolerance"]
    (tmp_path / "m.v2.mge").write_bytes(b"another")
    assert neighbours.inputs(task, session)["other dumps"] != named["other dumps"]
