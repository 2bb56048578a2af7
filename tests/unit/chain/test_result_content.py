"""What of a result other stages rest on: what was found, and not how long it took."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.result_content import content_of, failure_content
from megtrim.chain.stage_result import StageResult
from megtrim.chain.store import StageFolder
from megtrim.checks.statuses import ScenarioStatus
from megtrim.proof.neighbours.model import NeighbourRunResult
from megtrim.proof.results import VerifyResult
from megtrim.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from unit.trim.stages.results import DEVICE, NEIGHBOUR, OUTCOME, sample

RESULT = sample(VerifyResult)


def folder(result: StageResult, **files: str) -> StageFolder:
    named = {name.replace("_", "."): sha256 for name, sha256 in files.items()}
    return StageFolder(
        path=Path("out"), stage="verify", name="m", key="k", inputs={}, result=result, files=named
    )


def ended(**changes: Any) -> VerifyResult:
    return replace(RESULT, outcome=replace(RESULT.outcome, **changes))


def of_neighbour(**changes: Any) -> NeighbourRunResult:
    """Return a neighbour's run that differs in what was seen on one level."""
    [level] = NEIGHBOUR.levels
    return NeighbourRunResult(neighbour=replace(NEIGHBOUR, levels=(replace(level, **changes),)))


@pytest.mark.parametrize(
    "other",
    [
        ended(status=ScenarioStatus.PARITY),
        ended(outputs=()),
        ended(outputs=(replace(OUTCOME.outputs[0], equal=False),)),
        replace(RESULT, device=replace(DEVICE, name="other")),
        replace(RESULT, device=replace(DEVICE, facts={"model": "C"})),
    ],
)
def test_what_was_found_is_its_content(other: VerifyResult) -> None:
    assert content_of(folder(other)) != content_of(folder(RESULT))


@pytest.mark.parametrize(
    "other",
    [
        ended(time_s=9.0),
        ended(conditions=None),
        ended(log_tail="a"),
        ended(crash="signal 5"),
        replace(RESULT, day=date(2027, 1, 31)),
    ],
)
def test_what_is_measured_is_not(other: VerifyResult) -> None:
    assert content_of(folder(other)) == content_of(folder(RESULT))


def test_what_is_measured_in_a_row_is_not_either() -> None:
    same = content_of(folder(of_neighbour()))

    assert content_of(folder(of_neighbour(time_s=9.0))) == same
    assert content_of(folder(of_neighbour(works=False))) != same


def test_files_are_and_logs_are_not() -> None:
    base = folder(RESULT, out_npy="1", run_log="1")

    assert content_of(base) == content_of(folder(RESULT, out_npy="1", run_log="2"))
    assert content_of(base) != content_of(folder(RESULT, out_npy="2", run_log="1"))
    assert content_of(base) != content_of(folder(RESULT, run_log="1"))


def test_a_failure_is_known_by_all_that_is_shown_of_it() -> None:
    failures: tuple[MegtrimError, ...] = (
        InfrastructureFailure("no phone"),
        InfrastructureFailure("no phone", attempts=("link lost",)),
        InfrastructureFailure("no phone", hint="plug it in"),
        InfrastructureFailure("another"),
        ProductFailure("no phone"),
    )

    assert len({failure_content(each) for each in failures}) == len(failures)
