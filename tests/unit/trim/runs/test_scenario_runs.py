from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.config.scenarios import all_scenarios
from megtrim.regions.keepset import KeepSet
from megtrim.regions.region import Region
from megtrim.regions.trace import Trace, TraceFailure, TraceProblem
from megtrim.trim.runs.scenario_runs import expect_as_traced, record_of
from megtrim.util.errors import InputError
from unit.trim.stages.support import changed, open_session

TRACE = Trace(regions=(Region("kern", (1,)),), sha256="b" * 64)


def kept(folder: Path, **changes: Any) -> KeepSet:
    now, _ = open_session(folder)
    scenario = next(all_scenarios(now.request.config))
    record = replace(record_of(scenario, now, TRACE), **changes)
    return KeepSet(generation=20220507, scenarios=(record,), operators=None)


def test_what_was_traced_may_run(tmp_path: Path) -> None:
    keep = kept(tmp_path)
    now, _ = open_session(tmp_path)

    expect_as_traced(next(all_scenarios(now.request.config)), now, keep)


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"model_sha256": "0" * 64}, "the model"),
        ({"arguments": ("--cpu", "--iter", "9")}, "the arguments"),
        ({"inputs": (("data", "0" * 64),)}, "an input"),
        ({"algo_cache_sha256": "0" * 64}, "the algorithm cache"),
        ({"threads": 4}, "the number of threads"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, change: dict[str, Any], reported: str) -> None:
    keep = kept(tmp_path, **change)
    now, _ = open_session(tmp_path)
    with pytest.raises(InputError) as refused:
        expect_as_traced(next(all_scenarios(now.request.config)), now, keep)

    assert refused.value.exit_code == 2
    assert refused.value.message == f"m/s@any is not what was traced: {reported} changed"


def test_a_scenario_that_was_never_traced_is_refused(tmp_path: Path) -> None:
    now, _ = open_session(tmp_path)
    empty = KeepSet(generation=20220507, scenarios=(), operators=None)
    with pytest.raises(InputError, match="was not traced"):
        expect_as_traced(next(all_scenarios(now.request.config)), now, empty)


@pytest.mark.parametrize("known", [True, False])
def test_in_committed_mode_it_is_a_finding_of_the_verdict(tmp_path: Path, known: bool) -> None:
    other = kept(tmp_path, threads=4)
    keep = other if known else replace(other, scenarios=())
    now = changed(open_session(tmp_path)[0], committed=True)
    with pytest.raises(TraceFailure) as failed:
        expect_as_traced(next(all_scenarios(now.request.config)), now, keep)

    assert failed.value.problem is TraceProblem.STALE
    assert failed.value.exit_code == 1
    assert failed.value.message == (
        "m/s@any is not what was traced: the number of threads changed (stale trace)"
        if known
        else "m/s@any is not in the keep set: it was not traced (stale trace)"
    )
    assert failed.value.hint == (
        "trace it again, accept that, and commit the keep set: megtrim trim --accept"
        if known
        else "trace it, and commit the keep set: megtrim trim"
    )
