"""A session whose programs are built, and a machine that plays the runs of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from megtrim.config.scenarios import all_scenarios
from megtrim.load_and_run.dialects import LITE
from megtrim.midout.keepset import dump_keep_set
from megtrim.pipeline.results import NeighboursResult
from megtrim.pipeline.session import Session
from megtrim.plan.graph import PLAIN, REDUCED, Stage, Task
from megtrim.stages import neighbours
from unit.stages.built import built
from unit.stages.fake_device import GOOD, Fickle
from unit.stages.support import changed, keep_set

CONFIG = """\
version: 1
engine: {kind: sample}
models:
- {name: m, file: m.mge, also: m.v2.mge, scenarios: [{name: s, inputs: {data: d.npy}}]}
budgets:
- artifact: load_and_run
  neighbours: ASKED
"""


def opened(folder: Path, asked: str, plays: Sequence[str] = ()) -> tuple[Session, Task, Fickle]:
    """Return a session in which programs are built, the task, and a machine that plays in turn."""
    (folder / "m.v2.mge").write_bytes(b"model")
    device = Fickle(plays=list(plays))
    made = built(
        folder,
        config=CONFIG.replace("ASKED", asked),
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
    """Do the task as the chain does, and keep its result."""
    named = neighbours.inputs(task, session)
    session.results.done[task.id], _ = session.services.store.ensure(
        Stage.NEIGHBOURS,
        task.name,
        named,
        lambda folder: neighbours.work(task, session, folder),
        NeighboursResult,
    )
    return session.results.done[task.id].result_as(NeighboursResult)
