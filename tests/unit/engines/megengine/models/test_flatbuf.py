import struct
from contextlib import nullcontext

import pytest

from megtrim.engines.megengine.models.mge import MAX_STRING_BYTES, Buffer, Table
from megtrim.libs.util.errors import InputError
from unit.engines.megengine.models.flatbuild import Numbers, sized, u8, u32, u64


def root(data: bytes) -> Table:
    return Buffer(data, start=4, end=len(data), source="net.mge").root(4, b"test")


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        root(data)
    return caught.value.message


def raw(*, fields: tuple[int, ...], table: bytes = bytes(8), above: int | None = None) -> bytes:
    head = struct.pack(f"<{len(fields)}H", *fields)
    distance = len(head) if above is None else above
    body = head + struct.pack("<i", distance) + table
    return struct.pack("<II", 0, 8 + len(head)) + b"test" + body


def test_every_kind_of_field() -> None:
    table = root(
        sized(
            {
                0: u8(200),
                1: u32(2**32 - 1),
                2: u64(2**64 - 1),
                3: "näme",
                4: {0: u8(7)},
                5: Numbers("<I", (5, 6, 7, 8)),
                6: Numbers("<B", (9, 255)),
                7: ["a", ""],
                8: [{0: u8(1)}, {0: u8(2)}],
            },
            b"test",
        )
    )

    assert (table.u8(0), table.u32(1), table.u64(2)) == (200, 2**32 - 1, 2**64 - 1)
    assert table.string(3) == "näme"
    child = table.table(4)
    assert child is not None
    assert child.u8(0) == 7
    assert list(table.u32s(5)) == [5, 6, 7, 8]
    assert table.size(5, 4) == 4
    assert table.size(6, 1) == 2
    assert list(table.strings(7)) == ["a", ""]
    assert [each.u8(0) for each in table.tables(8)] == [1, 2]
    assert table.has(8)


def test_fields_that_are_left_out() -> None:
    table = root(sized({2: u8(1)}, b"test"))

    for index in (0, 1, 3, 900):
        assert (table.u8(index), table.u32(index), table.u64(index)) == (0, 0, 0)
        assert table.string(index) == ""
        assert table.table(index) is None
        assert list(table.u32s(index)) == []
        assert list(table.strings(index)) == []
        assert list(table.tables(index)) == []
        assert table.size(index, 4) == 0
        assert not table.has(index)


def test_every_second_number_and_text_that_is_no_utf8_are_read() -> None:
    table = root(sized({0: Numbers("<I", (1, 10, 2, 20), items=2)}, b"test"))

    assert list(table.u32s(0, stride=2)) == [1, 2]
    data = sized({0: "abc"}, b"test").replace(b"abc", b"a\xffc")

    assert root(data).string(0) == "a\ufffdc"
    assert root(raw(fields=(4, 4))).u8(0) == 0


def test_longest_string() -> None:
    table = root(sized({0: "x" * MAX_STRING_BYTES, 1: "x" * (MAX_STRING_BYTES + 1)}, b"test"))

    assert len(table.string(0)) == MAX_STRING_BYTES
    with pytest.raises(InputError, match="a string of 65537 bytes"):
        table.string(1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (raw(fields=(2, 4)), "net.mge: damaged at byte 12: a table of fields of 2 bytes"),
        (raw(fields=(5, 4, 0)), "net.mge: damaged at byte 12: a table of fields of 5 bytes"),
        (raw(fields=(400, 4)), "net.mge: damaged at byte 12: 400 bytes are needed there"),
        (raw(fields=(4, 4), above=100), "net.mge: damaged at byte -84: 2 bytes are needed there"),
        (raw(fields=(4, 4), above=-100), "net.mge: damaged at byte 116: 2 bytes are needed there"),
        (raw(fields=(4, 4))[:18], "net.mge: damaged at byte 16: 4 bytes are needed there"),
        (
            struct.pack("<II", 0, 0) + b"test",
            "net.mge: damaged at byte 4: an offset of 0 leads nowhere",
        ),
        (
            struct.pack("<II", 0, 8) + b"tesT",
            "net.mge: damaged at byte 8: identifier b'tesT', expected b'test'",
        ),
        (
            struct.pack("<II", 0, 2**32 - 1) + b"test",
            "net.mge: damaged at byte 4294967299: 4 bytes are needed there, the data ends at 12",
        ),
    ],
)
def test_tables_that_lead_astray(data: bytes, message: str) -> None:
    assert refused(data).startswith(message)


@pytest.mark.parametrize(
    ("at", "size", "fits"),
    [(4, 8, True), (8, 4, True), (3, 1, False), (8, 5, False), (11, 1, True), (12, 1, False)],
)
def test_the_ends_of_the_buffer(at: int, size: int, fits: bool) -> None:
    """Its first and last byte are read, and none next to them: there other data of the file lie."""
    buffer = Buffer(bytes(16), start=4, end=12, source="net.mge")

    with nullcontext() if fits else pytest.raises(InputError, match="the data ends at 12"):
        buffer.need(at, size)


def test_vectors_and_strings_that_end_outside() -> None:
    for field, read in (
        ("abc", lambda table: table.string(0)),
        (["abc"], lambda table: list(table.strings(0))),
        (Numbers("<I", (1, 2, 3)), lambda table: list(table.u32s(0))),
    ):
        data = bytearray(sized({0: field}, b"test"))
        size = 1 if isinstance(field, list) else 3
        at = data.index(struct.pack("<I", size), 20)
        struct.pack_into("<I", data, at, 60_000)
        with pytest.raises(InputError, match="bytes are needed there, the data ends at"):
            read(root(bytes(data)))
