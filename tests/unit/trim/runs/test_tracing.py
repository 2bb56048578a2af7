from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.regions.region import Region
from megtrim.regions.trace import TraceFailure, TraceProblem
from megtrim.trim.runs import tracing
from megtrim.trim.runs.execution import RunResult, RunSpec
from megtrim.util.errors import ProductFailure
from unit.trim.stages.fake_device import FakeDevice
from unit.trim.stages.support import trace as trace_bytes

ID = "m/s@any"


def make_spec(folder: Path, text: str, *, search: bool = False) -> RunSpec:
    (folder / "load_and_run").write_text(text, encoding="utf-8")
    (folder / "m.mge").write_bytes(b"model")
    return RunSpec(
        program=folder / "load_and_run",
        model=folder / "m.mge",
        arguments=(),
        inputs={},
        threads=1,
        timeout_s=9.0,
        search=search,
    )


def test_a_trace_comes_parsed_and_as_it_was_written(tmp_path: Path) -> None:
    noted: list[RunResult] = []
    asked = make_spec(tmp_path, "trace 7 1\npromise 2\n")
    parsed, data, run = tracing.trace(ID, asked, FakeDevice(), noted.append)

    assert parsed.regions == (Region("kern", (1,)), Region("kern", (7,)))
    assert data == trace_bytes(7, 1)
    assert [each.run for each in noted] == [run]


def test_a_search_leaves_its_cache(tmp_path: Path) -> None:
    device, noted = FakeDevice(), list[RunResult]()
    asked = make_spec(tmp_path, "cache found\n", search=True)
    cache, run = tracing.search(ID, asked, device, noted.append)

    assert (cache, run.wall_s, len(noted)) == (b"found", 0.5, 1)
    assert "--fast-run" in device.runs[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 1\nstderr no operator\n", f"{ID}: the plain build ended with 1 (failed): "),
        ("exit 133\n", f"{ID}: the plain build ended with 133 (trap): it said nothing"),
        ("output o 1\n", f"{ID}: the search ended well and left no algorithm cache"),
    ],
)
def test_a_search_that_fails_is_the_products_failure(tmp_path: Path, text: str, said: str) -> None:
    noted: list[RunResult] = []
    with pytest.raises(ProductFailure) as caught:
        tracing.search(ID, make_spec(tmp_path, text, search=True), FakeDevice(), noted.append)

    assert caught.value.message.startswith(said)
    assert len(noted) == 1


def test_a_profile_build_that_fails_is_named(tmp_path: Path) -> None:
    asked = make_spec(tmp_path, "trace 1\npromise 1\nexit 139\n")
    with pytest.raises(ProductFailure) as caught:
        tracing.trace(ID, asked, FakeDevice(), lambda _: None)

    assert caught.value.message == (
        f"{ID}: the profile build ended with 139 (crashed): it said nothing"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("output o 1\n", TraceProblem.MISSING),
        ("trace 1\npromise 2\n", TraceProblem.TRUNCATED),
        ("trace 1\n", TraceProblem.STALE),
    ],
)
def test_a_trace_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, problem: TraceProblem
) -> None:
    with pytest.raises(TraceFailure) as caught:
        tracing.trace(ID, make_spec(tmp_path, text), FakeDevice(), lambda _: None)

    assert caught.value.problem is problem
    assert caught.value.message.startswith(f"trace of {ID}: ")
