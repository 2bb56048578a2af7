import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.elf.unwind_tables import divide

TABLE_AT = 0x9000
CODE_AT = 0x1000
DEFERRED_AT = 0x20000
DATA_AT = 0x400
TO = 0x8000
COMMON = struct.pack("<IB6sBBBB", 0, 1, b"zPLR\0\0", 4, 0x78, 30, 7)[:-3]
_HEADER = struct.Struct("<4BiI")


def common(letters: bytes, data: bytes) -> bytes:
    body = struct.pack("<IB", 0, 1) + letters + b"\0" + bytes((4, 0x78, 30))
    body += bytes((len(data),)) + data if letters else b""
    return struct.pack("<I", len(body)) + body


def table(functions: Sequence[int], *, data: int = 0, stop: bool = True) -> bytes:
    """One common entry with a personality, and one entry for each function."""
    personality = struct.pack("<BiBB", 0x9B, 0x100, 0x1B, 0x1B)
    content = common(b"zPLR", personality)
    for address in functions:
        at = len(content)
        place = TABLE_AT + at + 8
        own = data - (place + 9) if data else 0
        content += struct.pack("<IIiIBi", 17, at + 4, address - place, 16, 4, own)
    return content + (bytes(4) if stop else b"")


def look_up(image: bytes, header: int, number: int) -> tuple[int, int]:
    """Return the function of a row, and the one that its entry says."""
    function, entry = struct.unpack_from("<ii", image, header + 12 + 8 * number)
    at = header + entry
    (said,) = struct.unpack_from("<i", image, at + 8)
    (reference,) = struct.unpack_from("<I", image, at + 4)
    assert image[at + 4 - reference :][4:8] == bytes(4), "it refers to the common entry"
    return function + TO + header, said + TO + at + 8


PLACES = st.sets(st.integers(0, 2000).map(lambda at: at * 32), min_size=1, max_size=20)


@given(first=PLACES, later=PLACES)
def test_the_first_table_is_the_whole_one_with_a_smaller_count(
    first: set[int], later: set[int]
) -> None:
    functions = sorted([*(CODE_AT + at for at in first), *(DEFERRED_AT * 8 + at for at in later)])
    mixed = [*functions[1::2], *functions[::2]]
    made = divide(table(mixed), TABLE_AT, TO, DEFERRED_AT * 8)

    assert _HEADER.unpack_from(made.image, made.header) == (
        1,
        0x1B,
        0x03,
        0x3B,
        -made.header - 4,
        len(functions),
    )
    (count,) = struct.unpack_from("<I", made.first, made.header + 8)
    assert count == sum(at < DEFERRED_AT * 8 for at in functions)
    for number, function in enumerate(functions):
        assert look_up(made.image, made.header, number) == (function, function)
    differing = {at for at, byte in enumerate(made.first) if byte != made.image[at]}
    assert differing <= {*range(made.header + 8, made.header + 12)}
    assert made.first_bytes == len(made.first) == made.header + 12 + 8 * count


def test_what_an_entry_refers_to_stays_where_it_was() -> None:
    made = divide(table([CODE_AT], data=DATA_AT), TABLE_AT, TO, DEFERRED_AT)
    personality = struct.unpack_from("<i", made.image, 19)[0] + TO + 19
    start = len(table([])) - 4
    (own,) = struct.unpack_from("<i", made.image, start + 17)

    assert personality == TABLE_AT + 19 + 0x100
    assert own + TO + start + 17 == DATA_AT


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(table([CODE_AT], stop=False)[:-3], id="cut off"),
        pytest.param(struct.pack("<II", 0xFFFFFFFF, 0), id="of 64 bits"),
        pytest.param(common(b"eh", b""), id="of an old compiler"),
        pytest.param(common(b"zX", b"\0"), id="of another form"),
        pytest.param(common(b"zR", b"\x3b") + struct.pack("<IIiI", 12, 24, 0, 0), id="relative"),
        pytest.param(struct.pack("<IIiI", 12, 99, 0, 0), id="without a common entry"),
    ],
)
def test_what_cannot_be_moved_is_refused(content: bytes) -> None:
    with pytest.raises((ValueError, IndexError, struct.error)):
        divide(content, TABLE_AT, TO, DEFERRED_AT)
