"""A device's CPUs: the features that experiments need, and how much of their time others took.

The first line of ``/proc/stat`` counts the time of all CPUs, in ticks.
"""

import platform
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from megtrim.core.config.device import EMULATED

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
"""User and system time of ended children in a process's ``/proc/PID/stat``, after its name."""


def share_of_others(before: str, after: str, own_s: float) -> float | None:
    """Return the share of all CPUs' time, from 0 to 1; None if it is not known.

    ``before``, ``after``: first lines of ``/proc/stat``; ``own_s``: our CPU seconds between them.
    """
    began = _parse_times(before)
    ended = _parse_times(after)
    if began is None or ended is None:
        return None
    total, idle = (later - earlier for earlier, later in zip(began, ended, strict=True))
    if total < _FEWEST_TICKS:
        return None
    others = total - idle - own_s * TICKS_PER_S
    return min(max(others / total, 0.0), 1.0)


def parse_children_s(line: str) -> float | None:
    # Its name, in parentheses, may hold anything.
    ticks = line.rpartition(")")[2].split()[_CHILDREN]
    if len(ticks) < 2 or not all(tick.isdecimal() and tick.isascii() for tick in ticks):
        return None
    return sum(int(tick[:15]) for tick in ticks) / TICKS_PER_S


def _parse_times(line: str) -> tuple[int, int] | None:
    match = _CPU_TIMES.match(line)
    if match is None:
        return None
    ticks = [int(each) for each in match[1].split()][:_GUESTS]
    return sum(ticks), sum(ticks[_IDLE])


_CPU_INFO = Path("/proc/cpuinfo")
_FEATURES = {"asimddp": "dotprod", "avx2": "avx2"}
"""The kernel's names, and those of compilers."""
_LABELS = ("flags", "Features")
_FACT = "CPU features"
_ALWAYS = {"aarch64": "asimd", "x86_64": "sse2"}
"""What every CPU of an architecture has: without it, a list is of another CPU, as an emulator's."""


def read_device_features(
    kind: str, machine: str, facts: Mapping[str, str] | None = None
) -> frozenset[str] | None:
    """Return None if they are not known.

    ``machine``: as ``uname -m`` prints it. ``facts``: what the device reports, once reached.
    """
    if kind == "local" and machine == platform.machine():
        return read_cpu_features()
    listed = (facts or {}).get(_FACT, "").split()
    if kind in EMULATED or _ALWAYS.get(machine, "") not in listed:
        return None
    return _name_features(listed)


def read_cpu_features() -> frozenset[str] | None:
    try:
        text = _CPU_INFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parse_features(text)


def parse_features(text: str) -> frozenset[str] | None:
    lines = (line.partition(":") for line in text.splitlines())
    listed = [set(words.split()) for label, _, words in lines if label.strip() in _LABELS]
    if not listed:
        return None
    return _name_features(set.intersection(*listed))


def _name_features(words: Collection[str]) -> frozenset[str]:
    return frozenset(name for kernel, name in _FEATURES.items() if kernel in words)
