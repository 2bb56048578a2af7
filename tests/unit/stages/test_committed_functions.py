"""Committed mode where functions are trimmed: the team's file is of this very link, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.midout.keepset import KeepSet, dump_keep_set
from megtrim.midout.trace import TraceFailure
from megtrim.pipeline.results import FunctionsKeepSetResult
from megtrim.pipeline.session import Session
from megtrim.plan.graph import FUNCTIONS, Stage, Task
from megtrim.stages import functions
from unit.stages.built import LINK, linked
from unit.stages.support import changed, keep_set

TASK = Task(stage=Stage.FUNCTIONS, name=FUNCTIONS.partition("/")[2], needs=())


def committed(folder: Path, **changes: Any) -> tuple[Session, KeepSet]:
    """Return a session in committed mode, and the keep set that is committed there."""
    now = changed(linked(folder), committed=True)
    [record] = keep_set(1).scenarios
    record = replace(record, **({"functions": ("main",), "link_sha256": LINK} | changes))
    keep = replace(keep_set(1), scenarios=(record,))
    path = now.request.path(now.request.config.keep_set)
    path.parent.mkdir()
    path.write_text(dump_keep_set(keep), encoding="utf-8")
    return now, keep


def test_functions_of_this_link_are_kept(tmp_path: Path) -> None:
    """The stage leaves the file in its normal form."""
    now, keep = committed(tmp_path)

    assert functions.work(TASK, now, tmp_path) == FunctionsKeepSetResult(functions=1)
    assert (tmp_path / "keepset.json").read_text("utf-8") == dump_keep_set(keep)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"link_sha256": "8" * 64},
            (
                "m/s@any: its functions were recorded on another link (888888888888), "
                "this one is 777777777777"
            ),
        ),
        (
            {"functions": (), "link_sha256": None},
            "m/s@any: the committed keep set lists no functions for it",
        ),
    ],
    ids=["another link", "none"],
)
def test_functions_of_another_link_are_refused(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    """By name they would keep other code; nothing is left that the next stage could use."""
    now, _ = committed(tmp_path, **changes)

    with pytest.raises(TraceFailure) as caught:
        functions.work(TASK, now, tmp_path)

    assert caught.value.message == f"{said} (stale trace)"
    assert not (tmp_path / "keepset.json").exists()
