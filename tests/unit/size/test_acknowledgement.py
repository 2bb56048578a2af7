"""Trailers of commits: exactly one form counts, and hostile text stays text."""

from __future__ import annotations

import pytest

from megtrim.size.acknowledgement import CommitTrailer, read_trailers

COMMIT, BASE = "5d0c2b7e9f1a" + "0" * 28, "2981d114c5d7" + "0" * 28


def trailer(value: str, author: str = "Ann") -> CommitTrailer:
    return CommitTrailer(commit=COMMIT, author=author, value=value)


def test_what_commits_acknowledge_adds_up() -> None:
    """Each is shown with its reason, author and commit."""
    found = read_trailers(
        [trailer("+12 KiB the new head"), trailer("+1,024 bytes its table", "Bob")],
        allowed=True,
        base=BASE,
    )

    assert found.growth_bytes == 13 * 1024
    assert found.describe() == (
        "+12 KiB: the new head (Ann, 5d0c2b7e9f1a); +1 KiB: its table (Bob, 5d0c2b7e9f1a)"
    )
    assert (found.allowed, found.warnings) == (True, ())


@pytest.mark.parametrize(
    "value",
    [
        "12 KiB no sign",
        "-12 KiB less",
        "+12 KiB",
        "+12 KiB  ",
        "+12 a unit is needed",
        "+12 kib another spelling",
        "+0 KiB nothing",
        "+1% a share",
        "+0.5 B half a byte",
        "+9999999999 GiB everything",
        "load_and_run +12 KiB a budget first",
        "+12 KiB+12 KiB twice",
        "",
    ],
)
def test_anything_else_is_reported_and_does_not_count(value: str) -> None:
    """With what was expected."""
    found = read_trailers([trailer(value)], allowed=True, base=BASE)

    assert (found.growth_bytes, found.entries) == (0, ())
    (warning,) = found.warnings
    assert warning.startswith("commit 5d0c2b7e9f1a: found Size-Budget: ")
    assert warning.endswith(", expected Size-Budget: +12 KiB REASON")


def test_where_the_base_does_not_allow_it_nothing_counts() -> None:
    """And it is said why: whoever wrote the trailer expects an effect."""
    found = read_trailers([trailer("+12 KiB x")], allowed=False, base=BASE)

    assert (found.growth_bytes, found.describe()) == (0, "")
    assert found.warnings == (
        (
            "commit 5d0c2b7e9f1a: Size-Budget: +12 KiB x does not count: the configuration at "
            "2981d114c5d7 does not say `acknowledge: true`"
        ),
    )


def test_text_of_others_is_one_short_printable_line() -> None:
    """Neither a terminal nor a long name gets through."""
    hostile = trailer(f"+1 KiB a\x1b[31m\u202eb{'c' * 500}", "A\x07nn" * 100)

    (entry,) = read_trailers([hostile], allowed=True, base=BASE).entries

    assert entry.reason.startswith("a [31m bccc")
    assert (len(entry.reason), len(entry.author)) == (200, 60)
    assert entry.reason.isprintable()
    assert entry.author.isprintable()
    assert read_trailers([trailer("+1 KiB x", "\x00")], allowed=True, base=BASE).entries[0].author
