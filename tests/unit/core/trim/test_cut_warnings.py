from typing import Any

import pytest

from megtrim.core.trim.cut_warnings import warn_of_blocks
from megtrim.core.trim.results import FunctionCount


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"cut": 3}, []),
        (
            {"cut": 3, "changed": ("_Z3sumPKc",), "changed_bytes": 2048},
            [
                (
                    "app: 1 function with other blocks than the keep set names (another compiler?) "
                    "stay whole, 2 KiB in all: sum(char const*): record them again"
                )
            ],
        ),
        (
            {"cut": 0, "changed": tuple("abcdefghijklm"), "changed_bytes": 9},
            [
                (
                    "app: 13 functions with other blocks than the keep set names "
                    "(another compiler?) stay whole, 9 B in all: "
                    "a, b, c, d, e, f, g, h, i, j and 3 more: record"
                )
            ],
        ),
        (
            {"cut": 0, "uncut": ("2 functions of a.o stay whole, because it is old",)},
            ["app: 2 functions of a.o stay whole, because it is old; to build it anew"],
        ),
        ({"cut": 0}, ["app: no function was cut, so level: blocks made it as"]),
    ],
)
def test_what_stays_whole_is_said(made: dict[str, Any], said: list[str]) -> None:
    counts = {"app": FunctionCount(held=9, dropped=4, **made)}
    found = list(warn_of_blocks(counts))
    assert len(found) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(found, said, strict=True))
