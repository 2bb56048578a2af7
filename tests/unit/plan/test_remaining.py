"""How long a build still takes, estimated by the cost of its files: the record of a real build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.plan.compile_costs import guess_cost
from megtrim.plan.remaining import RemainingTime, StepCosts

RECORD = Path(__file__).parents[2] / "data/build-steps/megengine-arm64-plain.tsv"


def read_record() -> list[tuple[float, str]]:
    """Return the second at which each step ended, and what it made."""
    rows = (line.split("\t") for line in RECORD.read_text("utf-8").splitlines())
    return [(int(end) / 1000, name) for end, name in rows]


def describe(name: str) -> str:
    return f"Building CXX object {name}" if name.endswith(".o") else f"Generating {name}"


def replay(
    costs_s: dict[str, float], *, cached_s: float | None = None, most: int | None = None
) -> Iterator[tuple[float, float, float]]:
    """Yield the share that is done, and the estimates against the truth: by cost, by number.

    ``most``: the build is the first of these steps.
    """
    steps = read_record()[:most]
    end_s = steps[-1][0]
    remaining = RemainingTime(lambda: StepCosts(costs_s=costs_s, jobs=2), cached_s)
    for done, (now_s, name) in enumerate(steps[:-1], 1):
        left_s = remaining.after(done, len(steps), describe(name), now_s)
        assert left_s is not None
        truth_s = end_s - now_s
        by_number_s = now_s / done * (len(steps) - done)
        yield now_s / end_s, left_s / truth_s, by_number_s / truth_s


def guess_all(most: int | None = None) -> dict[str, float]:
    """Return what the table says of each object, or of those among the first steps."""
    objects = [name for _, name in read_record()[:most] if name.endswith(".o")]
    return {name: guess_cost("megengine", name) or 0.0 for name in objects}


def test_a_first_build_follows_the_table() -> None:
    """Within a half and one and a half, about, where counting says a tenth.

    That holds for four fifths of the time.

    The machine had other work to do, more and more of it: so the estimates are low.
    """
    seen = [each for each in replay(guess_all()) if each[0] < 0.8]

    assert all(0.5 < by_cost < 1.6 for _, by_cost, _ in seen)
    assert min(by_number for _, _, by_number in seen) < 0.05
    closer = [abs(1 - by_cost) < abs(1 - by_number) for _, by_cost, by_number in seen]
    assert sum(closer) / len(closer) > 0.9


def test_a_build_like_the_last_one_follows_its_times() -> None:
    """Its costs are the times of the other build, which was half as quick, say."""
    steps = read_record()
    before = {name: 0.0 for _, name in steps}
    former_s = 0.0
    for now_s, name in steps:
        before[name] = 2 * 2 * (now_s - former_s)  # two compilers ran, each half as quick
        former_s = now_s
    costs = {name: seconds for name, seconds in before.items() if name.endswith(".o")}

    seen = [by_cost for share, by_cost, _ in replay(costs) if 0.1 < share < 0.95]
    assert all(0.7 < each < 1.6 for each in seen)


_FROM_CACHE = 130
"""Steps at the beginning of the record whose objects came out of a compiler cache: 1.3 s."""


def test_a_build_out_of_the_compiler_cache_is_expected_to_be_one() -> None:
    """By what such a build took, about; by the costs alone it is twenty times as long, and more."""
    costs = guess_all(_FROM_CACHE)
    known, unknown = (
        [each for share, each, _ in replay(costs, cached_s=cached_s, most=_FROM_CACHE)
         if share < 0.5]
        for cached_s in (1.5, None)
    )  # fmt: skip

    assert all(0.8 < each < 5 for each in known)
    assert min(unknown) > 20


def test_a_build_that_is_not_in_the_cache_after_all_is_estimated_like_any_other() -> None:
    """It was cleaned meanwhile, say. That is seen as soon as the build takes twice as long."""
    believed, unknown = (
        [each for share, each, _ in replay(guess_all(), cached_s=cached_s) if share > 0.015]
        for cached_s in (20.0, None)
    )

    assert believed == unknown


def test_objects_of_other_targets_are_not_waited_for() -> None:
    """They cost least: what is not known to be left is no reason to frighten anyone."""
    costs = {f"{name}.o": 10.0 for name in "abcdefgh"} | {"other.o": 1.0}
    remaining = RemainingTime(lambda: StepCosts(costs_s=costs, jobs=1))

    left = [remaining.after(i + 1, 8, f"Building C object {n}.o", 10.0 * (i + 1))
            for i, n in enumerate("abcdefgh")]  # fmt: skip

    assert left[-1] == 0.0
    assert left[3] == pytest.approx(40.0, rel=0.05)


@pytest.mark.parametrize(("costs", "total"), [({}, 10), ({f"{n}.o": 1.0 for n in range(99)}, 3)])
def test_what_is_not_known_is_not_estimated(costs: dict[str, float], total: int) -> None:
    """Nothing is known of the objects, or a few of many are to be built: which, is not known."""
    remaining = RemainingTime(lambda: StepCosts(costs_s=costs, jobs=2))

    assert remaining.after(1, total, "Building CXX object 1.o", 1.0) is None


def test_a_build_that_finds_more_to_do_goes_on() -> None:
    """What is done stays done, and costs are read again: a tool of the host may have come first."""
    known = [{}, {"a.o": 5.0, "b.o": 5.0, "c.o": 5.0}]
    remaining = RemainingTime(lambda: StepCosts(costs_s=known.pop(0) if known else {}, jobs=1))

    assert remaining.after(1, 2, "Building CXX object tool.o", 1.0) is None
    first = remaining.after(1, 3, "Building CXX object a.o", 6.0)
    assert first == pytest.approx(10.0, rel=0.1)


def test_a_busy_machine_is_noticed() -> None:
    """The rate is that of the last minutes."""
    costs = {f"{number}.o": 10.0 for number in range(200)}
    remaining = RemainingTime(lambda: StepCosts(costs_s=costs, jobs=1))
    now_s, left = 0.0, None
    for number in range(150):
        now_s += 10.0 if number < 100 else 40.0
        left = remaining.after(number + 1, 200, f"Building CXX object {number}.o", now_s)

    assert left is not None
    assert 1000 < left <= 2000
