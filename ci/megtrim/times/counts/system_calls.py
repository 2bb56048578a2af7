"""Calls of the system, by their numbers: Linux has others for each kind of machine. Pure.

The plugin counts all of them, and adds up what they returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from megtrim.core.size.counted import Count, Unmapped


class SystemCalls(NamedTuple):
    """Those of one number, in a run."""

    times: int
    returned: int
    """The sum, of what may be a size."""
    asked: int
    """The sum of their second arguments, of those which may be a size."""


class _Kind(Enum):
    WAITS = auto()
    """However often: that is no work."""
    READS = auto()
    """It returns how many bytes it moved."""
    WRITES = auto()
    """The same."""
    SIZES = auto()
    """It makes a file in memory, or gives a file its size."""


class _Call(NamedTuple):
    kind: _Kind
    name: str
    aarch64: int | None
    x86_64: int | None
    arm: int | None


_CALLS = (
    _Call(_Kind.WAITS, "futex", 98, 202, 240),
    _Call(_Kind.WAITS, "futex_waitv", 449, 449, 449),
    _Call(_Kind.WAITS, "futex_time64", None, None, 422),
    _Call(_Kind.WAITS, "sched_yield", 124, 24, 158),
    _Call(_Kind.WAITS, "nanosleep", 101, 35, 162),
    _Call(_Kind.WAITS, "clock_nanosleep", 115, 230, 265),
    _Call(_Kind.WAITS, "clock_nanosleep_time64", None, None, 407),
    _Call(_Kind.WAITS, "poll", None, 7, 168),
    _Call(_Kind.WAITS, "ppoll", 73, 271, 336),
    _Call(_Kind.WAITS, "ppoll_time64", None, None, 414),
    _Call(_Kind.WAITS, "select", None, 23, None),
    _Call(_Kind.WAITS, "_newselect", None, None, 142),
    _Call(_Kind.WAITS, "pselect6", 72, 270, 335),
    _Call(_Kind.WAITS, "pselect6_time64", None, None, 413),
    _Call(_Kind.WAITS, "epoll_wait", None, 232, 252),
    _Call(_Kind.WAITS, "epoll_pwait", 22, 281, 346),
    _Call(_Kind.WAITS, "epoll_pwait2", 441, 441, 441),
    _Call(_Kind.WAITS, "rt_sigtimedwait", 137, 128, 177),
    _Call(_Kind.WAITS, "rt_sigtimedwait_time64", None, None, 421),
    _Call(_Kind.READS, "read", 63, 0, 3),
    _Call(_Kind.READS, "readv", 65, 19, 145),
    _Call(_Kind.READS, "pread64", 67, 17, 180),
    _Call(_Kind.READS, "preadv", 69, 295, 361),
    _Call(_Kind.READS, "preadv2", 286, 327, 392),
    _Call(_Kind.READS, "recvfrom", 207, 45, 292),
    _Call(_Kind.READS, "recvmsg", 212, 47, 297),
    _Call(_Kind.READS, "getdents", None, 78, 141),
    _Call(_Kind.READS, "getdents64", 61, 217, 217),
    _Call(_Kind.READS, "getrandom", 278, 318, 384),
    _Call(_Kind.READS, "process_vm_readv", 270, 310, 376),
    _Call(_Kind.WRITES, "write", 64, 1, 4),
    _Call(_Kind.WRITES, "writev", 66, 20, 146),
    _Call(_Kind.WRITES, "pwrite64", 68, 18, 181),
    _Call(_Kind.WRITES, "pwritev", 70, 296, 362),
    _Call(_Kind.WRITES, "pwritev2", 287, 328, 393),
    _Call(_Kind.WRITES, "sendto", 206, 44, 290),
    _Call(_Kind.WRITES, "sendmsg", 211, 46, 296),
    _Call(_Kind.WRITES, "sendfile", 71, 40, 187),
    _Call(_Kind.WRITES, "sendfile64", None, None, 239),
    _Call(_Kind.WRITES, "splice", 76, 275, 340),
    _Call(_Kind.WRITES, "tee", 77, 276, 342),
    _Call(_Kind.WRITES, "vmsplice", 75, 278, 343),
    _Call(_Kind.WRITES, "copy_file_range", 285, 326, 391),
    _Call(_Kind.WRITES, "process_vm_writev", 271, 311, 377),
    _Call(_Kind.SIZES, "memfd_create", 279, 319, 385),
    _Call(_Kind.SIZES, "shmget", 194, 29, 307),
    _Call(_Kind.SIZES, "truncate", 45, 76, 92),
    _Call(_Kind.SIZES, "truncate64", None, None, 193),
    _Call(_Kind.SIZES, "ftruncate", 46, 77, 93),
    _Call(_Kind.SIZES, "ftruncate64", None, None, 194),
    _Call(_Kind.SIZES, "fallocate", 47, 285, 352),
)


def list_numbers(machine: str) -> dict[int, str]:
    """Return the names of the calls that are told apart, by number; of other machines, none."""
    return {number: call.name for number, call in _find_calls(machine).items()}


def _find_calls(machine: str) -> dict[int, _Call]:
    if machine not in _Call._fields:
        return {}
    numbers = {getattr(call, machine): call for call in _CALLS}
    return {number: call for number, call in numbers.items() if number is not None}


def add_up(calls: Mapping[int, SystemCalls], machine: str) -> Count:
    """Return how many calls a run made, in which the system may work, and the bytes that it moved.

    ``calls``: by number.
    """
    known = _find_calls(machine)
    found = Count()
    for number, made in calls.items():
        kind = known[number].kind if number in known else None
        if kind is _Kind.WAITS:
            continue
        moves = kind in (_Kind.READS, _Kind.WRITES)
        found = found.plus((made.times, made.returned if moves else 0))
    return found


def find_unmapped(calls: Mapping[int, SystemCalls], machine: str) -> dict[Unmapped, int]:
    known = _find_calls(machine)
    found = {Unmapped.FILES: 0, Unmapped.BYTES: 0}
    for number, made in calls.items():
        kind = known[number].kind if number in known else None
        if kind is _Kind.SIZES:
            found[Unmapped.FILES] += made.times
            found[Unmapped.BYTES] += made.asked
        if kind is _Kind.WRITES:
            found[Unmapped.BYTES] += made.returned
    return found
