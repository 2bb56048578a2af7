"""What a worker that has collected all tests holds, and what large pages may hold of it."""

import pytest

from support.heap import HUGE_BYTES, find_ranges

MOST_BYTES = 1_000_000

MAPS = """\
55e000100000-55e000900000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
7f1000000000-7f10001fffff rw-p 00000000 00:00 0
7f2000000000-7f2000400000 r--p 00000000 00:00 0
7f3000000000-7f3000400000 rw-s 00000000 00:00 0
7f4000000000-7f4000400000 rw-p 00000000 fe:00 123                        /usr/lib/a b.so
7ffc00000000-7ffc00400000 rw-p 00000000 00:00 0                          [stack]
"""


def test_whole_pages_of_own_memory_are_found() -> None:
    """None of a file, of other processes, of the stack, or of what only reads."""
    assert [*find_ranges(MAPS)] == [
        (0x55E000200000, 3 * HUGE_BYTES),
        (0x7F0000000000, 2 * HUGE_BYTES),
    ]


def list_values(item: pytest.Item) -> list[object]:
    spec = getattr(item, "callspec", None)
    return [] if spec is None else [*spec.params.values()]


def test_no_table_holds_a_large_value(request: pytest.FixtureRequest) -> None:
    """Each worker would hold it for the whole run: such a value is made in a test of its own."""
    assert [
        item.nodeid
        for item in request.session.items
        for value in list_values(item)
        if isinstance(value, str | bytes) and len(value) > MOST_BYTES
    ] == []
