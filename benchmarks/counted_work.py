"""Whether counted work is steady, and whether it finds what little a function does more.

    PYTHONPATH=tests python benchmarks/counted_work.py PROGRAM TWIN --repeats 30 --comparisons 200
        --plants 20 -- MODEL --cpu --input NAME:FILE

TWIN is the program with its symbols, as `megtrim trim` leaves it in `unstripped`; both are for
arm64 Linux. Pairs of runs are recorded, and comparisons of the program with itself are drawn from
them, each side as the stage `count` draws it. A plant is made in a copy of the program: a function
that is called jumps to a place that never runs, which belongs to it by the table of symbols, loops
there, and goes on. Each is to be found, to the instruction, and by its name. Prints JSON.
"""

import argparse
import json
import os
import random
import struct
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.units import WORK
from megtrim.core.size.counted import LENGTHS, Count, Work
from megtrim.core.size.rows import BudgetRow, WorkUse
from megtrim.core.size.use import compare_work
from megtrim.libs.elf.layout import LOADED, segments
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.elf.symbol_table import Function, FunctionTable, read_table
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.counting import CountingEmulator
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import LocalFolder, MeasuringFile
from megtrim.times.counts.stage import repeat
from megtrim.times.counts.use import (
    LARGEST_BYTES,
    Blocks,
    find_code,
    name_functions,
    parse_blocks,
    subtract,
)

KEY = "0" * 64
SHARES = (0.001, 0.01)
_CAVE_BYTES = 20
_MOST_ROUNDS = 65_535
_MOVE = 0xD280_0010
_SUBTRACT = 0xF100_0610
_AGAIN = 0x54FF_FFE1
_JUMP = 0x1400_0000
"""Of arm64: to x16, which a call may change; from it; back while it is not 0; anywhere."""
_BRANCHES = (
    (0x7C00_0000, 0x1400_0000),
    (0x7E00_0000, 0x3400_0000),
    (0x7E00_0000, 0x3600_0000),
    (0xFF00_0010, 0x5400_0000),
    (0xFE00_0000, 0xD600_0000),
    (0xFF00_0000, 0xD400_0000),
)
_RELATIVE = (*_BRANCHES, (0x1F00_0000, 0x1000_0000), (0x3B00_0000, 0x1800_0000))
"""Masks and values of instructions that end a block, and of those that say how far away."""
_PAGE_BYTES = 4096
BlockCounts = dict[int, Count]


@dataclass(frozen=True)
class Bench:
    folder: LocalFolder
    counts: MeasuringFile
    arguments: tuple[str, ...]

    def count(self, program: Path, iterations: int) -> Blocks:
        self.folder.put(program, "program")
        asked = ("--warmup-iter", "1", "--iter", str(iterations))
        done = self.folder.run(("program", *self.arguments, *asked), timeout_s=600)
        assert done.rc == 0, done.stderr[-2000:]
        return parse_blocks(self.counts.take(LARGEST_BYTES), source=str(program))

    def run(self, program: Path, iterations: int) -> BlockCounts:
        blocks: BlockCounts = {}
        for offset, count in self.count(program, iterations).program:
            blocks[offset] = blocks.get(offset, Count()).plus(count)
        return blocks

    def pair(self, program: Path, table: FunctionTable, code: int) -> Mapping[str, Count]:
        short, long = (self.count(program, length) for length in LENGTHS)
        return subtract(*(name_functions(b, table, code) for b in (long, short)))


@dataclass(frozen=True)
class Plant:
    function: Function
    calls: int
    rounds: int

    @property
    def added(self) -> int:
        """Instructions in an iteration."""
        return self.calls * (2 * self.rounds + 3)


def find_plants(
    work: Work, table: FunctionTable, calls: Mapping[int, int], most: int
) -> Iterator[tuple[float, Plant]]:
    for share in SHARES:
        found = 0
        for function in table.functions:
            times = calls.get(function.address, 0)
            own = work.functions.get(function.name, (0, 0))
            if times <= 0 or found == most:
                continue
            rounds = round((share * own[0] / times - 3) / 2)
            if 1 <= rounds <= _MOST_ROUNDS:
                found += 1
                yield share, Plant(function, times, rounds)


def plant(data: bytes, made: Plant, cave: Function) -> bytes:
    def place(address: int) -> int:
        parts = (each for each in segments(data, source="program") if each.kind == LOADED)
        part = next(p for p in parts if p.address <= address < p.address + p.size_bytes)
        return address - part.address + part.offset

    def jump(start: int, end: int) -> int:
        return _JUMP | ((end - start) // 4 & 0x3FF_FFFF)

    entry = made.function.address
    at = cave.address
    [first] = struct.unpack_from("<I", data, place(entry))
    words = (_MOVE | made.rounds << 5, _SUBTRACT, _AGAIN, first, jump(at + 16, entry + 4))
    patched = bytearray(data)
    struct.pack_into("<5I", patched, place(at), *words)
    struct.pack_into("<I", patched, place(entry), jump(entry, at))
    return bytes(patched)


def count_calls(
    table: FunctionTable, code: int, data: bytes, blocks: tuple[BlockCounts, BlockCounts]
) -> dict[int, int]:
    """Return how often each function is called in the iterations whose first can be moved."""
    long, short = blocks
    loaded = [each for each in segments(data, source="program") if each.kind == LOADED]
    calls: dict[int, int] = {}
    for function in table.functions:
        more = long.get(function.address - code, Count()).instructions
        more -= short.get(function.address - code, Count()).instructions
        if more <= 0:
            continue
        part = next(p for p in loaded if p.address <= function.address < p.address + p.size_bytes)
        at = function.address - part.address + part.offset
        length = 1
        words = struct.unpack_from(f"<{_PAGE_BYTES // 4}I", data.ljust(at + _PAGE_BYTES, b"\0"), at)
        if _is(words[0], _RELATIVE):
            continue
        left = (_PAGE_BYTES - function.address % _PAGE_BYTES) // 4
        while not _is(words[length - 1], _BRANCHES) and length < left:
            length += 1
        if more % length == 0:
            calls[function.address] = more // length
    return calls


def _is(word: int, forms: tuple[tuple[int, int], ...]) -> bool:
    return any(word & mask == value for mask, value in forms)


def judge(now: Work, before: Work) -> tuple[BudgetRow, WorkUse]:
    kind = CheckKind.GROWTH
    skipped = CheckStatus.SKIPPED
    row = BudgetRow(kind=kind, artifact="m", variant="reduced", measure=WORK, status=skipped)
    row = compare_work(row, now, before, "recorded")
    assert row.work
    return row, row.work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("program", "twin"):
        parser.add_argument(name, type=Path)
    for name, number in (("repeats", 30), ("comparisons", 200), ("plants", 20)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--library", type=Path, default=Path("/usr/aarch64-linux-gnu"))
    parser.add_argument("arguments", nargs="+")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        spec = DeviceSpec(
            name="emulator",
            processes=ProcessRunner(os.environ),
            scratch=Path(scratch),
            machine="aarch64",
            qemu_cpu="max",
            sysroot=asked.library,
        )
        compilers = (("cc",), ("gcc",), ("clang-14",))
        counting = CountingEmulator(spec=spec, compilers=compilers)
        with counting.open() as opened, opened.device.open() as folder:
            bench = Bench(folder, opened.counts, tuple(asked.arguments))
            found = measure(bench, asked, Path(scratch))
    found |= {"program": str(asked.program), "arguments": asked.arguments}
    sys.stdout.write(f"{json.dumps(found)}\n")


def measure(bench: Bench, asked: argparse.Namespace, scratch: Path) -> dict[str, object]:
    chance = random.Random(1)
    data = asked.program.read_bytes()
    table = read_table(asked.twin)
    code = find_code(segments(data, source=str(asked.program)))
    started = time.monotonic()
    recorded = [bench.pair(asked.program, table, code) for _ in range(asked.repeats)]
    pair_s = (time.monotonic() - started) / max(asked.repeats, 1)

    def draw(pairs: list[Mapping[str, Count]]) -> Callable[[], Mapping[str, Count]]:
        return iter(pairs).__next__

    different: list[list[str]] = []
    for _ in range(asked.comparisons):
        drawn = chance.sample(recorded, min(12, len(recorded)))
        half = len(drawn) // 2
        row, found = judge(repeat(draw(drawn[:half]), KEY), repeat(draw(drawn[half:]), KEY))
        if found.changed or row.note:
            different.append([row.note, *(each.label for each in found.changed)])
    base = repeat(draw(recorded[:6]), KEY)
    result: dict[str, object] = {"pair_s": round(pair_s, 2), "work": base.total.instructions}
    result |= {"left_out": list(base.left_out), "ran": base.ran}
    result |= {"comparisons": asked.comparisons, "different": different}
    short, long = (bench.run(asked.program, length) for length in LENGTHS)
    ran = sorted({*short, *long})
    calls = count_calls(table, code, data, (long, short))
    cave = find_cave(table, code, ran)
    rows = []
    for share, made in find_plants(base, table, calls, asked.plants):
        copy = scratch / "planted"
        copy.write_bytes(plant(data, made, cave))
        taken = tuple(
            Function(made.function.name, each.address, each.size_bytes) if each == cave else each
            for each in table.functions
        )
        named = replace(table, functions=taken)
        now = repeat(partial(bench.pair, copy, named, code), KEY)
        row, found = judge(now, base)
        changed = {each.label: each.growth for each in found.changed}
        own = base.functions[made.function.name][0]
        rows.append(
            {
                "share": share,
                "planted": made.added / own,
                "function": made.function.name,
                "found": bool(changed),
                "exact": [*changed.values()] == [made.added],
                "named": [*changed] == [readable(made.function.name)[:200]],
                "scenario": (row.used or 0) / found.before,
            }
        )
    return result | {"plants": rows}


def find_cave(table: FunctionTable, code: int, ran: list[int]) -> Function:
    """Return a function that never runs, with room for a loop, at an address of its own."""
    for each in table.functions:
        at = bisect_left(ran, each.address - code)
        free = at == len(ran) or ran[at] >= each.address - code + each.size_bytes
        if each.size_bytes >= _CAVE_BYTES and free and len(table.at(each.address)) == 1:
            before = ran[at - 1] if at else -1
            if each.address - code - before > 64:
                return each
    msg = "every function runs"
    raise SystemExit(msg)


if __name__ == "__main__":
    main()
