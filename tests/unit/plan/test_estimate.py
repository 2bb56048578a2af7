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
    estimate_cached,
    estimate_first_trim,
)
from unit.config.support import SMALL, load

SETTING = BuildSetting(engine="megengine", toolchain="clang-linux-arm64", jobs=2, cached=False)
CACHED = replace(SETTING, cached=True)
PLAIN = PendingTask(task="build/plain", variant="plain", key="p")
PROFILE = PendingTask(task="build/profile", variant="profile", key="f")
REDUCED = PendingTask(task="reduce/reduced", variant="reduced", key="")
VERIFY = PendingTask(task="verify/m/s@any", variant="", key="")


def took(
    pending: PendingTask,
    time_s: float,
    *,
    key: str = "",
    share: float = 1.0,
    cached: float | None = None,
) -> Duration:
    return Duration(
        task=pending.task,
        variant=pending.variant,
        place=SETTING.place,
        key=key or pending.key,
        time_s=time_s,
        share=share if pending.variant else 0.0,
        cached=cached if pending.variant else None,
    )


def test_a_first_run_goes_by_the_size_of_the_engine() -> None:
    """Its compilers share the work; it is said to be no more than that."""
    found = estimate([PLAIN, VERIFY], [], SETTING)

    assert found == Estimate(time_s=3000 / 2 + 2, measured=False)
    assert estimate([PLAIN], [], replace(SETTING, jobs=30)).time_s == 100


def test_a_second_run_takes_what_former_ones_took() -> None:
    """Also a build that waits for others, and a scenario that is new, as others of its stage."""
    former = [
        *(took(PLAIN, each) for each in (900, 4000, 1000)),
        *(took(REDUCED, each) for each in (480, 500, 520)),
        took(VERIFY, 8),
    ]
    other = PendingTask(task="verify/m/other@any", variant="", key="")

    assert estimate([PLAIN, REDUCED, VERIFY, other], former, SETTING) == Estimate(
        time_s=1000 + 500 + 8 + 8, measured=True
    )


def test_times_of_another_place_do_not_count() -> None:
    """Another toolchain, or another number of compilers."""
    former = [replace(took(PLAIN, 5), place="megengine zig 2")]

    assert estimate([PLAIN], former, SETTING) == Estimate(time_s=1500, measured=False)


def test_the_speed_of_one_build_is_that_of_another() -> None:
    """This machine takes half as long as the measured one."""
    assert estimate([REDUCED], [took(PLAIN, 750)], SETTING) == Estimate(time_s=487.5, measured=True)


def test_the_first_build_may_have_made_more() -> None:
    """The compiler's own libraries among it: the middle one of three counts."""
    former = [took(PLAIN, 9999), took(PROFILE, 750), took(REDUCED, 975)]

    assert estimate([PLAIN], former, SETTING).time_s == 1500


def test_a_build_that_compiled_nothing_says_nothing_of_one_that_does() -> None:
    """As in a folder of results whose plain build is up to date, before a fresh one."""
    former = [took(PLAIN, 17.2, share=0.0), took(PLAIN, 18.0, cached=1.0)]

    assert estimate([PROFILE, REDUCED], former, SETTING).time_s == (1500 + 1950) / 2
    assert estimate([replace(PLAIN, key="new")], former, SETTING).time_s == 1500


def test_a_chain_whose_plain_build_is_in_the_compiler_cache() -> None:
    """As recorded on two busy cores: MegEngine by regions, the other builds compiled for the first
    time. It took 1,830 s; a memory of quick builds alone once promised two minutes.
    """
    quick = [took(PLAIN, 17.2, cached=0.0, share=0.0), took(PLAIN, 24.7, cached=1.0)]
    pending = [PLAIN, PROFILE, REDUCED, *(replace(VERIFY, task=f"verify/{n}") for n in range(6))]

    found = estimate(pending, quick, CACHED)
    assert 1830 / 1.5 < found.time_s < 1830 * 1.5
    assert found.at_most

    built = (took(PLAIN, 18, cached=1.0), took(PROFILE, 748, cached=0.0))
    again = [*quick, *built, took(REDUCED, 971, key="r", cached=0.0)]
    assert estimate(pending, again, CACHED).time_s == pytest.approx(3 * 21, abs=15)


def test_a_tree_that_is_up_to_date_compiles_nothing() -> None:
    """Whatever was compiled before, by whatever version of megtrim."""
    ready = replace(PLAIN, share=0.0)
    compiled = took(PLAIN, 1500)

    assert estimate([ready], [compiled], SETTING) == Estimate(time_s=12.0, measured=True)
    former = [compiled, took(PLAIN, 17.0, share=0.0)]
    assert estimate([ready], former, CACHED) == Estimate(time_s=17.0, measured=True)


def test_a_build_that_is_in_the_compiler_cache_takes_what_such_builds_take() -> None:
    """It is there if the same was built here with the cache, which is still used."""
    former = [took(PLAIN, 1500, cached=0.0), took(PROFILE, 30, cached=1.0)]

    assert estimate_cached(PLAIN, former, CACHED) == 30
    assert estimate_cached(replace(PLAIN, key="new"), former, CACHED) is None
    assert estimate_cached(PLAIN, former, SETTING) is None
    assert estimate_cached(PLAIN, [took(PLAIN, 1500)], CACHED) is None
    assert estimate_cached(VERIFY, [took(VERIFY, 5)], CACHED) is None


def test_some_files_take_their_share() -> None:
    """Of what compiling all of them takes, over what a build takes in any case."""
    former = [took(PLAIN, 1010), took(PLAIN, 10, share=0.0)]

    assert estimate([replace(PLAIN, share=0.25)], former, SETTING).time_s == 260


def test_what_a_compiler_cache_has_takes_less() -> None:
    """The same build was made here with it: as the last cached one, else by the engine's size."""
    former = [took(PLAIN, 1500, cached=0.0), took(PROFILE, 750, cached=0.0)]

    assert estimate([PLAIN, PROFILE, REDUCED], former, CACHED).time_s == 60
    again = [*former, took(PLAIN, 30, cached=1.0)]
    assert estimate([PLAIN, PROFILE, REDUCED], again, CACHED) == Estimate(time_s=90, measured=True)
    assert estimate([PLAIN], again, SETTING).time_s > 900, "the cache is gone"


@pytest.mark.parametrize(("times", "slower"), [(0.5, 0.5), (3, 3), (20, 4)])
def test_a_slow_machine_is_slow_in_all(times: float, slower: float) -> None:
    """One that was busy while it compiled need not be busy again."""
    former = [took(PLAIN, times * 1500, cached=0.0)]

    assert estimate([PLAIN], former, CACHED).time_s == 20 * slower


def test_what_was_compiled_before_there_was_a_cache_is_not_in_it() -> None:
    """It is not said to be: the estimate is the most that it takes."""
    found = estimate([PLAIN], [took(PLAIN, 1000)], CACHED)

    assert found == Estimate(time_s=1000, measured=True, at_most=True)
    assert str(found).endswith("by former runs here; less if the compiler cache has it")


def test_other_sources_are_compiled() -> None:
    """And the builds that wait for this one likely compile other sources as well."""
    former = [
        *(took(each, 1000, cached=0.0) for each in (PLAIN, PLAIN, REDUCED, REDUCED)),
        took(PLAIN, 30, cached=1.0),
    ]

    found = estimate([replace(PLAIN, key="another"), REDUCED], former, CACHED)
    assert found == Estimate(time_s=2000, measured=True, at_most=True)


def test_a_build_that_was_partly_cached_says_how_fast_the_rest_was() -> None:
    """A fifth of it came out of the cache: another megtrim compiled the same meanwhile."""
    found = estimate([PLAIN], [took(PLAIN, 1204, key="other", cached=0.2)], CACHED)

    assert found == Estimate(time_s=1500, measured=True, at_most=True)


def test_a_build_of_which_nothing_is_known_is_no_measure() -> None:
    """Half of it came from the cache, or an old one does not count: neither one nor the other."""
    assert not estimate([PLAIN], [took(PLAIN, 5, cached=0.5)], CACHED).measured


@pytest.mark.parametrize(
    ("first", "share"),
    [
        (replace(PLAIN, key="p"), 0.0),
        (replace(PLAIN, key="another"), 0.1),
        (VERIFY, 0.1),
    ],
)
def test_a_tree_that_waits_compiles_what_it_did_last(first: PendingTask, share: float) -> None:
    """Nothing if all before it is as it was; else the share of its last change, or a tenth."""
    former = [took(PLAIN, 1000), took(REDUCED, 1010, key="r"), took(REDUCED, 10, share=0.0)]
    waits = replace(REDUCED, share=None)

    def reduced_s(*more: Duration) -> float:
        each = [*former, *more]
        return (
            estimate([first, waits], each, SETTING).time_s - estimate([first], each, SETTING).time_s
        )

    fresh_s = estimate([REDUCED], former, SETTING).time_s
    assert reduced_s() == pytest.approx(10 + share * (fresh_s - 10))
    changed = took(REDUCED, 99, share=0.5)
    assert reduced_s(changed) == pytest.approx(10 + (0.5 if share else 0) * (fresh_s - 10))


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
    assert str(Estimate(time_s=0.2, measured=True)) == "about 1 s, by former runs here"
    assert str(Estimate(time_s=61, measured=True)).startswith("about a minute,")
    assert str(Estimate(time_s=4000, measured=False)) == (
        "about 67 minutes, by the size of the engine"
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
