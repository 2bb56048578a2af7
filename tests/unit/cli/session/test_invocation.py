"""Paths of a printed command, as whoever reads it has to write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megtrim.cli.session.invocation import invocation_of
from megtrim.verdict.invocation import Invocation

IN_CI = {"GITHUB_ACTIONS": "true"}


def options(**changes: Any) -> dict[str, Any]:
    """Return the options of a call without any."""
    return {"config": Path("megtrim.yaml"), "out": Path("megtrim-out"), "engine": None} | changes


def test_what_is_usual_is_left_out() -> None:
    """Only the configuration is always named: it may be pasted next to another one."""
    assert invocation_of(options(), {}) == Invocation()


def test_paths_are_those_from_where_the_person_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies below is named from here, whatever way it was spelled; what does not, in full."""
    monkeypatch.chdir(tmp_path)
    chosen = options(
        config=tmp_path / "trim" / "a.yaml",
        out=Path("../out"),
        engine=Path("/engine"),
        baseline=Path("base/sizes.json"),
        traces=(Path("/t"),),
        quick=True,
    )

    assert invocation_of(chosen, {}, keep_set=Path("megtrim/keepset")) == Invocation(
        config="trim/a.yaml",
        out="../out",
        engine="/engine",
        baseline="base/sizes.json",
        traces=("/t",),
        quick=True,
        keep_set="trim/megtrim/keepset",
    )


def test_a_job_is_read_at_the_top_of_a_checkout() -> None:
    """The runner's own folders are nowhere else; the baseline comes with the report."""
    chosen = options(out=Path("../out"), baseline=Path("../out/baseline/sizes.json"))

    assert invocation_of(chosen, IN_CI) == Invocation(baseline="megtrim-report/baseline.json")
    android = {**chosen, "config": Path("android/megtrim.yaml")}
    report = "megtrim-report.android/baseline.json"
    assert invocation_of(android, IN_CI).baseline == report
