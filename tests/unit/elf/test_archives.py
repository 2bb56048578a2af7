"""Members of archives, by name, in the forms of GNU and BSD."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.elf.archives import MemberKind, iter_members
from unit.elf.made_objects import archive


def test_long_names_are_in_a_member_of_their_own() -> None:
    """GNU's form: a member's header has the place of its name."""
    data = archive(
        {"/": b"index", "//": b"a_long_name_of_a_file.o/\nb.o/\n", "/0": b"one", "short.o/": b"two"}
    )

    found = [(each.name, each.kind, data[each.start : each.end]) for each in iter_members(data)]

    assert found == [
        ("", MemberKind.INDEX, b"index"),
        ("/", MemberKind.NAMES, b"a_long_name_of_a_file.o/\nb.o/\n"),
        ("a_long_name_of_a_file.o", MemberKind.FILE, b"one"),
        ("short.o", MemberKind.FILE, b"two"),
    ]


def test_a_long_name_may_precede_the_content() -> None:
    """BSD's form."""
    data = archive({"#1/8": b"name.o\0\0content"})

    (found,) = iter_members(data)

    assert (found.name, data[found.start : found.end]) == ("name.o", b"content")


@pytest.mark.parametrize(
    "data",
    [
        b"!<thin>\n",
        archive({"a": b"1234"})[:-1],
        archive({"a": b"1234"}).replace(b"`\n", b"xx"),
        archive({"a": b"1234"}).replace(b"4         `", b"-4        `"),
        archive({"#1/9": b"1234"}),
        archive({"/7": b"1234"}),
        archive({"a": b"1234"}) + b"rest",
    ],
)
def test_a_damaged_archive_is_an_error(data: bytes) -> None:
    """Thin ones too: their members are elsewhere."""
    with pytest.raises((ValueError, struct.error)):
        list(iter_members(data))


@given(st.binary(max_size=200))
def test_any_bytes_end(content: bytes) -> None:
    """Members do not overlap, or it is an error."""
    try:
        found = list(iter_members(b"!<arch>\n" + content))
    except (ValueError, struct.error):
        return
    assert all(one.end <= two.header for one, two in pairwise(found))
