from __future__ import annotations

from collections import Counter

import pytest

from conftest import LANES, LONGEST, TOGETHER
from support.pages import ROOT
from support.starts import find_excess, read_held
from support.tally.sitecustomize import STARTS, classify


def test_the_longest_files_are_there() -> None:
    missing = [n for n in (*LONGEST, *TOGETHER) if not (ROOT / "tests" / n).exists()]

    assert missing == []
    assert len(set(LONGEST)) == len(LONGEST)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("megtrim trim", "megtrim"),
        ("/a/.venv/bin/megtrim ci gate", "megtrim"),
        ("/usr/bin/python3.11 -X importtime -m megtrim --version", "megtrim"),
        ("/usr/bin/python3 -m megtrim_other", None),
        ("/tools/act push --json", "act"),
        ("/a/bin/cmake -G Ninja -S src -B build", "engine"),
        ("docker exec x /a/bin/cmake -G Ninja -S src -B build", "engine"),
        ("bash /src/scripts/cmake-build/cross_build_android_arm_inference.sh -r", "engine"),
        ("/a/bin/cmake --version", None),
        ("/usr/bin/docker build --tag x .", "image"),
        ("mmdebstrap --variant=apt bookworm root.tar", "image"),
        ("docker run x", None),
    ],
)
def test_what_counts_as_a_start(line: str, expected: str | None) -> None:
    assert classify(line.split()) == expected


def test_a_lane_that_starts_more_than_is_held_is_named() -> None:
    held = {"act": {"megtrim": 2}}

    assert find_excess({"act": Counter(megtrim=2, image=9), "unit": Counter(act=9)}, held) == []
    (message,) = find_excess({"act": Counter(megtrim=3)}, held)
    assert message.startswith("act starts megtrim 3 times, 1 more than tests/walls/weight.toml")


def test_what_is_held_is_counted() -> None:
    """A number of a lane or a start of another name would hold nothing."""
    assert read_held().keys() <= LANES.keys()
    assert {what for counts in read_held().values() for what in counts} <= STARTS.keys()
