from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.performance import WorkConfig
from megtrim.core.report import comment, html
from megtrim.core.size.counted import Count, MemoryUse, Use, Work
from megtrim.core.size.use import OF_BASE_PLAIN, list_under_other_conditions
from megtrim.core.verdict.join import join
from megtrim.libs.elf.layout import EXECUTABLE, LOADED, Segment
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError
from megtrim.times.counts.stage import CountedProgram
from megtrim.times.counts.system_calls import SystemCalls
from megtrim.times.counts.use import (
    GENERATED,
    NO_SYMBOL,
    Blocks,
    Library,
    join_repeats,
    name_functions,
    parse_blocks,
    subtract,
)
from unit.core.verdict.examples import facts, use_rows, work_row

SKIPPED, PASS, FAIL, INCONCLUSIVE = map(CheckStatus, ("skipped", "pass", "fail", "inconclusive"))
KERNELS = {"conv": (40_000, 800), "pool": (8_000, 80)}


def work(
    functions: Mapping[str, tuple[int, int]] = KERNELS,
    *left_out: str,
    key: str = "a" * 64,
    most: int = 0,
    **more: Any,
) -> Work:
    """``left_out``: functions that vary, from nothing up to ``most``."""
    varying = dict.fromkeys(left_out, (0, most))
    return Work(key=key, functions=functions, ran=100, **{"varying": varying, **more})


BY = {
    "a hundredth of the work": {"conv": (40_480, 800), "pool": (8_000, 80)},
    "an instruction more than a hundredth": {"conv": (40_481, 800), "pool": (8_000, 80)},
    "accesses alone": {"conv": (40_000, 804), "pool": (8_000, 80)},
    "a new function": {**KERNELS, "copy": (400, 8)},
    "a function less": {"conv": (40_000, 800)},
    "a function renamed": {"convolve": (40_000, 800), "pool": (8_000, 80)},
}


@pytest.mark.parametrize(
    ("now", "before", "most", "status", "text"),
    [
        (work(), work(), 0.01, PASS, "48,000 (no change) since main, 1.00% allowed"),
        (work(), work(), None, SKIPPED, "48,000 (no change) since main, no limit"),
        (work(BY["a hundredth of the work"]), work(), 0.01, PASS, "(+1.00%) since main, 1.00%"),
        (work(BY["an instruction more than a hundredth"]), work(), 0.01, FAIL, ": conv +481"),
        (work({"conv": (40_001, 800)}), work({"conv": (40_000, 800)}), None, SKIPPED, "+0.002500%"),
        (work(BY["accesses alone"]), work(), 0.01, PASS, "no change"),
        (work(BY["a new function"]), work(), 0.01, PASS, "48,400 (+0.83%) since main, 1.00%"),
        (work(BY["a function less"]), work(), 0.01, PASS, "(-16.67%) since main, 1.00% allowed"),
        (work(BY["a function renamed"]), work(), 0.01, PASS, "no change"),
        # What varies on one side is left out on both, by name.
        (work({"conv": (50_000, 800)}, "pool"), work(), 0.9, INCONCLUSIVE, "too little is left"),
        (work({"conv": (40_000, 800)}, "wait"), work(KERNELS, "wait"), 0.01, PASS, ": pool -8,000"),
        (
            work({"conv": (40_000, 800), "wait": (9, 0)}),
            work(KERNELS, "wait"),
            None,
            SKIPPED,
            ": pool -8,000",
        ),
        (work(KERNELS, *"abcdefghijk"), work(), 0.01, INCONCLUSIVE, "11 of 100 functions vary"),
        (work({}), work(), 0.01, INCONCLUSIVE, "too little is left: 0 of 100"),
        (work({}), None, 0.01, INCONCLUSIVE, "too little is left: 0 of 100"),
        # Nothing else is comparable.
        (work(), None, 0.01, SKIPPED, "48,000 (no baseline)"),
        (work(), work(key="b" * 64), None, SKIPPED, "48,000 (the baseline has another model, inp"),
        (work(), work(key="b" * 64), 0.01, INCONCLUSIVE, "48,000 (the baseline has another model"),
        ("qemu is not there", work(), 0.01, INCONCLUSIVE, "because qemu is not there"),
        ("qemu is not there", work(), None, SKIPPED, "because qemu is not there"),
    ],
)
def test_growth_is_judged_to_the_instruction(
    now: Work | str, before: Work | None, most: float | None, status: CheckStatus, text: str
) -> None:
    row = work_row(now, before, most)

    assert row.status is status
    assert text in row.text


def test_reports_name_what_does_more() -> None:
    grown = work_row(work(BY["a new function"]), work(), 0.001)
    verdict = join(facts(budgets=(grown, replace(grown, variant="plain", status=SKIPPED))))

    found = {each.id: each for each in verdict.checks}["growth:m/s@any/reduced work"]
    assert (found.status, found.text) == (FAIL, grown.text)
    assert "raise the limit in the same change" in found.hint
    of = "- `m/s@any` instructions, trimmed"
    line = f"{of}: 48,400 (+0.83%) since main, 0.10% allowed: `copy` +400"
    assert f"### Instructions and memory that changed\n\n{line}\n\n" in comment.render(verdict)
    assert html.render(verdict).count("888 accesses of memory.") == 2
    assert html.render(verdict).count(', m/s@any work"') == 2


def test_components_add_up_before_and_now() -> None:
    names = {"_ZN6megdnn3x864ConvE": (8, 0), "_ZN3mgb3runEv": (4, 0), "_ZN3mgb4stopEv": (4, 0)}
    found = work_row(work(names), work({**names, "_ZN3mgb3runEv": (1, 0)})).work

    assert found
    assert [
        (each.label, each.before, each.after) for each in (*found.components, *found.changed)
    ] == [("kernels/x86/conv", 8, 8), ("runtime", 5, 8), ("mgb::run()", 1, 4)]


def test_what_repeats_is_counted_and_what_varies_is_named() -> None:
    def run(**counts: int) -> dict[str, Count]:
        return {name: Count(count, 1) for name, count in counts.items()}

    short = run(conv=10, once=7, seldom=2, less=5)
    repeats = [
        subtract(run(conv=50, once=7, seldom=2, less=4), short),
        subtract(run(conv=50, once=7, seldom=3, less=4), short),
    ]

    found = join_repeats("a" * 64, repeats)
    varying = {"less": (0, 0), "seldom": (0, 1)}
    assert found == Work(key="a" * 64, functions={"conv": (40, 0)}, varying=varying, ran=4)
    assert found.left_out == ("less", "seldom")


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ({"conv": 240, "seldom": 6}, {}),
        ({"conv": 241, "seldom": 7}, {"conv": 1, "seldom": 1}),
        ({"conv": 240, "new": 5}, {"new": 5}),
        ({"conv": 100}, {}),
    ],
)
def test_what_later_iterations_do_more_is_kept(
    later: dict[str, int], expected: dict[str, int]
) -> None:
    """Six of them, against six times what the second did."""
    repeats = [{"conv": Count(40, 0), "seldom": Count(n, 0)} for n in (0, 1)]
    counts = {name: Count(number, 0) for name, number in later.items()}

    assert join_repeats("a" * 64, repeats, later=[counts]).later == expected


TABLE = FunctionTable(
    machine="aarch64",
    entry=0,
    functions=(
        Function("alias", 0x1000, 0),
        Function("conv", 0x1000, 16),
        Function("conv_too", 0x1000, 16),
        Function("assembler", 0x1020, 0),
        Function("e" * 5000, 0x1100, 4),
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
        (0x110, "e" * 4096),
        (0x114, NO_SYMBOL),
    ],
)
def test_a_block_is_of_the_function_that_it_begins_in(offset: int, name: str) -> None:
    one = Count(3, 1)

    blocks = Blocks(
        program=((offset, one), (offset, one)),
        others={"libc.so.6": ((0x9AC, one), (0, Count()))},
        processes=0,
        calls={},
    )
    assert name_functions(blocks, TABLE, 0xFF0) == {name: Count(6, 2), "libc.so.6": one}


def test_functions_of_the_trimmed_library_are_told_apart() -> None:
    one = Count(3, 1)
    places = (0x20, 0x4C, 0x200)
    blocks = Blocks(
        program=(),
        others={"libx.so.1": tuple((place, one) for place in places), "libc.so.6": ((0x40, one),)},
        processes=0,
        calls={},
    )
    code = Segment(LOADED, EXECUTABLE, 0x40, 0x1000, 0x1000, 0x100, 0x100, 0x1000)
    library = Library(file="libx.so.1", table=TABLE, segments=(code,))

    assert name_functions(blocks, TABLE, 0, library) == {
        NO_SYMBOL: Count(6, 2),
        "conv": one,
        "libc.so.6": one,
    }


def test_the_whole_run_of_a_command_is_counted() -> None:
    """It has no iterations: its start and end are counted with the rest, and vary like it."""
    runs = iter([{"main": 90, "clock": 5}, {"main": 90, "clock": 6}] + 4 * [{"main": 90}])

    def run(_: int) -> tuple[dict[str, Count], int]:
        return {name: Count(number, 1) for name, number in next(runs).items()}, 2

    found = CountedProgram(run).count_whole("a" * 64)

    assert (found.functions, found.varying) == ({"main": (90, 1)}, {"clock": (0, 6)})
    assert (found.whole, found.processes, found.beside, found.later) == (True, 2, {}, {})


def test_the_words_of_a_command_know_no_model() -> None:
    row = work_row(work(), work(key=OTHER), scenario="pack@any")

    assert "the baseline has another environment, input, thread number" in row.text


def test_blocks_are_read_as_the_plugin_writes_them() -> None:
    own = b"0 12 3\nff0 1 0\n0 12 3\n"
    others = b"0 7 1 -\n9ac 5 0 /libc.so.6\n9ac 5 1 /libc.so.6\n0 1 0 -\n40 3 70 =5\n"

    assert parse_blocks(own + others + b"8 blocks, 2 processes\n", source="counts") == Blocks(
        program=((0, Count(12, 3)), (0xFF0, Count(1, 0)), (0, Count(12, 3))),
        others={
            GENERATED: ((0, Count(7, 1)), (0, Count(1, 0))),
            "libc.so.6": ((0x9AC, Count(5, 0)), (0x9AC, Count(5, 1))),
        },
        processes=2,
        calls={64: SystemCalls(times=3, returned=70, asked=5)},
    )


@pytest.mark.parametrize(
    "text",
    [
        b"0 12 3\n",
        b"0 12 3\n1 blocks\n",
        b"0 12 3\n2 blocks, 0 processes\n",
        b"0 12 3\n1 blocks, 0 processes\n0 1 1",
        b"0 12 3\n1 blocks, -1 processes\n",
        b"0 -12 3\n1 blocks, 0 processes\n",
        b"0 12\n1 blocks, 0 processes\n",
        b"0 12 3 4\n1 blocks, 0 processes\n",
        b"0 12 3 libc.so.6\n1 blocks, 0 processes\n",
        b"0 12 3 /a b\n1 blocks, 0 processes\n",
        b"0 12 3 /\xff\n1 blocks, 0 processes\n",
        b"0 12 3 /" + b"a" * 64 + b"\n1 blocks, 0 processes\n",
        b"g 12 3\n1 blocks, 0 processes\n",
        b"0 1e9 3\n1 blocks, 0 processes\n",
        b"0 " + b"9" * 19 + b" 3\n1 blocks, 0 processes\n",
        b"\xff\x00\n1 blocks, 0 processes\n",
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    refuse(text)


def test_blocks_without_end_are_refused() -> None:
    refuse(b"0 1 1\n" * 12_000_000)


def refuse(text: bytes) -> None:
    with pytest.raises(
        InputError, match=r"^counts.txt: found a text that the plugin did not write"
    ):
        parse_blocks(text, source="counts.txt")


def test_a_program_that_leaves_no_counts_is_told_so() -> None:
    with pytest.raises(
        InputError, match=r"left no counts: the program started another one in its place,"
    ):
        parse_blocks(b"", source="counts")


OTHER = "b" * 64
LIMIT = WorkConfig.model_validate({"growth": "1%"})
CHANGED = {"work": "a" * 64, "memory": "c" * 64}


@pytest.mark.parametrize(
    ("keys", "before", "expected"),
    [
        ({"work": OTHER}, {"m": Use(work={"reduced": work(key=OTHER)})}, ()),
        ({"work": OTHER}, {"m": Use(work={"reduced": work()})}, ("m",)),
        (CHANGED, {"m": Use(memory=MemoryUse(key=OTHER, figures={}))}, ("m",)),
        # The base could not be measured where it was built; here it may be.
        ({"work": OTHER}, {"m": Use(reasons={"work": "no emulator"})}, ("m",)),
        # One that is only new has no baseline; one that came while another went was renamed.
        ({"work": OTHER}, {}, ()),
        ({"work": OTHER}, {"old": Use()}, ("m",)),
        # Without limits nothing is asked.
        ({}, {"m": Use(work={"reduced": work()})}, ()),
    ],
)
def test_which_scenarios_need_the_base_measured_again(
    keys: dict[str, str], before: dict[str, Use], expected: tuple[str, ...]
) -> None:
    assert list_under_other_conditions({"m": keys}, before) == expected


@pytest.mark.parametrize(
    ("plain", "trimmed", "status"),
    [
        (40_000, 40_000, PASS),
        (40_400, 40_400, PASS),
        (40_401, 40_401, FAIL),
        # What only the trimmed program does more is no pass either.
        (40_000, 40_400, PASS),
        (40_000, 40_401, FAIL),
    ],
)
def test_the_base_s_plain_program_stands_in_for_a_trimmed_one_that_cannot_run(
    plain: int, trimmed: int, status: CheckStatus
) -> None:
    def run(instructions: int) -> Work:
        return work({"conv": (instructions, 8)})

    use = Use(
        work={"plain": run(plain), "reduced": run(trimmed), "base plain": run(40_000)},
        reasons={"base work": "the program did not run to its end"},
    )
    former = Use(work={"reduced": work(key=OTHER)})

    row = use_rows(use, former, work=LIMIT)[-1]

    assert row.status is status
    assert row.baseline == OF_BASE_PLAIN or "more than the plain one" in row.note


def test_later_iterations_count_where_the_plain_program_stands_in() -> None:
    later = {"conv": 5_000}
    use = Use(work={"plain": work(), "reduced": work(later=later), "base plain": work()})

    row = use_rows(use, Use(work={"reduced": work(key=OTHER)}), work=LIMIT)[-1]

    assert row.status is FAIL
    assert "do more than the second" in row.note


def test_a_limit_under_other_conditions_says_what_to_do() -> None:
    row = work_row(work(), work(key=OTHER), inconclusive="fail")

    assert row.status is FAIL
    assert "trim the base, and then `megtrim trim --base DIR` with its results" in row.text
