from collections.abc import Mapping
from dataclasses import replace

import pytest

from megtrim.checks.statuses import CheckStatus
from megtrim.config.problems import Place
from megtrim.counts import report
from megtrim.counts.work import (
    ITERATIONS,
    NO_SYMBOL,
    Count,
    CountResult,
    Work,
    WorkRow,
    compare,
    compare_plain,
    join_repeats,
    name_functions,
    parse_blocks,
    subtract,
    work_checks,
)
from megtrim.elf.symbol_table import Function, FunctionTable
from megtrim.util.errors import InputError

FAIL, INCONCLUSIVE, PASS, SKIPPED = (
    *(CheckStatus.FAIL, CheckStatus.INCONCLUSIVE),
    *(CheckStatus.PASS, CheckStatus.SKIPPED),
)
KERNELS = {"conv": (40_000, 800), "pool": (8_000, 80)}


def work(
    functions: Mapping[str, tuple[int, int]] = KERNELS, *left_out: str, key: str = "a" * 64
) -> Work:
    return Work(key=key, functions=functions, left_out=left_out, ran=100)


def judge(now: Work | str, before: Work | None = None, most: float | None = 0.01) -> WorkRow:
    known = CountResult(reason=now) if isinstance(now, str) else CountResult(work={"reduced": now})
    return compare("m/s@any", "reduced", known, before, most=most)


BY = {
    "a hundredth of the work": {"conv": (40_480, 800), "pool": (8_000, 80)},
    "an instruction more than a hundredth": {"conv": (40_481, 800), "pool": (8_000, 80)},
    "accesses alone": {"conv": (40_000, 804), "pool": (8_000, 80)},
    "a new function": {**KERNELS, "copy": (400, 8)},
    "a function less": {"conv": (40_000, 800)},
}


@pytest.mark.parametrize(
    ("now", "before", "most", "status", "change"),
    [
        (work(), work(), 0.01, PASS, "no change"),
        (work(), work(), None, SKIPPED, "no change"),
        (work(BY["a hundredth of the work"]), work(), 0.01, PASS, "+1.00%: conv +120"),
        (
            work(BY["an instruction more than a hundredth"]),
            work(),
            0.01,
            FAIL,
            "+1.00%: conv +120.2",
        ),
        (work(BY["accesses alone"]), work(), 0.01, PASS, "+0.00%: conv +1 accesses"),
        (work(BY["a new function"]), work(), 0.01, PASS, "+0.83%: copy +100"),
        (work(BY["a function less"]), work(), 0.01, PASS, "-16.67%: pool -2,000"),
        # What varies on one side is left out on both, by name.
        (work({"conv": (50_000, 800)}, "pool"), work(), 0.9, INCONCLUSIVE, "too little is left"),
        (work({"conv": (40_000, 800)}, "wait"), work(KERNELS, "wait"), 0.01, PASS, "pool -2,000"),
        (
            work({"conv": (40_000, 800), "wait": (9, 0)}),
            work(KERNELS, "wait"),
            None,
            SKIPPED,
            "pool",
        ),
        (work(KERNELS, *"abcdefghijk"), work(), 0.01, INCONCLUSIVE, "11 of 100 functions vary"),
        (work({}), work(), 0.01, INCONCLUSIVE, "too little is left: 0 of 100"),
        # Nothing else is comparable.
        (work(), None, 0.01, SKIPPED, "no baseline"),
        (work(), work(key="b" * 64), 0.01, SKIPPED, "no baseline"),
        ("qemu is not there", work(), 0.01, INCONCLUSIVE, "because qemu is not there"),
        ("qemu is not there", work(), None, SKIPPED, "because qemu is not there"),
    ],
)
def test_growth_is_judged_to_the_instruction(
    now: Work | str, before: Work | None, most: float | None, status: CheckStatus, change: str
) -> None:
    row = judge(now, before, most)

    assert row.status is status
    for part in change.split(": "):
        assert part in row.text


def test_a_night_compares_plain_and_judges_nothing() -> None:
    shipped = judge(work(BY["a new function"]), work(), 0.001)
    plain = replace(shipped, variant="plain")
    now, then = {"plain": work()}, {"plain": work({"conv": (40_000, 800)})}

    found = compare_plain(plain, now, then, lacking="none")
    assert (found.change, found.status, found.most) == ("+20.00%", SKIPPED, None)
    assert compare_plain(plain, now, {}, lacking="none").change == "none"
    assert compare_plain(plain, {}, then, lacking="none") == plain
    assert compare_plain(shipped, {"reduced": work()}, then, lacking="none") == shipped


def test_a_check_is_of_what_ships_and_is_limited() -> None:
    grown = judge(work(BY["a new function"]), work(), 0.001)
    free = replace(judge(work(), work(), None), scenario="n/s@any")
    rows = (grown, replace(grown, variant="plain"), free)
    place = Place(file="megtrim.yaml", line=7)

    [check] = work_checks(rows, place=place, reproduce="megtrim size")

    assert (check.id, check.status, check.line) == ("work:m/s@any", FAIL, 7)
    assert check.reproduce == "megtrim size"
    assert "raise work.growth" in check.hint
    assert report.markdown(rows).splitlines()[2:] == [
        "- `m/s@any` +0.83% instructions: `copy` +100"
    ]
    assert "12,100" in report.text(rows)
    assert report.text(()) == report.markdown([judge(work(), work())]) == ""


def test_components_add_up_before_and_now() -> None:
    names = {"_ZN6megdnn3x864ConvE": (8, 0), "_ZN3mgb3runEv": (4, 0), "_ZN3mgb4stopEv": (4, 0)}
    row = judge(work(names), work({**names, "_ZN3mgb3runEv": (1, 0)}))

    assert row.components == {"kernels/x86/conv": (8, 8), "runtime": (5, 8)}
    assert [change.function for change in row.changed] == ["mgb::run()"]


def test_what_repeats_is_counted_and_what_varies_is_named() -> None:
    def run(**counts: int) -> dict[str, Count]:
        return {name: Count(count, 1) for name, count in counts.items()}

    short = run(conv=10, once=7, seldom=2, less=5)
    repeats = [
        subtract(run(conv=50, once=7, seldom=2, less=4), short),
        subtract(run(conv=50, once=7, seldom=3, less=4), short),
    ]

    found = join_repeats("a" * 64, repeats)
    assert found.functions == {"conv": (40, 0)}
    assert found.left_out == ("less", "seldom")
    assert found.ran == ITERATIONS


TABLE = FunctionTable(
    machine="aarch64",
    entry=0,
    functions=(
        Function("alias", 0x1000, 0),
        Function("conv", 0x1000, 16),
        Function("conv_too", 0x1000, 16),
        Function("assembler", 0x1020, 0),
        Function("end", 0x1100, 4),
    ),
    imported=frozenset(),
    exported=frozenset(),
    registrations=0,
    ifuncs=frozenset(),
)


@pytest.mark.parametrize(
    ("offset", "name"),
    [
        (0x0, NO_SYMBOL),
        (0x10, "conv"),
        (0x1C, "conv"),
        (0x20, NO_SYMBOL),
        (0x30, "assembler"),
        (0x10C, "assembler"),
        (0x110, "end"),
        (0x114, NO_SYMBOL),
    ],
)
def test_a_block_is_of_the_function_that_it_begins_in(offset: int, name: str) -> None:
    one = Count(3, 1)

    assert name_functions([(offset, one), (offset, one)], TABLE, 0xFF0) == {name: Count(6, 2)}


def test_blocks_are_read_as_the_plugin_writes_them() -> None:
    text = b"0 12 3\nff0 1 0\n0 12 3\n3 blocks\n"

    assert parse_blocks(text, source="counts.txt") == [
        *((0, Count(12, 3)), (0xFF0, Count(1, 0)), (0, Count(12, 3)))
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"0 12 3\n",
        b"0 12 3\n2 blocks\n",
        b"0 12 3\n1 blocks\n0 1 1",
        b"0 -12 3\n1 blocks\n",
        b"0 12\n1 blocks\n",
        b"0 12 3 4\n1 blocks\n",
        b"g 12 3\n1 blocks\n",
        b"0 1e9 3\n1 blocks\n",
        b"0 " + b"9" * 19 + b" 3\n1 blocks\n",
        b"\xff\x00\n1 blocks\n",
        b"0 1 1\n" * 12_000_000,
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(InputError, match=r"^counts.txt: found another text than the plugin"):
        parse_blocks(text, source="counts.txt")
