"""The age of a scenario's last proof: a passed verification of the same reduced program."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from megtrim.config.scenarios import all_scenarios
from megtrim.evidence.proofs import DAY_S
from megtrim.plan.graph import REDUCED, Stage, verify_task
from megtrim.stages.context import Context, binary_digest
from megtrim.verdict.model import ScenarioStatus


def proof_ages(context: Context) -> dict[str, int | None]:
    """Return, for each scenario without a result, how many days ago this build passed it.

    None: it never did. Every result of a stage is looked at, so ask once.
    """
    reduced = context.done.get(REDUCED)
    if reduced is None:
        return {}
    program = binary_digest(reduced, context.target())
    return {
        each.id: _age(context, each.id, program)
        for each in all_scenarios(context.loaded.config)
        if verify_task(each) not in context.done
    }


def expired(ages: Mapping[str, int | None], *, allowed_s: float) -> frozenset[str]:
    """Return the scenarios whose last proof is older than allowed."""
    return frozenset(
        id_ for id_, days in ages.items() if days is not None and days * DAY_S > allowed_s
    )


def _age(context: Context, scenario_id: str, program: str) -> int | None:
    last = context.store.previous(Stage.VERIFY, scenario_id)
    if last is None or last.inputs.get("reduced") != program:
        return None
    if last.result["status"] != ScenarioStatus.PASS:
        return None
    return (context.today - date.fromisoformat(last.result["day"])).days
