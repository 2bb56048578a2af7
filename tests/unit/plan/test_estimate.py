"""How long tasks will take: by former runs on this machine, else by the size of the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.plan.estimate import (
    BuildSetting,
    Duration,
    Estimate,
    PendingTask,
    compiled_variant,
    estimate,
    estimate_first_trim,
)
from unit.config.support import SMALL, load

SETTING = BuildSetting(engine="megengine", toolchain="clang-linux-arm64", jobs=2, cached=False)
PLAIN = PendingTask(task="build/plain", variant="plain", key="p")
REDUCED = PendingTask(task="reduce/reduced", variant="reduced", key="")
VERIFY = PendingTask(task="verify/m/s@any", variant="", key="")


def took(
    pending: PendingTask, time_s: float, *, key: str = "p", repeated: bool = False
) -> Duration:
    return Duration(
        task=pending.task,
        variant=pending.variant,
        place=SETTING.place,
        key=key,
        time_s=time_s,
        repeated=repeated,
    )


def test_a_first_run_goes_by_the_size_of_the_engine() -> None:
    """CPU seconds, shared by the compilers; it is said to be no more than that."""
    found = estimate([PLAIN, VERIFY], [], SETTING)

    assert found == Estimate(time_s=3700 / 2 + 2, measured=False)
    assert estimate([PLAIN], [], replace(SETTING, jobs=37)).time_s == 100


def test_a_second_run_takes_what_the_last_one_took() -> None:
    """Also a build that waits for others, and a scenario that is new, as others of its stage."""
    former = [took(PLAIN, 900), took(PLAIN, 1000), took(REDUCED, 500), took(VERIFY, 8)]
    other = PendingTask(task="verify/m/other@any", variant="", key="")

    assert estimate([PLAIN, REDUCED, VERIFY, other], former, SETTING) == Estimate(
        time_s=1000 + 500 + 8 + 8, measured=True
    )


def test_times_of_another_place_do_not_count() -> None:
    """Another toolchain, or another number of compilers."""
    former = [replace(took(PLAIN, 5), place="megengine zig 2")]

    assert estimate([PLAIN], former, SETTING) == Estimate(time_s=1850, measured=False)


def test_the_speed_of_one_build_is_that_of_another() -> None:
    """This machine takes half as long as the measured one."""
    assert estimate([REDUCED], [took(PLAIN, 925)], SETTING) == Estimate(time_s=550, measured=False)


def test_what_a_compiler_cache_has_takes_less() -> None:
    """The same build was made here: the time is that of the last repeated one, else a share."""
    cached = replace(SETTING, cached=True)
    former = [took(PLAIN, 1000), took(REDUCED, 500, key="r")]

    assert estimate([PLAIN, REDUCED], former, cached).time_s == pytest.approx(450)
    again = [*former, took(PLAIN, 60, repeated=True), took(REDUCED, 30, key="r", repeated=True)]
    assert estimate([PLAIN, REDUCED], again, cached).time_s == 90
    fresh = replace(PLAIN, key="another")
    assert estimate([fresh, REDUCED], again, cached).time_s == 1500


@pytest.mark.parametrize(
    ("trim", "builds_s"), [("{}", 52.5), ("{level: function, base: plain}", 20.0)]
)
def test_a_first_trim_is_all_builds(tmp_path: Path, trim: str, builds_s: float) -> None:
    """Or the plain one alone, where only functions are trimmed; everything else takes little."""
    config = load(tmp_path, SMALL + f"trim: {trim}\n").config

    found = estimate_first_trim(config, jobs=2)
    assert builds_s < found.time_s < builds_s + 30
    assert not found.measured


def test_a_time_is_said_as_roughly_as_it_is_known() -> None:
    """Seconds, or minutes, and where it comes from."""
    assert str(Estimate(time_s=0.2, measured=True)) == "about 1 s, as former runs here took"
    assert str(Estimate(time_s=61, measured=True)).startswith("about a minute,")
    assert str(Estimate(time_s=4000, measured=False)) == (
        "about 67 minutes, by the size of the engine alone"
    )


@pytest.mark.parametrize(
    ("task", "functions", "variant"),
    [
        ("build/plain", False, "plain"),
        ("build/profile", True, "profile"),
        ("reduce/reduced", False, "reduced"),
        ("reduce/region", True, "reduced"),
        ("reduce/reduced", True, ""),
        ("switches/rtti-off", False, "reduced"),
        ("switches/table", False, ""),
        ("verify/m/s@any", False, ""),
    ],
)
def test_some_tasks_compile(task: str, functions: bool, variant: str) -> None:
    """A link after the build by regions compiles nothing."""
    assert compiled_variant(task, functions=functions) == variant
