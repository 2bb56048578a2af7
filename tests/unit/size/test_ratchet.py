"""Lower limits for what shrank."""

from __future__ import annotations

import pytest

from megtrim.config.model import Budget
from megtrim.errors import InputError
from megtrim.size.ratchet import lower_limit, propose_limit

KIB, MIB = 1024, 1024 * 1024
FILE = b"""budgets:
# the app team agreed to 3 MiB
- {artifact: a, max: 3 MiB, growth: 1%}  # until r2
- artifact: b
  max: 3,000,000
- {artifact: c, max: 3 MB}
shared: &most 3 MiB
again: *most
"""


def budget(**limits: object) -> Budget:
    return Budget.model_validate({"artifact": "a", **limits})


@pytest.mark.parametrize(
    ("limits", "size_bytes", "growth_bytes", "expected"),
    [
        ({"max": "3 MiB"}, 2 * MIB, -12 * KIB, 3 * MIB - 12 * KIB),
        ({"max": "3 MiB"}, 2 * MIB, -KIB - 1, 3 * MIB - KIB),
        ({"max": "3 MiB"}, 2 * MIB, -KIB + 1, None),
        ({"max": "3 MiB"}, 2 * MIB, 0, None),
        ({"max": "3 MiB"}, 2 * MIB, 5, None),
        ({"max": "3 MiB"}, 2 * MIB, None, None),
        ({"max": "3 MiB"}, 3 * MIB + 1, -5 * KIB, None),
        ({"max": "3 MiB", "ratchet": "16 KiB"}, 2 * MIB, None, 2 * MIB + 16 * KIB),
        ({"max": "3 MiB", "ratchet": "1 MiB"}, 2 * MIB, -KIB, None),
        ({"max": "3 MB", "ratchet": "10%"}, 2_000_001, 0, 2_201_000),
        ({"max": "8%", "ratchet": "16 KiB"}, 2 * MIB, -KIB, None),
        ({"growth": "1%"}, 2 * MIB, -KIB, None),
    ],
)
def test_a_limit_is_lowered_if_it_leaves_too_much(
    limits: dict[str, object], size_bytes: int, growth_bytes: int | None, expected: int | None
) -> None:
    """By what it shrank, or to the room that was asked for; never below what there is."""
    assert propose_limit(budget(**limits), size_bytes, growth_bytes) == expected


@pytest.mark.parametrize(
    ("index", "most", "line", "text"),
    [
        (0, 2988 * KIB, 3, "- {artifact: a, max: 2988 KiB, growth: 1%}  # until r2"),
        (1, 2_500_000, 5, "max: 2500000"),
        (2, 2_500_000, 6, "- {artifact: c, max: 2500 kB}"),
        (2, 2_500_001, 6, "- {artifact: c, max: 2500001}"),
    ],
)
def test_only_the_number_changes(index: int, most: int, line: int, text: str) -> None:
    """Comments, order and every other byte stay."""
    lowered = lower_limit(FILE, ("budgets", index, "max"), most, file="megtrim.yaml")

    assert (lowered.line, lowered.text) == (line, text)
    before, after = FILE.splitlines(), lowered.raw.splitlines()
    assert [i for i, _ in enumerate(before) if before[i] != after[i]] == [line - 1]
    assert len(before) == len(after)


def test_a_limit_that_others_share_is_left_alone() -> None:
    """A lower one for one budget would be one for all."""
    for key in ("shared", "again"):
        with pytest.raises(InputError, match="is not a value that can be replaced by itself"):
            lower_limit(FILE, (key,), KIB, file="megtrim.yaml")
