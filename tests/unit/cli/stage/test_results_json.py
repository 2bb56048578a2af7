"""What ``--json`` of a stage prints: a form that its schema knows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from megtrim.cli.stage import results_json
from megtrim.errors import ProductFailure
from megtrim.pipeline.session import TaskResults
from megtrim.plan.graph import VERDICT, Stage
from megtrim.stage_result import StageResult, dump_result
from unit.stages.results import SAMPLES


def find_errors(document: Any) -> list[str]:
    """Return what the schema finds wrong."""
    validator = Draft202012Validator(results_json.make_schema())
    return [each.message for each in validator.iter_errors(document)]


STAGES = {kind: stage for stage in Stage for kind in results_json.list_kinds(stage)}


@pytest.mark.parametrize("kind", STAGES, ids=lambda kind: kind.__name__)
def test_each_kind_of_result_fits_the_schema(kind: type[StageResult]) -> None:
    """Below the name of its task, with its folder; and not below that of another stage."""
    found = {"folder": "f", "result": dump_result(SAMPLES[kind])}
    own, other = STAGES[kind], Stage.SIZE if STAGES[kind] is Stage.BUILD else Stage.BUILD
    document = {"version": results_json.VERSION, "failed": {}, "done": {f"{own}/a": found}}

    assert find_errors(document) == []
    assert find_errors(document | {"done": {f"{other}/a": found}})


def test_what_a_chain_prints_fits_the_schema() -> None:
    """Of one that failed, too."""
    failed = TaskResults(failed={VERDICT: ProductFailure("it does not compile")})

    assert find_errors(json.loads(results_json.render(failed))) == []
