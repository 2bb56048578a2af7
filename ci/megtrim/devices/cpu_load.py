"""How much of the CPUs' time other programs took while one ran, by the kernel's counters.

The first line of ``/proc/stat`` counts the time of all CPUs, in ticks. What was neither idle nor
ours is what others took; time that a hypervisor gave to other machines is among it. Pure.
"""

from __future__ import annotations

import re

TICKS_PER_S = 100
"""Of all that ``/proc`` counts, whatever the kernel's own timer is."""

_FEWEST_TICKS = 20
"""With fewer, steps of one tick would say too much."""
_CPU_TIMES = re.compile(r"cpu +(\d{1,15}(?: \d{1,15}){3,9})", re.ASCII)
_IDLE = slice(3, 5)
"""Idle, and idle for a disk."""
_GUESTS = 8
"""From here on the line counts the time of virtual machines, which is in those before it, too."""
_CHILDREN = slice(13, 15)
"""User and system time of a process's children that ended, in its ``/proc/PID/stat``, after its
name."""


def share_of_others(before: str, after: str, own_s: float) -> float | None:
    """Return the share of all CPUs' time that others took; None if it is not known.

    ``before`` and ``after``: the first lines of ``/proc/stat``. ``own_s``: our own CPU seconds
    between them.
    """
    began, ended = _parse_times(before), _parse_times(after)
    if began is None or ended is None:
        return None
    total, idle = (later - earlier for earlier, later in zip(began, ended, strict=True))
    if total < _FEWEST_TICKS:
        return None
    others = total - idle - own_s * TICKS_PER_S
    return min(max(others / total, 0.0), 1.0)


def parse_children_s(line: str) -> float | None:
    """Return the CPU seconds of a process's ended children, by its ``/proc/PID/stat``."""
    # Its name, in parentheses, may hold anything.
    ticks = line.rpartition(")")[2].split()[_CHILDREN]
    if len(ticks) < 2 or not all(each.isdecimal() and each.isascii() for each in ticks):
        return None
    return sum(int(each[:15]) for each in ticks) / TICKS_PER_S


def _parse_times(line: str) -> tuple[int, int] | None:
    """Return the ticks of all CPUs, and how many of them were idle."""
    match = _CPU_TIMES.match(line)
    if match is None:
        return None
    ticks = [int(each) for each in match[1].split()][:_GUESTS]
    return sum(ticks), sum(ticks[_IDLE])
