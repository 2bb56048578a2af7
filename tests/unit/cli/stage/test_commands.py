"""The commands of single stages."""

from __future__ import annotations

import pytest

from megtrim.plan.graph import Stage
from unit.cli.support import Shell


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_names_its_command(shell: Shell, stage: Stage) -> None:
    """Which errors and reports tell people to run."""
    answer = shell(*stage.verb.split(), "--help")

    assert answer.status == 0
    assert answer.out.startswith(f"Usage: megtrim {stage.verb.partition(' --')[0]} ")
