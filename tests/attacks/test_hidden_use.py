"""Programs that grow where the count of an iteration, or a peak of memory, does not show it."""

import itertools
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from attacks.test_work import find_peak
from integration.test_counting import emulator
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.performance import MemoryConfig
from megtrim.core.config.units import PEAK
from megtrim.core.size.counted import Count, MemoryUse, Use, Work
from megtrim.libs.elf.layout import segments
from megtrim.libs.elf.symbol_table import read_table
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.local import LocalFolder, MeasuringFile
from megtrim.times.counts.stage import CountedProgram, find_largest_peak, name_all
from megtrim.times.counts.system_calls import find_unmapped
from megtrim.times.counts.use import LARGEST_BYTES, Blocks, find_code, parse_blocks
from unit.core.verdict.examples import use_rows, work_row

pytestmark = [pytest.mark.chain]

HIDES = Path(__file__).with_name("hides.c")
EXTRA = 50_000
"""Rounds of a loop, of which an iteration makes 20,000; of system calls, 64 bytes each."""
MEMORY = 64 * 1024 * 1024
OUTSIDE = {
    "preinit": "instructions at the start and end",
    "constructor": "instructions at the start and end",
    "resolver": "instructions at the start and end",
    "destructor": "instructions at the start and end",
    "at exit": "instructions at the start and end",
    "on exit": "instructions at the start and end",
    "first iteration": "instructions at the start and end",
    "last iteration": "instructions at the start and end",
    "all at once": "instructions at the start and end",
    "thread joined late": "instructions at the start and end",
    "getrandom at the start": "bytes moved at the start and end",
}
BY_THE_SYSTEM = {
    "getrandom": "bytes moved by system calls",
    "getrandom in the fifth": "bytes moved in iterations 3 to 8",
    "read zeros": "bytes moved by system calls",
    "write a file": "bytes moved by system calls",
    "copy in the kernel": "bytes moved by system calls",
    "populate": "system calls 0 → 2",
}
COUNTED = ["when asked for one", "thread never joined", "many calls"]
WRITTEN = "it writes 64 MiB more to files, which may be in memory but not in that"
UNMAPPED = {
    "written memfd": WRITTEN,
    "windows of a memfd": "it makes 2 files in memory or of a given size, 0 before",
    "windows of a file": "it makes 1 file in memory or of a given size, 0 before",
    "segments": "it makes 64 files in memory or of a given size, 0 before",
    "a larger file": WRITTEN,
    "file in shm": WRITTEN,
    "pipes": WRITTEN,
    "sockets": WRITTEN,
}
PEAKS = ["stack of a thread", "freed by advice", "break", "locked"]
COIN = [4 << 20, 40 << 20]
Judges = Callable[[str], tuple[Work, Work]]


def build(folder: Path, extra: int, compiler: str = "aarch64-linux-gnu-gcc") -> Path:
    program = folder / f"{compiler}-{extra}"
    argv = [compiler, "-O1", "-w", "-pthread", "-static", f"-DEXTRA={extra}L"]
    if extra <= EXTRA:
        argv.append("-DRESOLVER")
    argv += ["-o", str(program), str(HIDES)]
    ProcessRunner(os.environ).capture(*argv)
    return program


def run(
    place: LocalFolder, counts: MeasuringFile, program: Path, way: str, iterations: int
) -> Blocks:
    place.put(program, "program")
    assert place.run(["program", way, str(iterations)], timeout_s=60).rc == 0
    return parse_blocks(counts.take(LARGEST_BYTES), source="counts")


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Judges:
    """Give out what a way makes of the work, before and after the change."""
    folder = tmp_path_factory.mktemp("hides")
    programs = [build(folder, extra) for extra in (0, EXTRA)]

    def count(program: Path, way: str) -> Work:
        code = find_code(segments(program.read_bytes(), source="program"))
        table = read_table(program)
        with emulator(folder, "aarch64").open() as counting, counting.device.open() as place:

            def run_counted(iterations: int) -> tuple[dict[str, Count], int]:
                blocks = run(place, counting.counts, program, way, iterations)
                return name_all(blocks, table, code, "aarch64"), blocks.processes

            found = CountedProgram(run_counted).count("a" * 64, later=True)
        # Of a real program, what varies is a small part of the functions that run.
        return replace(found, ran=200)

    def judge(way: str) -> tuple[Work, Work]:
        before, now = (count(program, way) for program in programs)
        return before, now

    return judge


@pytest.mark.parametrize("way", OUTSIDE)
def test_growth_outside_of_the_iterations(judges: Judges, way: str) -> None:
    expect_named(judges(way), OUTSIDE[way])


@pytest.mark.parametrize("way", BY_THE_SYSTEM)
def test_growth_in_system_calls(judges: Judges, way: str) -> None:
    expect_named(judges(way), BY_THE_SYSTEM[way])


def expect_named(works: tuple[Work, Work], named: str) -> None:
    before, now = works
    row = work_row(now, before)
    assert row.status is CheckStatus.INCONCLUSIVE
    assert "growth beyond the limit that the count does not show: " in row.text
    assert named in row.text
    assert work_row(now, before, inconclusive="fail").status is CheckStatus.FAIL
    assert work_row(before, before).status is CheckStatus.PASS


@pytest.mark.parametrize("way", COUNTED)
def test_growth_that_runs_share_unequally(judges: Judges, way: str) -> None:
    before, now = judges(way)

    assert work_row(now, before).status is CheckStatus.FAIL


@pytest.mark.parametrize("way", UNMAPPED)
def test_memory_that_no_process_has_mapped(tmp_path: Path, way: str) -> None:
    limits = MemoryConfig.model_validate({"growth": "4 MiB", "max": "66 MiB"})
    uses = []
    with emulator(tmp_path, "aarch64").open() as counting, counting.device.open() as place:
        for extra in (0, MEMORY):
            program = build(tmp_path, extra)
            blocks = run(place, counting.counts, program, f"memory: {way}", 1)
            unmapped = find_unmapped(blocks.calls, "aarch64")
            memory = MemoryUse(key="a" * 64, figures={PEAK: 4 << 20}, unmapped=unmapped)
            uses.append(Use(memory=memory))
    before, now = uses
    size, growth = use_rows(now, before, memory=limits)

    assert UNMAPPED[way] in growth.text
    assert [growth.status, size.status] == [CheckStatus.FAIL, CheckStatus.FAIL]
    assert {row.status for row in use_rows(before, before, memory=limits)} == {CheckStatus.PASS}


@pytest.mark.parametrize("way", PEAKS)
def test_memory_that_a_peak_shows(tmp_path: Path, way: str) -> None:
    program = build(tmp_path, MEMORY, "gcc")

    assert find_peak(tmp_path, program, f"memory: {way}", 1) > 0.99 * MEMORY


def test_a_peak_in_every_other_run() -> None:
    for first in (0, 1):
        falls = itertools.cycle(COIN[first:] + COIN[:first])

        assert find_largest_peak(partial(next, falls)) == max(COIN)
