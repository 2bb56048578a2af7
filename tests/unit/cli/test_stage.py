"""Running the stages up to one: what is refused, and what is shown of the results."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from megtrim.chain.graph import VERDICT, Stage
from megtrim.chain.session import TaskResults
from megtrim.chain.stage_result import StageResult, dump_result
from megtrim.chain.store import Store
from megtrim.cli.stage import (
    RESULTS_VERSION,
    clear_final,
    list_kinds,
    make_results_schema,
    render_results,
)
from megtrim.util.errors import ProductFailure
from unit.cli.support import Shell
from unit.trim.stages.results import SAMPLES


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_names_its_command(shell: Shell, stage: Stage) -> None:
    answer = shell(*stage.verb.split(), "--help").expect(0)
    assert answer.out.startswith(f"Usage: megtrim {stage.verb.partition(' --')[0]} ")


def test_an_old_report_is_removed_with_the_results_that_it_described(tmp_path: Path) -> None:
    (tmp_path / "final").mkdir()
    (tmp_path / "final" / "verdict.json").touch()
    clear_final(Store(tmp_path))
    clear_final(Store(tmp_path))

    assert not (tmp_path / "final").exists()


def find_errors(document: Any) -> list[str]:
    validator = Draft202012Validator(make_results_schema())
    return [each.message for each in validator.iter_errors(document)]


STAGES = {kind: stage for stage in Stage for kind in list_kinds(stage)}


@pytest.mark.parametrize("kind", STAGES, ids=lambda kind: kind.__name__)
def test_each_kind_of_result_fits_the_schema(kind: type[StageResult]) -> None:
    found = {"folder": "f", "result": dump_result(SAMPLES[kind])}
    own, other = STAGES[kind], Stage.SIZE if STAGES[kind] is Stage.BUILD else Stage.BUILD
    document = {"version": RESULTS_VERSION, "failed": {}, "done": {f"{own}/a": found}}

    assert find_errors(document) == []
    assert find_errors(document | {"done": {f"{other}/a": found}})


def test_what_a_chain_prints_fits_the_schema() -> None:
    failed = TaskResults(failed={VERDICT: ProductFailure("it does not compile")})

    assert find_errors(json.loads(render_results(failed))) == []
