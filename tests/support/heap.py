"""Makes starting programs cheap for a process that has collected many tests.

A program is started by a fork, which copies the tables of all pages of this process: for the
350 MB of all tests that takes 25 ms, and 7 ms where pages of 2 MiB hold them.
"""

import ctypes
import gc
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MANY_TESTS = 1000
ALLOCATIONS = 50_000
"""Between two searches for garbage."""
HUGE_BYTES = 2 * 1024 * 1024
_MAPS = Path("/proc/self/maps")
_COLLAPSE = 25
"""MADV_COLLAPSE, since Linux 6.1; an older one refuses it, and all stays as it is."""


@contextmanager
def collecting() -> Iterator[None]:
    """Look for no garbage in this block: next to nothing of what is made there is any.

    From then on, look for it as rarely as megtrim itself does.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.set_threshold(ALLOCATIONS)
        gc.enable()


def settle() -> None:
    """Let what is there now stay where it is: no collector looks at it, and its pages are large."""
    gc.collect()
    gc.freeze()
    if _MAPS.exists():
        libc = ctypes.CDLL(None)
        for start, size in find_ranges(_MAPS.read_text(encoding="utf-8", errors="replace")):
            for advice in (mmap.MADV_HUGEPAGE, _COLLAPSE):
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), advice)


def find_ranges(maps: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the size of what is this process's own memory, in whole large pages."""
    for line in maps.splitlines():
        place, rights, _, _, _, *name = line.split()
        if rights == "rw-p" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in place.split("-"))
            first = -(-start // HUGE_BYTES) * HUGE_BYTES
            size = (end - first) // HUGE_BYTES * HUGE_BYTES
            if size > 0:
                yield first, size
