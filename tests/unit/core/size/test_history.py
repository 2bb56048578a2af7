from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.build_spec import Origin
from megtrim.core.config.limits import Budget
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import ByteTable
from megtrim.core.size.history import (
    MOST_COMPONENTS,
    SIZE_FILES,
    CommitSizes,
    FileSize,
    make_commit_sizes,
    make_trends,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from support.history_entries import make_file, make_sizes


def test_points_are_in_the_order_of_commits_and_steps_in_that_of_bytes() -> None:
    entries = [make_sizes(3, 90), make_sizes(1, 100), make_sizes(2, 130), make_sizes(4, 95)]

    (trend,) = make_trends(entries, variant="reduced")

    assert (trend.config, trend.artifact, trend.variant) == ("megtrim.yaml", "app", "reduced")
    assert [
        (int(each.commit, 16), each.size_bytes, each.growth_bytes) for each in trend.points
    ] == [(1, 100, None), (2, 130, 30), (3, 90, -40), (4, 95, 5)]
    assert trend.growth_bytes == -5
    assert [each.growth_bytes for each in trend.find_steps()] == [-40, 30, 5]
    assert [each.growth_bytes for each in trend.find_steps(1)] == [-40]
    assert [each.variant for each in make_trends(entries)] == ["plain", "reduced"]


def test_configurations_and_quick_trims_keep_apart() -> None:
    entries = [
        make_sizes(1, 100),
        make_sizes(1, 50, quick=True),
        make_sizes(1, 70, config="megtrim.yaml#arm64"),
    ]

    # A commit counts once: the larger size does, in whatever order they are read.
    again = [make_sizes(1, 100, run=7), make_sizes(1, 90, run=12), make_sizes(1, 80)]
    for order in (again, again[::-1]):
        (trend,) = make_trends(order, variant="reduced")
        assert [each.size_bytes for each in trend.points] == [100]
    found = make_trends(entries, variant="reduced")

    assert [(each.config, each.quick, each.points[-1].size_bytes) for each in found] == [
        ("megtrim.yaml", False, 100),
        ("megtrim.yaml", True, 50),
        ("megtrim.yaml#arm64", False, 70),
    ]


def test_a_point_says_which_components_changed_most() -> None:
    entries = [
        make_sizes(1, 100),
        make_sizes(2, 100, a=10, b=10, c=10, d=10),
        make_sizes(3, 140, a=10, b=40, c=5, d=11, e=1),
    ]

    (trend,) = make_trends(entries, variant="reduced")

    changes = [
        [(each.component, each.growth_bytes) for each in point.components] for point in trend.points
    ]
    assert changes == [[], [], [("b", 30), ("other", 13), ("c", -5)]]


def test_any_measure_has_a_trend() -> None:
    silent = make_sizes(2, 100)
    silent = replace(
        silent,
        artifacts={"app": {"reduced": replace(silent.artifacts["app"]["reduced"], measures={})}},
    )

    (trend,) = make_trends([make_sizes(1, 100), silent], variant="reduced", measure="deflated")

    assert (trend.measure, [each.size_bytes for each in trend.points]) == ("deflated", [50])
    assert make_trends([silent], measure="loaded") == ()


def test_a_budget_is_shown_with_what_it_leaves() -> None:
    def find(budget: dict[str, object]) -> tuple[int | None, int | None]:
        budgets = {"megtrim.yaml": (Budget.model_validate({"artifact": "app", **budget}),)}
        (trend,) = make_trends([make_sizes(1, 1000)], variant="reduced", budgets=budgets)
        return trend.max_bytes, trend.left_bytes

    assert find({"max": "900 B"}) == (900, -100)
    assert find({"max": "20%"}) == (1800, 800)
    assert find({"max": "900 B", "size": "deflated"}) == (None, None)
    assert find({"growth": "1 KiB"}) == (None, None)


SIZES = make_sizes(3, 1000, kernels=400)
STORED = Baseline(
    sizes={("app", "reduced"): 100, ("app", "plain"): 900},
    measured={("app", "reduced"): {"loaded": 120, "deflated": 50}},
    parts={
        ("app", "reduced"): ByteTable(
            least_bytes=1,
            components={
                "kernels/arm/conv": {"a": 30, "b": 10},
                "kernels/arm/pooling": {"c": 20},
                "runtime": {"d": 40},
            },
        )
    },
    origin=Origin(
        config="megtrim.yaml#arm64",
        commit="c" * 40,
        committed_at="2026-11-03T02:00:00Z",
        megtrim="1.2.3",
    ),
)


def write(sizes: CommitSizes) -> tuple[str, bytes]:
    return sizes.path, dump(sizes).encode()


def test_what_is_written_is_read_back() -> None:
    path, data = write(SIZES)

    assert path.startswith("sizes/2026/11/20261103T020000Z-000000000000-")
    assert SIZE_FILES.parse_file(path, data) == SIZES
    assert SIZE_FILES.select([path], date(2026, 11, 4)) == ()


def test_the_history_keeps_what_is_small() -> None:
    found = make_commit_sizes(STORED, shown="sizes.json", run=7)

    assert (found.commit, found.config, found.run) == ("c" * 40, "megtrim.yaml#arm64", 7)
    assert found.artifacts == {
        "app": {
            "plain": FileSize(size_bytes=900, measures={}, components={}),
            "reduced": FileSize(
                size_bytes=100,
                measures={"deflated": 50, "loaded": 120},
                components={"kernels/arm": 60, "runtime": 40},
            ),
        }
    }


def test_many_components_are_one_row() -> None:
    parts = {f"part {number}": {"x": number} for number in range(1, 101)}
    table = ByteTable(least_bytes=1, components=parts)
    many = replace(STORED, sizes={("app", "reduced"): 5050}, parts={("app", "reduced"): table})

    file = make_commit_sizes(many, shown="x").artifacts["app"]["reduced"]

    assert len(file.components) == MOST_COMPONENTS + 1
    assert file.components["[smaller]"] == sum(range(1, 61))
    assert file.find("component part 100") == 100
    assert file.find("component part 1") is None


@pytest.mark.parametrize(
    ("origin", "sizes", "expected"),
    [
        ({"commit": ""}, STORED.sizes, "sizes without a commit"),
        ({"committed_at": ""}, STORED.sizes, "sizes without a commit"),
        ({"config": ""}, STORED.sizes, "sizes without a commit"),
        ({"changed": True}, STORED.sizes, "differ from commit cccccccccccc"),
        ({"committed_at": "2026-02-30T02:00:00Z"}, STORED.sizes, "expected a time"),
        ({}, {}, "found 0 files"),
    ],
)
def test_what_has_no_place_is_refused(
    origin: dict[str, Any], sizes: Mapping[tuple[str, str], int], expected: str
) -> None:
    """It would be a point at no commit, or at a wrong one."""
    stored = replace(STORED, origin=replace(STORED.origin, **origin), sizes=sizes)
    with pytest.raises(InputError, match=expected) as caught:
        make_commit_sizes(stored, shown="runs/7/sizes.json")
    assert caught.value.message.startswith("runs/7/sizes.json: ")


def test_measures_are_found_by_name() -> None:
    file = make_file(100, kernels=40)
    flat = make_file(100)

    assert (file.find(""), file.find("deflated"), file.find("loaded")) == (100, 50, None)
    assert file.find("section .text") == 0
    assert (file.find("component kernels"), file.find("component kernels/arm/conv")) == (40, None)
    assert flat.find("component kernels") is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"commit": "0', '"commit": "../', "commit"),
        ('"committed_at": "2026-11-03', '"committed_at": "2026-02-30', "committed_at"),
        ('"bytes": 1000', '"bytes": 1001', "found 1,000 bytes in all, expected the 1,001"),
        ('"bytes": 1000', '"bytes": -1', "bytes"),
        ('"kernels": 400', '"kernels": "many"', "whole number"),
        ('"kernels": 400', '"kernels": 400, "kernels": 400', "twice"),
        ('"kernels": 400', '"kern\\u001b[2Jels": 400', "one line"),
        ('"quick": false', '"quick": 0', "true or false"),
        ('"app"', '"\\n"', "one line"),
        ('"run": 0', '"run": 0, "extra": 1', "extra"),
        ('"version": 1', '"version": 2', "version: found 2, expected 1"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, expected: str) -> None:
    text = dump(SIZES)
    assert old in text

    with pytest.raises(InputError, match=expected) as caught:
        SIZE_FILES.parse(text.replace(old, new), source="x.json")
    assert caught.value.message.startswith("x.json:")


@given(st.integers(0, 5_000), st.binary(max_size=4))
def test_a_damaged_file_is_one_error(place: int, junk: bytes) -> None:
    path, data = write(SIZES)
    damaged = data[: place % len(data)] + junk + data[place % len(data) + len(junk) :]
    try:
        assert SIZE_FILES.parse_file(path, damaged) == SIZES
    except InputError as error:
        assert error.message.startswith(f"{path}:")
