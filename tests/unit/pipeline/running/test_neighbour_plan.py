"""Which neighbours a scenario has, and what each of them changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.errors import InputError
from megtrim.pipeline.running import neighbour_plan
from unit.stages.neighbour_runs import opened


def test_a_name_that_no_scenario_has_is_refused_by_line(tmp_path: Path) -> None:
    """Before anything is built, with the nearest that there is."""
    session, _, _ = opened(tmp_path, "[iter-1, thread-4]")
    with pytest.raises(InputError) as caught:
        neighbour_plan.expect_known(session)

    assert caught.value.message == (
        f"{tmp_path}/megtrim.yaml:7: budgets[0].neighbours: no scenario has a neighbour 'thread-4'"
    )
    assert caught.value.hint == "did you mean threads-4?"
