"""Where the parts of objects and archives lie."""

from __future__ import annotations

import struct

import pytest

from megtrim.elf.objects import members
from unit.elf.made_objects import Named, Part, archive, object_file

OBJECT = object_file(
    [Part(name=".text.f", content=bytes(8))], [Named(name="f", part=".text.f", size=8)]
)


def found(data: bytes) -> list[bytes]:
    """Return the bytes of each member."""
    return [data[start:end] for start, end in members(memoryview(data))]


def test_an_object_is_its_own_only_member() -> None:
    """All of it."""
    assert found(OBJECT) == [OBJECT]


def test_an_archive_has_objects_among_other_members() -> None:
    """The index and the long names are none; a member of odd size is followed by a blank."""
    data = archive({"/": b"\0\0\0\1abc", "//": b"long.o/\n", "one.o/": OBJECT, "two.o/": OBJECT})

    assert found(data) == [OBJECT, OBJECT]


def test_the_long_name_of_bsd_lies_before_the_member() -> None:
    """And is none of its bytes."""
    assert found(archive({"#1/12": b"longer-name\0" + OBJECT})) == [OBJECT]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"INPUT(-lc++_static)",
        b"BC\xc0\xde" + bytes(60),
        archive({"one.o/": OBJECT}, magic=b"!<thin>\n"),
    ],
)
def test_what_holds_no_objects(data: bytes) -> None:
    """Nothing, scripts, code for the link to compile, and names of members that lie elsewhere."""
    assert found(data) == []


@pytest.mark.parametrize(
    "damaged",
    [
        archive({"one.o/": OBJECT})[:-10],
        archive({"one.o/": OBJECT})[:40],
        archive({"one.o/": OBJECT}).replace(b"`\n", b"``", 1),
        archive({"one.o/": OBJECT}).replace(
            str(len(OBJECT)).encode(), b"-999"[: len(str(len(OBJECT)))]
        ),
        archive({"one.o/": OBJECT}).replace(
            str(len(OBJECT)).encode(), b"many"[: len(str(len(OBJECT)))]
        ),
    ],
)
def test_a_damaged_archive(damaged: bytes) -> None:
    """It is never gone through for ever, nor beyond its end."""
    with pytest.raises((ValueError, struct.error)):
        found(damaged)
