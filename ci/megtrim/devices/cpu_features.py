"""The features of a device's CPU that experiments need, by the names of compilers."""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping
from pathlib import Path

from megtrim.config.device import EMULATED
from megtrim.devices.local import Local

_CPU_INFO = Path("/proc/cpuinfo")
_FEATURES = {"asimddp": "dotprod", "avx2": "avx2"}
"""The kernel's names, and those of compilers."""
_LABELS = ("flags", "Features")
_FACT = "CPU features"
"""Among the facts of a phone or board: the kernel's names of one of its CPUs."""
_ALWAYS = {"aarch64": "asimd", "x86_64": "sse2"}
"""What every CPU of an architecture has: without it, a list is of another CPU, as an emulator's."""


def read_device_features(
    kind: str, machine: str, facts: Mapping[str, str] | None = None
) -> frozenset[str] | None:
    """Return the features of a device's CPU; None if they are not known.

    ``machine``: what its programs are built for, as ``uname -m`` prints it. ``facts``: what the
    device reports of itself, once it was reached.
    """
    if kind == Local.kind and machine == platform.machine():
        return read_cpu_features()
    listed = (facts or {}).get(_FACT, "").split()
    if kind in EMULATED or _ALWAYS.get(machine, "") not in listed:
        return None
    return _name_features(listed)


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
    return _name_features(set.intersection(*listed))


def _name_features(words: Collection[str]) -> frozenset[str]:
    return frozenset(name for kernel, name in _FEATURES.items() if kernel in words)
