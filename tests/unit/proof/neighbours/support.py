from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from megtrim.chain.graph import PLAIN, REDUCED, Stage, Task
from megtrim.chain.session import Session
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.load_and_run.dialects import LITE
from megtrim.proof.neighbours import requests as neighbour_plan
from megtrim.proof.neighbours import stage as neighbours
from megtrim.proof.neighbours.model import NeighboursResult
from megtrim.proof.neighbours.requests import Neighbour
from megtrim.regions.keepset_files import dump_keep_set
from unit.trim.stages.built import built
from unit.trim.stages.fake_device import GOOD, Fickle
from unit.trim.stages.support import changed, keep_set

CONFIG = """\
version: 1
engine: {kind: sample}
models:
- {name: m, file: m.mge, also: m.v2.mge, scenarios: [{name: s, inputs: {data: d.npy}}]}
"""


Opened = tuple[Session, Task, Fickle]


class Opener:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._every = neighbour_plan.near
        self._monkeypatch = monkeypatch

    def __call__(self, folder: Path, names: Sequence[str], plays: Sequence[str] = ()) -> Opened:
        def near(scenario: Scenario, session: Session) -> tuple[Neighbour, ...]:
            return tuple(each for each in self._every(scenario, session) if each.name in names)

        self._monkeypatch.setattr(neighbour_plan, "near", near)
        return opened(folder, plays)


def opened(folder: Path, plays: Sequence[str] = ()) -> Opened:
    (folder / "m.v2.mge").write_bytes(b"model")
    device = Fickle(plays=list(plays))
    made = built(
        folder,
        config=CONFIG,
        programs={PLAIN: GOOD, REDUCED: GOOD},
        keep=dump_keep_set(keep_set(1)),
        devices={"any": device},
    )
    made = changed(made, engine=cast("Any", SimpleNamespace(dialect=lambda: LITE)))
    np.save(folder / "d.npy", np.arange(6, dtype="<f4"))
    scenario = next(all_scenarios(made.request.config))
    task = Task(stage=Stage.NEIGHBOURS, name=scenario.id, needs=(), scenario=scenario)
    return made, task, device


def ran(session: Session, task: Task) -> NeighboursResult:
    named = neighbours.inputs(task, session)
    session.results.done[task.id], _ = session.services.store.ensure(
        Stage.NEIGHBOURS,
        task.name,
        named,
        lambda folder: neighbours.work(task, session, folder),
        NeighboursResult,
    )
    return session.results.done[task.id].result_as(NeighboursResult)
