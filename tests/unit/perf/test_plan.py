from typing import Any

import pytest

from megtrim.chain.graph import Stage
from megtrim.config.model import Config
from megtrim.perf.plan import list_trimmed, perf_tasks, select_measured, subject_of


def make_config(perf: dict[str, Any], **keys: Any) -> Config:
    scenarios = [{"name": "default"}, {"name": "tuned", "fast_run": True}]
    return Config.model_validate(
        {
            "version": 1,
            "engine": {"kind": "sample"},
            "classes": [{"name": "big"}, {"name": "little"}],
            "models": [{"name": "m", "file": "m.mge", "scenarios": scenarios}],
            "perf": perf,
            **keys,
        }
    )


def test_experiments_need_the_plain_build_alone() -> None:
    found = perf_tasks(make_config({"experiments": ["nchw88"]}))

    assert next(task.id for task in found) == "build/plain"
    measured = [task for task in found if task.stage is Stage.PERF]
    assert [task.name for task in measured][:2] == [
        "m/default@big#baseline",
        "m/default@big#nchw88",
    ]
    assert len(measured) == 8
    assert {task.needs for task in measured} == {("build/plain",)}
    assert {task.stage for task in found} == {
        *(Stage.BUILD, Stage.PERF, Stage.VERDICT, Stage.REPORT)
    }


def test_trimming_needs_a_trim() -> None:
    found = perf_tasks(make_config({"experiments": [], "trimming": True}))

    measured = {task.name: task for task in found if task.stage is Stage.PERF}
    assert sorted(measured) == [
        *("m/default@big#trimming-reduced", "m/default@little#trimming-reduced"),
        *("m/tuned@big#trimming-reduced", "m/tuned@little#trimming-reduced"),
    ]
    assert measured["m/tuned@big#trimming-reduced"].needs == (
        *("build/plain", "profile/m/tuned@big#search", "reduce/reduced"),
    )
    assert subject_of(measured["m/tuned@big#trimming-reduced"]) == "trimming-reduced"
    assert not any(task.stage in (Stage.VERIFY, Stage.SIZE) for task in found)


@pytest.mark.parametrize(
    ("trim", "variants"),
    [
        ({}, ["reduced"]),
        ({"level": "function"}, ["region", "reduced"]),
        ({"level": "function", "base": "plain"}, ["reduced"]),
    ],
)
def test_each_level_of_trimming_is_compared(trim: dict[str, str], variants: list[str]) -> None:
    assert [name for name, _ in list_trimmed(make_config({}, trim=trim))] == variants


@pytest.mark.parametrize(
    ("perf", "expected"),
    [
        ({}, ["m/default@big", "m/default@little", "m/tuned@big", "m/tuned@little"]),
        ({"scenarios": ["m/tuned"]}, ["m/tuned@big", "m/tuned@little"]),
        ({"scenarios": ["m/tuned@big"]}, ["m/tuned@big"]),
        ({"classes": ["little"]}, ["m/default@little", "m/tuned@little"]),
        ({"scenarios": ["m/default"], "classes": ["big"]}, ["m/default@big"]),
    ],
)
def test_scenarios_and_classes_are_chosen(perf: dict[str, Any], expected: list[str]) -> None:
    assert [each.id for each in select_measured(make_config(perf))] == expected


def test_the_verdict_speaks_of_all_and_the_report_of_the_verdict() -> None:
    *before, verdict, report = perf_tasks(make_config({"experiments": ["nchw88"]}))

    assert verdict.needs == ()
    assert set(verdict.wants) == {task.id for task in before}
    assert report.needs == (verdict.id,)


def test_each_experiment_is_compared_with_the_base() -> None:
    config = make_config({"experiments": ["nchw88"], "scenarios": ["m/default@big"]})

    found = perf_tasks(config, since_base=True)

    measured = {subject_of(task): task.needs for task in found if task.stage is Stage.PERF}
    assert measured == {
        "baseline": ("build/plain",),
        "since-baseline": ("build/plain", "build/base"),
        "nchw88": ("build/plain",),
        "since-nchw88": ("build/plain", "build/base"),
    }
    assert not any(task.id == "build/base" for task in found)
