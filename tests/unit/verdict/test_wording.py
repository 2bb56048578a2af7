import pytest

from megtrim.render.formatting import group_digits, kept_of_held, percent, seconds
from megtrim.trim.results import Rebuild, RegionsUse
from megtrim.verdict.join import join
from megtrim.verdict.wording import describe_rebuild, growth_of, list_urgent, regions_of
from unit.verdict.examples import compared, facts, failing, passing, unverified


@pytest.mark.parametrize(
    ("time_s", "expected"),
    [
        (0.0, "0.00 s"),
        (0.754, "0.75 s"),
        (9.99, "9.99 s"),
        (10.0, "10 s"),
        (59.4, "59 s"),
        (60.0, "1 min 0 s"),
        (61.2, "1 min 1 s"),
        (1620.5, "27 min 0 s"),
    ],
)
def test_times(time_s: float, expected: str) -> None:
    assert seconds(time_s) == expected


def test_numbers() -> None:
    assert (group_digits(39_300_016), percent(0.0672)) == ("39,300,016", "6.7%")


def test_what_needs_a_person_comes_the_worst_first() -> None:
    assert list_urgent(passing()) == ()
    assert [check.kind for check in list_urgent(failing())] == ["trap", "parity", "size", "growth"]
    assert [check.kind for check in list_urgent(unverified(expired=True))] == ["coverage", "device"]
    assert [check.kind for check in list_urgent(unverified())] == ["device", "coverage"]
    assert [check.kind for check in list_urgent(join(facts(scenarios=())))] == ["coverage"]


@pytest.mark.parametrize(
    ("held", "kept", "expected"),
    [
        (900, 149, ["", "900 of 900", "149 of 900"]),
        (900, 0, ["", "900 of 900", "900 of 900"]),
        (0, 1_490, ["", "", "1,490"]),
        (0, 0, ["", "", ""]),
    ],
)
def test_regions_of_each_variant(held: int, kept: int, expected: list[str]) -> None:
    verdict = join(facts(regions=RegionsUse(held=held, kept=kept, by_tag=())))

    assert [regions_of(size, verdict) for size in verdict.artifacts[0].sizes] == expected


def test_kept_and_growth_in_words() -> None:
    sizes = compared().artifacts[0].sizes

    assert (kept_of_held(1_149, 1_900), kept_of_held(1_149, 0)) == ("1,149 of 1,900", "1,149")
    assert [growth_of(size) for size in sizes] == ["0 B", "", "-2 KiB"]


def test_what_was_compiled() -> None:
    assert describe_rebuild(Rebuild(compiled=2, units=1180)) == "2 of 1,180 files"
