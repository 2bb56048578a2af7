"""What to do next: one sentence for each thing that needs a person, with whole commands."""

from __future__ import annotations

from typing import get_args

import pytest

from megtrim.verdict import next_step
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.next_step import ScenarioKind
from megtrim.verdict.statuses import CheckKind

COMMITTED = Invocation(config="trim/a.yaml", committed=True, keep_set="trim/megtrim/keepset")
TRACED = Invocation(config="trim/a.yaml")
WAY_OUT = (
    "trace it again and accept that with megtrim trim --config trim/a.yaml --accept, "
    "then commit trim/megtrim/keepset; the trace-refresh workflow proposes the same"
)


@pytest.mark.parametrize("kind", [CheckKind.TRAP, CheckKind.TRACE])
def test_a_committed_keep_set_that_does_not_fit_is_accepted_and_committed(
    kind: ScenarioKind,
) -> None:
    """A trim alone would leave the file as it is, and the next run as red."""
    assert next_step.for_scenario(kind, COMMITTED).endswith(WAY_OUT)
    assert "--accept" not in next_step.for_scenario(kind, TRACED)


def test_everything_without_in_the_committed_file_ends_the_same_way() -> None:
    """A stale file and a probe."""
    assert next_step.for_keep_set(COMMITTED).endswith(WAY_OUT)
    assert next_step.for_probe(COMMITTED) == (
        f"if people may run it so, add it to trim/a.yaml as a scenario and {WAY_OUT}"
    )


def test_an_automatic_toolchain_may_have_found_another_compiler() -> None:
    """Accepting its list would only move the problem to other machines."""
    said = next_step.for_list_of_elsewhere(COMMITTED)

    assert WAY_OUT in said
    assert "pip install ziglang" in said
    assert said.endswith("name one as toolchain.kind, for all machines")


@pytest.mark.parametrize("invocation", [COMMITTED, TRACED])
@pytest.mark.parametrize("kind", get_args(ScenarioKind))
def test_nothing_leaves_a_person_without_a_step(kind: ScenarioKind, invocation: Invocation) -> None:
    """On one line, and no command without its configuration."""
    said = next_step.for_scenario(kind, invocation)

    assert said
    assert "\n" not in said
    assert said.count("megtrim trim") == said.count("megtrim trim --config")


def test_a_waiver_that_lapsed_is_its_owners_to_renew() -> None:
    """Another one next to it would hide it."""
    assert "renew" in next_step.for_budget(lapsed=True)
    assert "add a waiver" in next_step.for_budget(lapsed=False)
