from pathlib import Path
from typing import Any

import pytest

from megtrim.config.performance import PerfConfig
from megtrim.experiments.contest import ContestBudget, Criterion
from megtrim.experiments.table import EXPERIMENTS
from unit.config.support import SMALL, load


def test_without_the_key_everything_is_measured(tmp_path: Path) -> None:
    perf = load(tmp_path, SMALL).config.perf

    assert perf.names == tuple(each.name for each in EXPERIMENTS)
    assert perf.criterion == Criterion(threshold=0.01, floor_ms=0.0, other_load=0.5)
    assert perf.contest_budget == ContestBudget(rounds=40, limit_s=None)
    assert not perf.trimming
    assert perf.inconclusive == "fail"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"experiments": ["record-1", "fast-run"]}, ("baseline", "fast-run", "record-1")),
        ({"recipes": ["arm"]}, ("baseline", "recipe-arm")),
        ({"experiments": ["nchw88"], "recipes": ["x86"]}, ("baseline", "nchw88", "recipe-x86")),
        ({"experiments": []}, ()),
        ({"experiments": ["baseline"]}, ("baseline",)),
    ],
)
def test_whatever_is_measured_is_compared_with_the_baseline(
    asked: dict[str, Any], names: tuple[str, ...]
) -> None:
    assert PerfConfig.model_validate(asked).names == names


def test_other_programs_may_take_any_share(tmp_path: Path) -> None:
    perf = load(tmp_path, f"{SMALL}perf: {{other_load: any}}\n").config.perf

    assert perf.criterion.other_load == 1.0


def test_every_key_is_read(tmp_path: Path) -> None:
    text = (
        "perf:\n"
        "  experiments: [nchw88]\n"
        "  scenarios: [m/s]\n"
        "  classes: [any]\n"
        "  trimming: true\n"
        "  budget: {rounds: 24, time: 10 min}\n"
        "  threshold: 2.5%\n"
        "  floor: 50 us\n"
        "  other_load: 25%\n"
        "  history: {branch: perf/history}\n"
        "  inconclusive: warn\n"
    )
    perf = load(tmp_path, SMALL + text).config.perf

    assert perf.criterion == Criterion(threshold=0.025, floor_ms=0.05, other_load=0.25)
    assert perf.contest_budget == ContestBudget(rounds=24, limit_s=600.0)
    assert perf.history.branch == "perf/history"
    assert perf.history.folder is None
    assert (perf.scenarios, perf.classes, perf.inconclusive) == (("m/s",), ("any",), "warn")
