"""What no iteration shows: start, end, and the system's calls."""

import pytest

from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.performance import MemoryConfig
from megtrim.core.config.units import PEAK
from megtrim.core.size.counted import Beside, Count, MemoryUse, Range, Unmapped, Use
from megtrim.times.counts.system_calls import SystemCalls, add_up, find_unmapped
from megtrim.times.counts.use import SYSTEM, find_outside, join_repeats
from unit.core.verdict.examples import use_rows, work_row
from unit.times.counts.test_work import work

OUTSIDE = Beside.OUTSIDE
CALLS = Beside.CALLS
BYTES = Beside.BYTES
PASS = CheckStatus.PASS
INCONCLUSIVE = CheckStatus.INCONCLUSIVE
FAIL = CheckStatus.FAIL


@pytest.mark.parametrize(
    ("kind", "before", "now", "status"),
    [
        # The limit is 1%, of a run of one iteration: 48,000 and what is outside of it.
        (OUTSIDE, (2_000_000, 2_000_000), (2_020_480, 2_020_480), PASS),
        (OUTSIDE, (2_000_000, 2_000_000), (2_020_481, 2_020_481), INCONCLUSIVE),
        (OUTSIDE, (2_000_000, 2_000_000), (2_000_000, 2_100_000), INCONCLUSIVE),
        (OUTSIDE, (0, 0), (10_000, 10_000), PASS),
        (OUTSIDE, (0, 0), (10_001, 10_001), INCONCLUSIVE),
        # It waits: of what varied by more than the limit, only the least counts.
        (OUTSIDE, (2_000_000, 3_000_000), (2_000_000, 9_000_000), PASS),
        (OUTSIDE, (2_000_000, 3_000_000), (2_020_481, 2_020_481), INCONCLUSIVE),
        (CALLS, (2, 2), (3, 3), INCONCLUSIVE),
        (CALLS, (2, 2), (2, 3), INCONCLUSIVE),
        (CALLS, (2, 5), (5, 8), PASS),
        (CALLS, (2, 5), (6, 8), INCONCLUSIVE),
        (CALLS, (100, 100), (101, 101), PASS),
        (CALLS, (3, 3), (2, 2), PASS),
        (BYTES, (60, 64), (4_156, 4_160), PASS),
        (BYTES, (60, 60), (4_157, 4_157), INCONCLUSIVE),
        (Beside.LATER_CALLS, (0, 0), (1, 1), PASS),
        (Beside.LATER_CALLS, (0, 0), (2, 2), INCONCLUSIVE),
        (Beside.LATER_BYTES, (0, 0), (4_097, 4_097), INCONCLUSIVE),
        (Beside.OUTSIDE_BYTES, (60_000, 60_000), (64_097, 64_097), INCONCLUSIVE),
    ],
)
def test_each_is_held_to_the_limit(
    kind: Beside, before: tuple[int, int], now: tuple[int, int], status: CheckStatus
) -> None:
    row = work_row(work(beside={kind: now}), work(beside={kind: before}))

    assert row.status is status
    assert (f"{kind} {before[1]:,} → {now[1]:,}" in row.text) is (status is INCONCLUSIVE)


def test_a_baseline_that_does_not_say_it_is_none_of_nothing() -> None:
    row = work_row(work(beside={CALLS: (1, 1)}), work())

    assert row.status is INCONCLUSIVE


def test_an_iteration_is_taken_from_the_run_that_makes_one() -> None:
    pairs = [{"conv": Count(40, 0), "wait": Count(n, 0), SYSTEM: Count(3, 64)} for n in (0, 9)]
    later = [{"conv": Count(240, 0), SYSTEM: Count(20, 6 * 64)}]
    counted = join_repeats("a" * 64, pairs, later=later)
    runs = [
        {"conv": Count(50, 0), "wait": Count(n, 0), "main": Count(7, 0), SYSTEM: Count(9, 100)}
        for n in (1, 12)
    ]

    assert counted.beside == {
        CALLS: Range(3, 3),
        BYTES: Range(64, 64),
        Beside.LATER_CALLS: Range(2, 2),
    }
    assert SYSTEM not in {*counted.functions, *counted.varying, *counted.later}
    assert find_outside(runs, counted) == {
        OUTSIDE: Range(10 + 1 + 7, 10 + 12 + 7),
        Beside.OUTSIDE_BYTES: Range(36, 36),
    }


def test_calls_are_told_apart_by_the_number_of_the_machine() -> None:
    made = SystemCalls(times=2, returned=100, asked=5)

    assert add_up({64: made, 98: made, 63: made}, "aarch64") == Count(4, 200)
    assert add_up({64: made, 98: made}, "x86_64") == Count(4, 0)
    assert add_up({4: made}, "arm") == Count(2, 100)
    assert add_up({64: made}, "riscv64") == Count(2, 0)
    assert find_unmapped({64: made, 46: made, 279: made}, "aarch64") == {
        Unmapped.FILES: 4,
        Unmapped.BYTES: 110,
    }


@pytest.mark.parametrize(
    ("before", "now", "statuses"),
    [
        ((0, 100), (0, 200), [PASS, PASS]),
        ((0, 100), (0, 1_125), [FAIL, FAIL]),
        ((0, 900), (0, 1_000), [PASS, PASS]),
        ((0, 100), (0, 501), [PASS, FAIL]),
        ((1, 0), (1, 0), [PASS, PASS]),
        ((0, 0), (1, 0), [FAIL, FAIL]),
    ],
)
def test_what_no_process_has_mapped_is_beside_the_peak(
    before: tuple[int, int], now: tuple[int, int], statuses: list[CheckStatus]
) -> None:
    """Files and bytes; the limits leave 1,024 and 400 bytes."""
    limits = MemoryConfig.model_validate({"max": "2 KiB", "growth": "400 B"})
    uses = []
    for files, filled in (before, now):
        unmapped = {Unmapped.FILES: files, Unmapped.BYTES: filled}
        memory = MemoryUse(key="a" * 64, figures={PEAK: 1024}, unmapped=unmapped)
        uses.append(Use(memory=memory))

    assert [row.status for row in use_rows(uses[1], uses[0], memory=limits)] == statuses
