"""What may be held by large pages."""

from support.heap import HUGE_BYTES, find_ranges

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
