"""The input build-runner: labels as people write them, and what is no label."""

from __future__ import annotations

import pytest

from megtrim.github.build_runner import describe_fork, parse_build_runner
from megtrim.util.errors import InputError


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("ubuntu-24.04", ("ubuntu-24.04",)),
        ('["self-hosted", "builder_2"]', ("self-hosted", "builder_2")),
    ],
)
def test_a_label_or_a_list_of_labels(text: str, labels: tuple[str, ...]) -> None:
    """As `runs-on` takes them."""
    assert parse_build_runner(text) == labels


@pytest.mark.parametrize(
    "text",
    ["", " ", "a b", "a,b", "[", "[]", '["a"', "[1]", '[["a"]]', '["a", ""]', "x\n", "é", '["-a"]',
     str(["a"] * 3), "[" * 100_000, '["' + '","'.join("abcdefghijklmnopqrstu") + '"]'],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(InputError, match="expected a label or a JSON list of labels"):
        parse_build_runner(text)


def test_a_fork_learns_where_it_was_built() -> None:
    """Only where the team has another runner."""
    assert describe_fork("ubuntu-24.04") == describe_fork('["ubuntu-24.04"]') == ""
    assert describe_fork('["self-hosted", "big"]') == (
        "built on ubuntu-24.04, not on self-hosted, big: "
        "a pull request from a fork gets no other runner"
    )
