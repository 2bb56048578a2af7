import struct
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.elf.unwind_index import ROW_BYTES, divide

TABLE_AT = 0x9000
TO = 0x8F24
CODE_AT = 0x1000
DEFERRED_AT = 0x20000
CANNOT_UNWIND = 1
INLINE = 0x80B0B0B0
TABLES_AT = 0x400
"""Where it stands how to unwind, if a row has no room for it."""


def distance(target: int, place: int) -> int:
    return target - place & 0x7FFFFFFF


def index(functions: Sequence[int], ways: Sequence[int]) -> bytes:
    rows = bytearray()
    for at, (function, way) in enumerate(zip(functions, ways, strict=True)):
        place = TABLE_AT + ROW_BYTES * at
        how = distance(way, place + 4) if way == TABLES_AT else way
        rows += struct.pack("<II", distance(function, place), how)
    return bytes(rows)


def read(image: bytes, address: int) -> Iterator[tuple[int, int]]:
    """Yield the function of each row, and how it is unwound, as an unwinder reads them."""
    for at, (function, how) in enumerate(struct.iter_unpack("<II", image)):
        place = address + ROW_BYTES * at
        target = place + function - (function >> 30 << 31)
        if how != CANNOT_UNWIND and not how >> 31:
            how_at = place + 4 + how - (how >> 30 << 31)
            yield target, how_at
        else:
            yield target, how


def look_up(image: bytes, address: int, at: int) -> int:
    """Return the number of the row that an unwinder takes; -1: none."""
    functions = [function for function, _ in read(image, address)]
    assert functions == sorted(functions)
    return sum(function <= at for function in functions) - 1


PLACES = st.sets(st.integers(0, 1500).map(lambda at: at * 8), min_size=1, max_size=20)
WAYS = st.sampled_from((CANNOT_UNWIND, INLINE, TABLES_AT))


@given(first=PLACES, later=PLACES, data=st.data())
def test_a_row_of_zeros_is_behind_the_first_functions_and_before_the_others(
    first: set[int], later: set[int], data: st.DataObject
) -> None:
    functions = sorted([*(CODE_AT + at for at in first), *(DEFERRED_AT + at for at in later)])
    ways = [data.draw(WAYS) for _ in functions]
    made = divide(index(functions, ways), TABLE_AT, TO, DEFERRED_AT)
    without = made.image[: made.first_bytes].ljust(len(made.image), b"\0")

    assert [*read(made.image, TO)] == [*zip(functions, ways, strict=True)]
    assert made.first_bytes == ROW_BYTES * len(first)
    for number, function in enumerate(functions[: len(first)]):
        assert look_up(without, TO, function) == number


@pytest.mark.parametrize(
    ("functions", "to", "why"),
    [
        ([CODE_AT + 8, CODE_AT], TO, "not sorted"),
        ([CODE_AT, DEFERRED_AT], DEFERRED_AT - 8, "does not end before the code"),
        ([CODE_AT], 0x7FFF0000, "too far away"),
    ],
)
def test_an_index_that_cannot_be_divided_is_refused(
    functions: list[int], to: int, why: str
) -> None:
    content = index(functions, [CANNOT_UNWIND] * len(functions))
    with pytest.raises(ValueError, match=why):
        divide(content, TABLE_AT, to, DEFERRED_AT)
