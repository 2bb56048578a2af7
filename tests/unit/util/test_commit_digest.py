"""What names a commit, and what only looks like it."""

from __future__ import annotations

import pytest

from megtrim.util.commit_digest import COMMIT_DIGEST


@pytest.mark.parametrize("text", ["0123456789" * 4, "ab" * 32])
def test_a_whole_digest_names_a_commit(text: str) -> None:
    assert COMMIT_DIGEST.fullmatch(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1a2b3c4", "a" * 39, "a" * 41, "a" * 63, "a" * 65),
        *("A" * 40, "g" * 40, "a" * 40 + "\n", "\N{FULLWIDTH DIGIT ONE}" * 40),
    ],
)
def test_all_else_names_none(text: str) -> None:
    """A shortened digest, another length, and letters that git does not write."""
    assert not COMMIT_DIGEST.fullmatch(text)
