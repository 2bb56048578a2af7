import platform

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.devices.cpu import (
    parse_children_s,
    parse_features,
    read_cpu_features,
    read_device_features,
    share_of_others,
)

BEFORE = "cpu  100 10 50 1000 40 5 5 0 30 0\n"


@pytest.mark.parametrize(
    ("after", "own_s", "share"),
    [
        ("cpu  100 10 50 1200 40 5 5 0 30 0", 0.0, 0.0),
        ("cpu  200 10 50 1100 40 5 5 0 30 0", 1.0, 0.0),
        ("cpu  300 10 50 1000 40 5 5 0 30 0", 1.0, 0.5),
        ("cpu  200 60 100 1000 40 5 5 0 30 0", 0.0, 1.0),
        ("cpu  100 10 50 1000 240 5 5 0 30 0", 0.0, 0.0),
        ("cpu  100 10 50 1100 40 15 15 80 30 0", 0.0, 0.5),
        ("cpu  200 10 50 1100 40 5 5 0 130 0", 0.0, 0.5),
        ("cpu  200 10 50 1100 40 5 5 0 30 0", 1.3, 0.0),
    ],
    ids=["idle", "own", "half", "nice and system", "disk", "steal", "guest", "coarse counters"],
)
def test_what_is_neither_idle_nor_ours_is_of_others(after: str, own_s: float, share: float) -> None:
    assert share_of_others(BEFORE, after, own_s) == pytest.approx(share)


@pytest.mark.parametrize(
    "after", ["", "cpu  1 2 3", "cpu0 200 10 50 1100 40 5 5 0 30 0", "cpu  105 10 50 1010 40 5 5 0"]
)
def test_what_was_not_counted_is_not_known(after: str) -> None:
    assert share_of_others(BEFORE, after, 0.0) is None
    assert share_of_others(after, BEFORE, 0.0) is None


def test_a_shell_says_what_its_programs_used() -> None:
    line = "7 (a (b) 1 2) S 1 7 7 0 -1 4194304 1 2 3 4 11 12 150 25 20 0 1 0 5"

    assert parse_children_s(line) == pytest.approx(1.75)
    assert parse_children_s("7 (sh) S 1 7") is None
    assert parse_children_s("") is None
    assert parse_children_s(line.replace("150", "x")) is None


@given(st.text(), st.text(), st.floats(0, 1e6))
def test_nonsense_is_no_load(before: str, after: str, own_s: float) -> None:
    assert share_of_others(before, f"cpu {after}", own_s) is None or "cpu  " in before
    parse_children_s(after)


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
    assert parse_features(text) == expected


def test_features_are_known_of_this_machine_alone() -> None:
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
    facts = {"CPU features": listed} if listed else {}

    assert read_device_features(kind, machine, facts) == expected
