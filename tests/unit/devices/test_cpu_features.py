"""The features of a CPU, from what the kernel says of it."""

from __future__ import annotations

import platform

import pytest

from megtrim.devices.cpu_features import (
    parse_features,
    read_cpu_features,
    read_device_features,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flags\t\t: fpu sse2 avx avx2\n", {"avx2"}),
        ("Features\t: fp asimd asimddp\n", {"dotprod"}),
        ("flags : avx2\n\nflags : sse2\n", set()),
        ("processor : 0\n", None),
        ("", None),
    ],
)
def test_features_that_all_cpus_have(text: str, expected: set[str] | None) -> None:
    """A program may run on any of them."""
    assert parse_features(text) == expected


def test_features_are_known_of_this_machine_alone() -> None:
    """A phone has a CPU of its own, and an emulator one that it is asked for."""
    here = platform.machine()

    assert read_device_features("local", here) == read_cpu_features()
    assert read_device_features("adb", here) is None
    assert read_device_features("local", "riscv64") is None
