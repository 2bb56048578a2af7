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


@pytest.mark.parametrize(
    ("kind", "machine", "listed", "expected"),
    [
        ("adb", "aarch64", "fp asimd evtstrm aes asimdhp asimddp", {"dotprod"}),
        ("ssh", "aarch64", "fp asimd crc32", set()),
        ("ssh", "x86_64", "fpu sse2 avx avx2", {"avx2"}),
        ("adb", "aarch64", "fpu sse2 avx2", None),
        ("ssh", "x86_64", "", None),
        ("ssh", "armv7l", "half thumb neon", None),
        ("virtual-phone", "x86_64", "fpu sse2", None),
    ],
)
def test_a_phone_or_board_says_what_its_cpu_has(
    kind: str, machine: str, listed: str, expected: set[str] | None
) -> None:
    """Unless it is played by this machine, or says nothing; an unknown CPU is not held back."""
    facts = {"CPU features": listed} if listed else {}

    assert read_device_features(kind, machine, facts) == expected
