from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.proof.scenario_results import neighbour_results
from unit.proof.neighbours.support import Opener, ran
from unit.trim.stages.fake_device import GOOD, TRAPS


def test_a_verdict_reports_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_some = Opener(monkeypatch)
    session, task, _ = open_some(tmp_path, ("iter-1", "iter-3"), [GOOD, GOOD, GOOD, TRAPS])

    assert neighbour_results(session) == ()
    ran(session, task)
    assert [(row.scenario, row.name, row.works) for row in neighbour_results(session)] == [
        *(("m/s@any", "iter-1", True), ("m/s@any", "iter-3", False)),
    ]
