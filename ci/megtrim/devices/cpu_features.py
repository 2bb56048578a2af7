"""The features of this machine's CPU that experiments need, by the names of compilers."""

from __future__ import annotations

import platform
from pathlib import Path

from megtrim.devices.local import Local

_CPU_INFO = Path("/proc/cpuinfo")
_FEATURES = {"asimddp": "dotprod", "avx2": "avx2"}
"""The kernel's names, and those of compilers."""
_LABELS = ("flags", "Features")


def read_device_features(kind: str, machine: str) -> frozenset[str] | None:
    """Return the features of a device's CPU; None if it is not known to be this machine's.

    ``machine``: what its programs are built for, as ``uname -m`` prints it.
    """
    own = kind == Local.kind and machine == platform.machine()
    return read_cpu_features() if own else None


def read_cpu_features() -> frozenset[str] | None:
    """Return the features that all CPUs of this machine have; None if it does not tell."""
    try:
        text = _CPU_INFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parse_features(text)


def parse_features(text: str) -> frozenset[str] | None:
    """Return the features that all CPUs of a ``/proc/cpuinfo`` have; None if it names none."""
    lines = (line.partition(":") for line in text.splitlines())
    listed = [set(words.split()) for label, _, words in lines if label.strip() in _LABELS]
    if not listed:
        return None
    common = set.intersection(*listed)
    return frozenset(name for kernel, name in _FEATURES.items() if kernel in common)
