"""What of a result other stages rest on: what was found, and not how long it took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megtrim.errors import InfrastructureFailure, MegtrimError, ProductFailure
from megtrim.pipeline.result_content import content_of, failure_content
from megtrim.store import StageFolder

RESULT: dict[str, Any] = {
    "status": "pass",
    "outputs": [{"name": "out", "equal": True, "time_s": 1.0}],
    "device": {"name": "board", "facts": {"model": "B"}},
    "time_s": 1.5,
    "conditions": None,
}


def folder(result: dict[str, Any], **files: str) -> StageFolder:
    named = {name.replace("_", "."): sha256 for name, sha256 in files.items()}
    return StageFolder(
        path=Path("out"), stage="verify", name="m", key="k", inputs={}, result=result, files=named
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "parity"},
        {"exit code": 1},
        {"outputs": []},
        {"outputs": [{"name": "out", "equal": False, "time_s": 1.0}]},
        {"device": {"name": "other", "facts": {"model": "B"}}},
    ],
)
def test_what_was_found_is_its_content(changes: dict[str, Any]) -> None:
    """At any depth."""
    assert content_of(folder(RESULT | changes)) != content_of(folder(RESULT))


@pytest.mark.parametrize(
    "changes",
    [
        {"time_s": 9.0},
        {"day": "2027-01-31"},
        {"conditions": {"before": 1}},
        {"log tail": "a"},
        {"outputs": [{"name": "out", "equal": True, "time_s": 2.0}]},
    ],
)
def test_what_is_measured_is_not(changes: dict[str, Any]) -> None:
    """It differs where the same is done again."""
    assert content_of(folder(RESULT | changes)) == content_of(folder(RESULT))


def test_files_are_and_logs_are_not() -> None:
    """Whatever their names: a log says how it went."""
    base = folder(RESULT, out_npy="1", run_log="1")

    assert content_of(base) == content_of(folder(RESULT, out_npy="1", run_log="2"))
    assert content_of(base) != content_of(folder(RESULT, out_npy="2", run_log="1"))
    assert content_of(base) != content_of(folder(RESULT, run_log="1"))


def test_a_failure_is_known_by_all_that_is_told_of_it() -> None:
    """Kind, words, hint and every attempt."""
    failures: tuple[MegtrimError, ...] = (
        InfrastructureFailure("no phone"),
        InfrastructureFailure("no phone", attempts=("link lost",)),
        InfrastructureFailure("no phone", hint="plug it in"),
        InfrastructureFailure("another"),
        ProductFailure("no phone"),
    )

    assert len({failure_content(each) for each in failures}) == len(failures)
