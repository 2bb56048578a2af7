"""The matrix of device jobs: so many scenarios to a job, and never more jobs than GitHub takes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.chain.matrix import MOST_JOBS, MatrixEntry, Shard, entries
from megtrim.util.errors import InputError

COUNTS = st.lists(st.integers(0, 4000), max_size=MOST_JOBS)


def reported(counts: dict[str, int], per_job: int = 20) -> list[str]:
    return [each.as_json()["name"] for each in entries(counts, per_job=per_job, artifact="x")]


@pytest.mark.parametrize(
    ("config", "count", "expected"),
    [
        ("megtrim.yaml", 21, [
            ("pixel 1/2", "1/2", "x-pixel-1"), ("pixel 2/2", "2/2", "x-pixel-2"),
        ]),
        # Several may be in one run: their jobs are waited for, their artifacts found one by one.
        ("android/megtrim.yaml", 1, [("android pixel 1/1", "1/1", "x.android.pixel-1")]),
    ],
)  # fmt: skip
def test_an_entry_is_what_a_workflow_reads(
    config: str, count: int, expected: list[tuple[str, str, str]]
) -> None:
    found = entries({"pixel": count}, per_job=20, artifact="x", config=config)

    assert [each.as_json() for each in found] == [
        {"name": name, "class": "pixel", "shard": shard, "artifact": artifact}
        for name, shard, artifact in expected
    ]


@pytest.mark.parametrize(
    ("counts", "per_job", "names"),
    [
        ({}, 20, []),
        ({"a": 0}, 20, []),
        ({"b": 1, "a": 20}, 20, ["a 1/1", "b 1/1"]),
        ({"a": 41}, 20, ["a 1/3", "a 2/3", "a 3/3"]),
        ({"a": 2}, 1, ["a 1/2", "a 2/2"]),
    ],
)
def test_jobs_are_as_many_as_needed(counts: dict[str, int], per_job: int, names: list[str]) -> None:
    assert reported(counts, per_job) == names


def test_beyond_the_limit_jobs_grow() -> None:
    """Evenly: 5,121 scenarios make jobs of 21, not one job that is left out."""
    assert len(reported({"a": 5120})) == 256
    assert len(reported({"a": 5121})) == 244
    assert len(reported({"a": 5120, "b": 1})) == 245


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(COUNTS, st.integers(1, 50))
def test_the_limit_holds(sizes: list[int], per_job: int) -> None:
    counts = {f"c{number}": size for number, size in enumerate(sizes)}
    jobs = entries(counts, per_job=per_job, artifact="x")

    assert len(jobs) <= MOST_JOBS
    assert len({each.artifact for each in jobs}) == len(jobs)
    shards: dict[str, list[Shard]] = {name: [] for name in counts}
    for each in jobs:
        shards[each.cpu_class].append(each.shard)
    for name, count in counts.items():
        parts = [each.of(range(count)) for each in shards[name]]
        assert sorted(item for part in parts for item in part) == list(range(count))
        assert max(map(len, parts), default=0) - min(map(len, parts), default=0) <= 1


def test_more_classes_than_jobs_are_refused() -> None:
    assert len(reported({f"c{number}": 1 for number in range(256)})) == 256
    with pytest.raises(InputError, match="found 257 CPU classes, expected at most 256"):
        reported({f"c{number}": 1 for number in range(257)})


@pytest.mark.parametrize("name", ["", "a b", "${{ x }}", "a\n", "-a", 'a"', "x" * 201])
def test_a_class_that_could_be_more_than_a_name_is_refused(name: str) -> None:
    """It becomes a runner label and part of an artifact's name."""
    with pytest.raises(InputError, match=r"cannot be part of a job's name"):
        reported({name: 1})


def test_a_shard_is_read_as_it_is_written() -> None:
    assert Shard.parse("2/3") == Shard(index=2, count=3)
    assert str(Shard.parse("256/256")) == "256/256"
    assert Shard.parse("2/3").of("abcdefg") == ("b", "e")
    assert MatrixEntry(cpu_class="a", shard=Shard(index=1, count=1), artifact="x").as_json()[
        "shard"
    ] == ("1/1")


@pytest.mark.parametrize("text", ["", "0/1", "2/1", "1/257", "1", "1/1/1", "01/2", "1/-1", "1/2\n"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Shard.parse(text)
    assert caught.value.message == (
        f"--shard: found {text!r}, expected I/N such as 1/3, of at most 256"
    )
