"""Attempts on counted work: the file of counts, the counts of the baseline, the check."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from integration.test_counting import emulator
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.performance import WorkConfig
from megtrim.core.size.baseline import dump_sizes, parse_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.counted import Count, Use, Work
from megtrim.core.size.use import list_rows
from megtrim.core.verdict.conclusion import read_conclusion
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import parse_verdict, to_json
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.local import Local, open_measuring_file
from megtrim.times.counts.stage import start_timed
from megtrim.times.counts.use import (
    LARGEST_BYTES,
    LONGEST_PEAK,
    Blocks,
    join_repeats,
    parse_blocks,
    parse_peak,
)
from unit.core.verdict.examples import facts, work_row
from unit.times.counts.test_work import BY, KERNELS, work

pytestmark = [pytest.mark.chain]

GROWS = Path(__file__).with_name("grows.c")
ROUNDS = 100_000
"""Each takes some instructions."""
MEMORY = 64 * 1024 * 1024
COUNTED = [
    "loop",
    "by environment",
    "by auxiliary vector",
    "thread",
    "threads in turn",
    "signal",
    "atexit",
    "end at once",
    "end with a thread",
    "generated",
    "generated, shared",
    "generated in data",
    "generated in text",
    "memfd",
    "code in a file",
    "code in a removed file",
    "sort in the library",
    "move in the library",
    "write counts",
    "forge counts",
    "close every descriptor",
]
STARTED = [
    "fork",
    "fork and exec",
    "vfork",
    "posix_spawn",
    "system",
    "popen",
    "clone",
    "grandchild",
    "daemon",
]
LOST = ["exec", "replace counts"]
PEAKS = [
    "memory",
    "memory, given back",
    "memory, shared",
    "memory, a mapped memfd",
    "memory, write peak",
    "memory, forge peak",
    "memory, replace peak",
]
Runs = Callable[[str, int], Blocks]


@pytest.fixture(scope="module", params=["static", "dynamic"])
def growing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    """Give out a program that takes a way and a number of rounds, and is counted."""
    folder = tmp_path_factory.mktemp("grows")
    linked = ("-static",) if request.param == "static" else ()
    program = build(folder, "aarch64-linux-gnu-gcc", *linked)
    with emulator(folder, "aarch64").open() as counting, counting.device.reserve() as lease:

        def run(way: str, rounds: int) -> Blocks:
            with lease.open() as directory:
                directory.put(program, "program")
                assert directory.run(["program", way, str(rounds)], timeout_s=60).rc == 0
            return parse_blocks(counting.counts.take(LARGEST_BYTES), source="counts")

        yield run


def build(folder: Path, compiler: str, *linked: str) -> Path:
    program = folder / "program"
    argv = (compiler, "-O1", "-w", "-pthread", *linked, "-o", str(program), str(GROWS))
    ProcessRunner(os.environ).capture(*argv)
    return program


def add_up(seen: Blocks) -> int:
    found = (seen.program, *seen.others.values())
    return sum(count.instructions for blocks in found for _, count in blocks)


@pytest.mark.parametrize("way", COUNTED)
def test_a_program_that_does_more_elsewhere(growing: Runs, way: str) -> None:
    before = growing(way, 0)
    now = growing(way, ROUNDS)

    assert add_up(now) - add_up(before) > 5 * ROUNDS
    assert now.processes == 0


@pytest.mark.parametrize("way", STARTED)
def test_a_program_that_starts_others(growing: Runs, way: str) -> None:
    seen = growing(way, ROUNDS)

    assert seen.processes > 0
    row = work_row(work(processes=seen.processes), work(processes=seen.processes))
    assert row.status is CheckStatus.INCONCLUSIVE
    assert "it starts 1 process, of which nothing is counted" in row.text


@pytest.mark.parametrize("way", LOST)
def test_a_program_that_leaves_no_counts(growing: Runs, way: str) -> None:
    with pytest.raises(InputError, match="the emulator left no counts"):
        growing(way, ROUNDS)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("native"), "gcc")


def find_peak(folder: Path, program: Path, way: str, amount: int = MEMORY) -> int:
    device = Local("here", ProcessRunner(os.environ), folder / "runs")
    with open_measuring_file(folder) as written:
        timed = start_timed(device, written)
        with timed.reserve() as lease, lease.open() as directory:
            directory.put(program, "program")
            assert directory.run(["program", way, str(amount)], timeout_s=60).rc == 0
        return parse_peak(written.take(LONGEST_PEAK))


@pytest.mark.parametrize("way", PEAKS)
def test_a_program_that_writes_its_peak(native: Path, tmp_path: Path, way: str) -> None:
    assert find_peak(tmp_path, native, way) > MEMORY


def test_a_program_that_spoils_its_peak(native: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the peak in KiB"):
        find_peak(tmp_path, native, "memory, forge a long peak")


STEADY = {"conv": 40_000, "pool": 8_000}
"""An iteration of the base."""
HIDDEN = {
    "one more or less, and fifty times the work": [
        {"conv": 2_000_000, "pool": 8_000},
        {"conv": 2_000_001, "pool": 8_000},
    ],
    "a coin is thrown for it": [
        {**STEADY, "pool": 8_000},
        {**STEADY, "pool": 90_000},
    ],
    "a new function, sometimes": [STEADY, {**STEADY, "new": 50_000}],
    "a new function, always other": [{**STEADY, "n1": 50_000}, {**STEADY, "n2": 50_000}],
    "less in the longer run, sometimes": [
        {"conv": 40_000, "pool": -90_000},
        {"conv": 40_000, "pool": 90_000},
    ],
    "much in what varied before": [
        {**STEADY, "wait": 60_000},
        {**STEADY, "wait": 60_100},
    ],
    "much in what varied before, sometimes": [
        {**STEADY, "wait": 10},
        {**STEADY, "wait": 60_000},
    ],
    "much in what waited before": [
        {**STEADY, "spin": 8_000},
        {**STEADY, "spin": 90_000},
    ],
    "a little in many that vary": [
        {**STEADY, **{f"f{i}": 100 for i in range(9)}},
        {**STEADY, **{f"f{i}": 101 for i in range(9)}},
    ],
    "some that is steady, and some that varies": [
        {"conv": 40_400, "pool": 8_000, "new": 300},
        {"conv": 40_400, "pool": 8_000, "new": 301},
    ],
    "generated code, sometimes": [STEADY, {**STEADY, "[generated code]": 50_000}],
    "a library, sometimes": [STEADY, {**STEADY, "libc.so.6": 50_000}],
}
LATER_ONES = {
    "from the third iteration on": {"conv": 6 * 2_000_000, "pool": 6 * 8_000},
    "in the eighth alone": {"conv": 6 * 40_000 + 90_000, "pool": 6 * 8_000},
    "a function that only later ones run": {"conv": 6 * 40_000, "new": 1_000},
    "what varied before, and is new": {"conv": 6 * 40_000, "wait": 0, "new": 90_000},
}


def steady(*repeats: dict[str, int], later: dict[str, int] | None = None) -> Work:
    counts = [{name: Count(number, 0) for name, number in each.items()} for each in repeats]
    after = {name: Count(number, 0) for name, number in (later or {}).items()}
    joined = join_repeats("a" * 64, counts, later=[after] if after else [])
    # Of a real program, what varies is a small part of the functions that run.
    return replace(joined, ran=200)


@pytest.mark.parametrize("way", HIDDEN)
def test_a_growth_that_varies(way: str) -> None:
    base = steady({**STEADY, "wait": 10, "spin": 0}, {**STEADY, "wait": 20, "spin": 7_000})
    row = work_row(steady(*HIDDEN[way]), base)

    assert row.status in (CheckStatus.INCONCLUSIVE, CheckStatus.FAIL)
    assert work_row(base, base).status is CheckStatus.PASS


@pytest.mark.parametrize("way", LATER_ONES)
def test_a_growth_in_later_iterations(way: str) -> None:
    base = steady({**STEADY, "wait": 10, "spin": 0}, {**STEADY, "wait": 20, "spin": 7_000})
    now = replace(base, later=steady(STEADY, later=LATER_ONES[way]).later)
    row = work_row(now, base)

    assert row.status is CheckStatus.INCONCLUSIVE
    assert "iterations 3 to 8 do more than the second: " in row.text
    assert work_row(now, now).status is CheckStatus.PASS


def again(base: Work) -> dict[str, Use]:
    now = work(key="b" * 64)
    return {"m/s": Use(work={"reduced": now, "base reduced": base})}


def test_a_limit_that_cannot_be_checked() -> None:
    """By default that fails, whatever else the change touches."""
    limits = WorkConfig.model_validate({"growth": "1%"})
    config = cast("Any", SimpleNamespace(work=limits, memory=None))
    counted = Use(work={"reduced": work()})
    for found, before, status in (
        ({"m/s": counted}, {"m/s": counted}, CheckStatus.PASS),
        ({"m/s": Use(reasons={"work": "no qemu"})}, {"m/s": counted}, CheckStatus.FAIL),
        ({"m/s": counted}, {"m/s": Use(work={"reduced": work(key="b" * 64)})}, CheckStatus.FAIL),
        ({"m/s": counted}, {"m/s": Use(reasons={"work": ""})}, CheckStatus.FAIL),
        # The base's programs, counted again under the new conditions.
        (again(work(key="b" * 64)), {"m/s": counted}, CheckStatus.PASS),
        (again(work(KERNELS | {"conv": (20_000, 1)}, key="b" * 64)), {}, CheckStatus.FAIL),
        (again(work(key="c" * 64)), {"m/s": counted}, CheckStatus.FAIL),
        # One that came while another went may be that one.
        ({"m/t": counted}, {"m/s": counted}, CheckStatus.FAIL),
        ({"m/t": counted}, {}, CheckStatus.SKIPPED),
        ({"m/t": counted, "m/s": counted}, {"m/s": counted}, CheckStatus.SKIPPED),
    ):
        rows = [*list_rows(found, before, config, "main")]
        [row] = [each for each in rows if each.variant == "reduced"][:1]
        assert row.status is status, row.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("40000", "-1"),
        ("40000", "1e400"),
        ("40000", "true"),
        ("40000", str(2**63)),
        ("40000,", ""),
        ('"' + "a" * 64, '"' + "a" * 63),
        ('"ran": 100', '"ran": 100, "more": 1'),
    ],
)
def test_a_baseline_with_other_counts(old: str, new: str) -> None:
    uses = {"m/s@any": Use(work={"reduced": work()}, reasons={"memory": "/home/me: no"})}
    sizes = Baseline(sizes={("load_and_run", "reduced"): 9}, uses=uses)
    text = dump_sizes(sizes)
    kept = Use(work={"reduced": work()}, reasons={"memory": ""})
    assert parse_sizes(text, source="s").uses == {"m/s@any": kept}
    assert text.count(old) >= 1

    with pytest.raises(InputError):
        parse_sizes(text.replace(old, new, 1), source="s")


def test_counts_of_another_setting() -> None:
    generous = {name: (10 * count, 10 * accesses) for name, (count, accesses) in KERNELS.items()}

    row = work_row(work(BY["an instruction more than a hundredth"]), work(generous, key="b" * 64))

    assert row.status is CheckStatus.INCONCLUSIVE
    assert row.note.startswith("the baseline has another model, input, thread number")


def test_a_kernel_that_varies() -> None:
    row = work_row(work({"pool": (8_000, 80)}, "conv"), work())

    assert (row.status, row.work and row.work.left_out) == (CheckStatus.INCONCLUSIVE, ("conv",))
    assert row.note == "too little is left: 83% of the work varies now"


@pytest.mark.parametrize(
    "now",
    [work(BY["an instruction more than a hundredth"]), work(KERNELS, *"abcdefghijk"), "no qemu"],
)
def test_work_that_is_painted_green(now: Work | str) -> None:
    row = work_row(now, work(), scenario=facts().scenarios[0].id)
    bad = json.loads(to_json(join(facts(budgets=(row,)))))
    assert bad["verdict"] in ("fail", "inconclusive")
    for painted in (bad["checks"], bad["checks"] + bad["budgets"]):
        for each in painted:
            each["status"] = "pass" if each["status"] == row.status else each["status"]
        text = json.dumps(bad | {"verdict": "pass"})
        with pytest.raises(InputError):
            parse_verdict(text, source="v")
        with pytest.raises(InputError):
            read_conclusion(text, source="v")
